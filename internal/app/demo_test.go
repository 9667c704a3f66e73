package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/model"
	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/demo"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// inDemo runs the demo's exporter in synthetic time. To save CPU time, collectors have this period, which is longer than in the demo.
func inDemo(t *testing.T, each time.Duration, test func(t *testing.T, w *apptest.World)) {
	t.Helper()
	inDemoWithout(t, "", each, test)
}

// inDemoWithout is inDemo with nodes and an observer that do not offer a method.
func inDemoWithout(t *testing.T, method string, each time.Duration, test func(t *testing.T, w *apptest.World)) {
	t.Helper()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Use(demo.NewNetwork(), demo.Nodes...)
		if method != "" {
			w.Transport = &mutatedTransport{RoundTripper: w.Transport, refusal: refusals[0], methods: []string{method}, on: true, calls: map[call]bool{}}
		}
		urls := map[string]string{}
		for _, name := range append(demo.Nodes, "metrics", "data", "observer") {
			urls[name] = "http://" + name + ".sim"
		}
		w.Configure = func(c *config.Config) {
			for _, spec := range collectors.All() {
				c.Schedules[spec.Name] = func(target metric.Target) cron.Schedule { return schedule.Every(each, target) }
			}
			must.Do(t, demo.Configure(c, w.Network, urls))
		}
		w.Start(t)
		test(t, w)
	})
}

// The demo exports every family of the collectors that are on by default or use the Data service: always, or during an incident
// that names it.
func TestDemoExportsEveryFamily(t *testing.T) {
	testworld.Story(t)
	inDemo(t, 30*time.Second, func(t *testing.T, w *apptest.World) {
		var missing []string
		types := map[string]model.MetricType{}
		for _, spec := range collectors.All() {
			for _, f := range spec.Families {
				missing = append(missing, f.Name)
				types[f.Name] = f.Type
			}
		}
		look := func() {
			_, page := w.Get(t, "/metrics")
			before := len(missing)
			missing = slices.DeleteFunc(missing, func(name string) bool {
				return strings.Contains(page, fmt.Sprintf("\n# TYPE %s %s\n%[1]s", name, types[name]))
			})
			if len(missing) == before {
				return // it was linted before
			}
			problems := must.Get(promlint.New(strings.NewReader(page)).Lint())(t)
			for _, p := range problems {
				t.Errorf("%s: %s", p.Metric, p.Text)
			}
		}
		time.Sleep(time.Minute)
		look()
		for _, i := range demo.Incidents {
			if slices.ContainsFunc(missing, func(name string) bool { return strings.Contains(i.Look, name) }) {
				i.Begin(w.Network)
				time.Sleep(i.Lasts() - time.Second)
				look()
				i.End(w.Network)
			}
		}
		for range 3 { // a node restarts as often as it takes to know how long that takes
			w.Node("alpha").Stop()
			time.Sleep(time.Minute)
			look()
			w.Node("alpha").Start()
			time.Sleep(time.Minute)
		}
		look()
		w.HoldICM(true) // no incident lets a message wait for so long that it is shown
		time.Sleep(15 * time.Minute)
		look()
		w.HoldICM(false)
		// No incident ends a staking period. The collector that compares runs every ten minutes, and must see the new end before it.
		for _, m := range []string{"golf", "hotel"} {
			w.Network.EndDelegations(m, time.Now().Add(25*time.Minute))
		}
		// The network's own release does not report what was staked again.
		for _, n := range w.Network.Nodes() {
			w.Network.SetVersion(n.Name(), "1.15.1")
		}
		time.Sleep(45 * time.Minute)
		look()
		if len(missing) > 0 {
			t.Errorf("never exported: %v\nlog:\n%s", missing, w.Log.String())
		}
	})
}

// wantPage fails the test unless the page contains all of these words. A word that starts with an exclamation mark must be absent.
func wantPage(t *testing.T, w *apptest.World, path string, status int, words ...string) {
	t.Helper()
	got, body := w.Get(t, path)
	if got != status {
		t.Errorf("%s: status %d, want %d:\n%s", path, got, status, body)
	}
	for _, word := range words {
		if wanted, not := strings.CutPrefix(word, "!"); strings.Contains(body, wanted) == not {
			t.Errorf("%s: contains %q: %v", path, wanted, not)
		}
	}
}

// inject starts the incident whose description has this prefix.
func inject(t *testing.T, w *apptest.World, what string) (end func()) {
	t.Helper()
	for _, i := range demo.Incidents {
		if strings.HasPrefix(i.What, what) {
			i.Begin(w.Network)
			return func() { i.End(w.Network) }
		}
	}
	t.Fatalf("no incident %q", what)
	return nil
}

const round = 35 * time.Second // two runs of every collector

func TestDemoL1RunsOutAndIsToppedUp(t *testing.T) {
	testworld.Story(t)
	inDemo(t, 15*time.Second, func(t *testing.T, w *apptest.World) {
		const (
			plan   = "/api/v1/l1/examplel1/plan"
			needed = 6 * 1.327104 // AVAX; the fees of six validators for 30 days
		)
		lost := func(page map[string]float64) float64 {
			return page[`avax_l1_quorum_loss_seconds{chain="examplel1",quorum="0.80"}`]
		}
		wantPage(t, w, plan, http.StatusOK, `"total_avax": 0,`)

		end := inject(t, w, "nobody tops up examplel1")
		time.Sleep(round)
		if got := lost(w.Samples(t)); got <= 50 || got >= 110 {
			t.Errorf("quorum loss in %v s, want 110 s minus the age of the answer", got)
		}
		wantPage(t, w, plan, http.StatusOK, `"chain": "examplel1"`, `"quorum": "0.80",`, "!\"seconds\": null", `"total_avax": 7.9`)

		time.Sleep(105 * time.Second)
		page := w.Samples(t)
		inactive, topUp := page[`avax_l1_validators{chain="examplel1",state="inactive"}`], page[`avax_l1_top_up_avax{chain="examplel1",days="30"}`]
		if inactive != 6 || lost(page) != 0 || topUp < needed || topUp > needed+0.001 {
			t.Errorf("after the run-outs: %v inactive, quorum loss in %v s, %v AVAX to top up", inactive, lost(page), topUp)
		}
		var answer struct {
			Total      float64 `json:"total_avax"`
			Validators []struct {
				Active bool
				TopUp  float64 `json:"top_up_avax"`
			}
			QuorumLoss []struct{ Seconds *float64 } `json:"quorum_loss"`
		}
		_, body := w.Get(t, plan)
		must.Do(t, json.Unmarshal([]byte(body), &answer))
		if v := answer.Validators; len(v) != 11 || v[5].Active || v[5].TopUp < needed/6 || !v[6].Active || v[6].TopUp != 0 ||
			answer.Total < needed || answer.Total > needed+0.001 || *answer.QuorumLoss[0].Seconds != 0 {
			t.Errorf("plan:\n%s", body)
		}
		wantPage(t, w, "/safe-to-stop?node=alpha", http.StatusConflict, "no: examplel1: ")

		end()
		time.Sleep(round + 30*time.Second) // an L1's nodes process a change within half a minute
		wantPage(t, w, plan, http.StatusOK, `"total_avax": 0,`, `!"active": false`)
	})
}

func TestDemoValidatorExceedsItsDowntimeBudget(t *testing.T) {
	inDemo(t, 15*time.Second, func(t *testing.T, w *apptest.World) {
		of := `{node_id="` + w.Network.NodeID("bravo") + `"}`

		end := inject(t, w, "bravo's peers observed an uptime of only 60 %")
		time.Sleep(round)
		page := w.Samples(t)
		used, budget := page["avax_validator_downtime_used_seconds"+of], page["avax_validator_downtime_budget_seconds"+of]
		if budget != (216*time.Hour).Seconds() || used <= (288*time.Hour).Seconds() || used > (288*time.Hour+time.Minute).Seconds() ||
			page["avax_validator_reward_reachable"+of] != 0 {
			t.Errorf("%v s used of %v, reachable %v", used, budget, page["avax_validator_reward_reachable"+of])
		}

		end()
		time.Sleep(round)
		page = w.Samples(t)
		if page["avax_validator_reward_reachable"+of] != 1 || page["avax_validator_downtime_used_seconds"+of] > 60 ||
			page["avax_validator_downtime_budget_seconds"+of] != budget {
			t.Errorf("%v s of %v used at the start of a new period", page["avax_validator_downtime_used_seconds"+of], page["avax_validator_downtime_budget_seconds"+of])
		}
	})
}

func TestDemoHasAnUnknownUpgrade(t *testing.T) {
	inDemo(t, 15*time.Second, func(t *testing.T, w *apptest.World) {
		const alpha = `avax_node_unknown_upgrade_timestamp_seconds{node="alpha"}`
		end := inject(t, w, "peers announce an upgrade")
		at := float64(time.Now().Add(48 * time.Hour).Unix())
		time.Sleep(round)
		if got := w.Samples(t)[alpha]; got != at {
			t.Errorf("%s: %v, want %v", alpha, got, at)
		}
		end()
		time.Sleep(round)
		if _, there := w.Samples(t)[alpha]; there {
			t.Errorf("%s still exported", alpha)
		}
	})
}

// The network recovers from every incident.
func TestDemoRecoversAfterItsIncidents(t *testing.T) {
	testworld.Story(t)
	inDemo(t, 15*time.Second, func(t *testing.T, w *apptest.World) {
		states := func() map[string]float64 {
			of := map[string]float64{}
			for series, value := range w.Samples(t) {
				family, _, _ := strings.Cut(series, "{")
				if stateFamily.MatchString(family) {
					of[series] = value
				}
			}
			return of
		}
		before := states()
		for _, i := range demo.Incidents {
			i.Begin(w.Network)
			time.Sleep(5 * time.Second)
		}
		time.Sleep(round)
		if cmp.Diff(before, states()) == "" {
			t.Error("no incident changed a state")
		}
		for _, i := range demo.Incidents {
			i.End(w.Network)
		}
		time.Sleep(2 * time.Minute)
		if diff := cmp.Diff(before, states()); diff != "" {
			t.Errorf("two minutes after all incidents ended:\n%s", diff)
		}
	})
}

// stateFamily matches families with the values 0 and 1.
var stateFamily = regexp.MustCompile(`_(up|success|bootstrapped|present|connected|active|reachable|failing|detected|duplicate|mismatch|validating)$`)
