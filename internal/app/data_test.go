package app_test

import (
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/demo"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// sentKeys is a transport that records the keys that it sends, by host.
type sentKeys struct {
	http.RoundTripper
	mu   sync.Mutex
	keys map[string][]string // each key once
}

// RoundTrip implements http.RoundTripper.
func (r *sentKeys) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	host, key := q.URL.Hostname(), q.Header.Get(data.KeyHeader)
	if !slices.Contains(r.keys[host], key) {
		r.keys[host] = append(r.keys[host], key)
	}
	r.mu.Unlock()
	return r.RoundTripper.RoundTrip(q)
}

func (r *sentKeys) to(host string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.keys[host])
}

// A new key is used after its file has been unchanged for some seconds. It is sent only to the Data service. If the file is empty, the
// previous key stays in use.
func TestChangedKeyReachesOnlyTheDataService(t *testing.T) {
	t.Parallel()
	dir, put := files(t, map[string]string{"key": canary + "-one\n"})
	keys := &sentKeys{keys: map[string][]string{}}
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		keys.RoundTripper = w.Transport
		w.Transport = keys
		w.WithData()
		w.Env["DATA_API_KEY_FILE"] = filepath.Join(dir, "key")
		w.Env["SCHEDULES"], w.Env["DATA_BUDGET"] = "data_blockchains=@every 5s", "100000/m"
		w.Network.DataService().SetKey(canary+"-one", http.StatusUnauthorized)

		w.Start(t)
		accepted := func() bool {
			time.Sleep(10 * time.Second) // one run
			return w.Samples(t)[`avax_exporter_collector_success{collector="data_blockchains",target="data"}`] == 1
		}
		if !accepted() {
			t.Error("key not accepted")
		}
		w.Network.DataService().SetKey(canary+"-two", http.StatusForbidden)
		put("key", canary+"\n"+canary)
		time.Sleep(time.Minute)
		if accepted() || !strings.Contains(w.Log.String(), "AVAX_DATA_API_KEY_FILE") {
			t.Error("previous key accepted, or variable missing in the log")
		}
		put("key", canary+"-two")
		time.Sleep(10 * time.Second)
		if !accepted() {
			t.Error("new key not sent")
		}
		if sent := keys.to("data.sim"); !slices.Equal(sent, []string{canary + "-one", canary + "-two"}) {
			t.Errorf("keys sent to the service: %q", sent)
		}
		for _, host := range []string{"alpha.sim", "bravo.sim"} {
			if sent := keys.to(host); !slices.Equal(sent, []string{""}) {
				t.Errorf("%s received %q", host, sent)
			}
		}
		_, page := w.Get(t, "/metrics")
		for where, text := range map[string]string{"/metrics": page, "the log": w.Log.String()} {
			if strings.Contains(text, canary) {
				t.Errorf("key in %s:\n%s", where, text)
			}
		}
		if log := w.Log.String(); strings.Count(log, "keeping the previous configuration") != 1 || strings.Count(log, "configuration reloaded") != 1 {
			t.Errorf("log:\n%s", log)
		}
	})
}

// dataCollectors returns the collectors that call the Data service.
func dataCollectors() (specs []*collector.Spec) {
	for _, s := range collectors.All() {
		if s.Cost != nil {
			specs = append(specs, s)
		}
	}
	return specs
}

// withData enables the Data service with one item of each kind, and this schedule for each collector.
func withData(w *apptest.World, every string) {
	w.WithData()
	w.Env["DATA_BUDGET"] = "100000/m"
	w.Env["WATCH_ADDRESSES"] = simnet.Account + "," + simnet.Partner
	w.Env["WATCH_CONTRACTS"] = simnet.Account
	w.Env["WATCH_TOKENS"] = "C/" + simnet.Collection + "/3"
	w.Env["WATCH_ASSETS"] = demo.Asset
	w.Env["WATCH_SIGNATURES"] = "conversion=" + demo.Conversion
	w.SetBlockPeriod("X", 20*time.Second)
	var schedules []string
	for _, spec := range dataCollectors() {
		schedules = append(schedules, spec.Name+"=@every "+every)
	}
	w.Env["SCHEDULES"] = everyMinute + ";" + strings.Join(schedules, ";")
}

// ofNodes finds series of these collectors that nodes report without the Data service. The symbol of the C-Chain's token is known.
var ofNodes = regexp.MustCompile(`^avax_(subnet_|address_balance_tokens|address_token_info{chain="C"|payout_|validator_next_reward_avax)`)

// ofData returns the series that come only from the Data service.
func ofData(page map[string]float64) map[string]float64 {
	found := map[string]float64{}
	for _, spec := range dataCollectors() {
		for _, f := range spec.Families {
			for series, value := range page {
				if name, _, _ := strings.Cut(series, "{"); name == f.Name && !ofNodes.MatchString(series) {
					found[series] = value
				}
			}
		}
	}
	return found
}

func TestDataServiceOutageAffectsOnlyItsSamples(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		withData(w, "1m")
		for _, spec := range collectors.All() {
			if !strings.Contains(w.Env["SCHEDULES"], spec.Name+"=") {
				w.Env["SCHEDULES"] += ";" + spec.Name + "=@every 1m"
			}
		}

		w.Start(t)
		time.Sleep(3 * time.Minute)
		before := w.Samples(t)
		if n := len(ofData(before)); n < 20 || before["avax_data_up"] != 1 {
			t.Fatalf("%d series of the service, up %v", n, before["avax_data_up"])
		}
		service := w.Network.DataService()
		for outage, begin := range []func(){service.Stop, func() { service.Inject(simnet.Hung()) }, func() { service.Inject(simnet.HTML()) },
			func() { service.Inject(simnet.Unavailable()) }} {
			begin()
			for minute := range 10 {
				time.Sleep(time.Minute)
				page := w.Samples(t)
				if page[`avax_node_up{node="alpha"}`] != 1 || page[`avax_node_up{node="bravo"}`] != 1 {
					t.Fatalf("outage %d: node down after %d minutes", outage, minute)
				}
				if minute < 4 {
					continue
				}
				for series, value := range ofData(page) {
					if value != 0 || series != "avax_data_up" {
						t.Fatalf("outage %d: %s: %v after %d minutes", outage, series, value, minute)
					}
				}
				for series := range before {
					if _, still := page[series]; !still && len(ofData(map[string]float64{series: 0})) == 0 {
						t.Fatalf("outage %d: %s missing after %d minutes", outage, series, minute)
					}
				}
			}
			service.Start()
			service.Recover()
			time.Sleep(3 * time.Minute)
			page := w.Samples(t)
			if page["avax_data_up"] != 1 {
				t.Error("service not up again")
			}
			for series := range ofData(before) {
				pending := strings.HasPrefix(series, "avax_icm_oldest_pending_") || strings.Contains(series, `status="pending"`)
				if _, back := page[series]; !back && !pending {
					t.Errorf("outage %d: %s missing after recovery", outage, series)
				}
			}
		}
	})
}

// Without a node and an observer, the Data service is monitored like any other upstream: no alert fires while it answers.
func TestDataServiceAloneRaisesNoFalseAlert(t *testing.T) {
	testworld.Story(t)
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		withData(w, "1m")
		w.Env["SCHEDULES"], w.Env["WATCH_TOKENS"] = "", ""
		w.Env["NODES"], w.Env["METRICS_URL"] = "", ""
		w.Env["VALIDATORS"] = w.Network.NodeID("alpha")
		w.Notify(t)
		w.Start(t)
		firing := func() (names []string) {
			for _, a := range w.Alerts(t) {
				if a.Labels["alertname"] != "AvaxWatchdog" {
					names = append(names, a.Labels["alertname"])
				}
			}
			return names
		}
		time.Sleep(40 * time.Minute)
		if names := firing(); names != nil {
			t.Errorf("alerts while the service answers: %q", names)
		}
		if page := w.Samples(t); len(ofData(page)) < 20 || page["avax_subnet_owner_threshold{subnet_id=\""+w.Network.Chain("examplel1").SubnetID+"\"}"] == 0 {
			t.Errorf("%d series", len(ofData(page)))
		}
		w.Network.DataService().Stop()
		time.Sleep(20 * time.Minute)
		if names := firing(); !slices.Contains(names, "AvaxDataServiceDown") || slices.Contains(names, "AvaxSignatureAggregationFailing") {
			t.Errorf("alerts while the service is down: %q", names)
		}
	})
}

// In no minute do calls cost more than the budget, whatever the service answers. The error of a call above the budget says so.
func TestDataBudgetHoldsDuringRetries(t *testing.T) {
	t.Parallel()
	const perMinute = 3500
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		withData(w, "30s")
		w.Env["DATA_BUDGET"] = "3500/m"

		w.Start(t)
		w.Network.ResetCalls()
		w.Network.DataService().Inject(simnet.Unavailable())
		time.Sleep(5 * time.Minute)
		peak := unitsInAMinute(w.Network.Calls())
		if peak > perMinute || peak < perMinute-100 {
			t.Errorf("%d units spent in a minute, budget %d", peak, perMinute)
		}
		page := w.Samples(t)
		if got := page[`avax_exporter_data_spent_units{window="minute"}`]; got > perMinute || got < perMinute/2 {
			t.Errorf("%v units exported as spent", got)
		}
		if page.Sum("avax_exporter_upstream_unsent_total", `outcome="rate_limited"`, `upstream="data"`) == 0 {
			t.Error("no call rejected")
		}
		if page[`avax_node_up{node="alpha"}`] != 1 {
			t.Error("alpha not up")
		}
		w.Network.DataService().Recover()
		time.Sleep(3 * time.Minute)
		if page := w.Samples(t); page["avax_data_up"] != 1 || len(ofData(page)) < 20 {
			t.Errorf("%d series of the service, up %v", len(ofData(page)), page["avax_data_up"])
		}
	})
}

// A command with the same state directory counts what the exporter spends, and the exporter what the command spends.
func TestCommandSharesTheBudgetOfTheExporter(t *testing.T) {
	t.Parallel()
	const perMinute = 3500
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		withData(w, "30s")
		w.Env["STATE_DIR"], w.Env["DATA_BUDGET"] = t.TempDir(), "3500/m"
		w.Start(t)
		w.Network.DataService().Inject(simnet.Unavailable())
		time.Sleep(time.Minute)
		c, err := w.Env.Parse()
		if err != nil {
			t.Fatal(err)
		}
		c.Transport = w.Transport
		ups, err := app.Upstreams(c)
		if err != nil {
			t.Fatal(err)
		}
		w.Network.ResetCalls()
		refused := 0
		for range 300 {
			_, err := ups.Data.Call(t.Context(), data.ListBlockchains.Method, "/v1/networks/mainnet/blockchains", nil)
			if data.IsOverBudget(err) {
				refused++
			}
			time.Sleep(time.Second)
		}
		if peak := unitsInAMinute(w.Network.Calls()); peak > perMinute || peak < perMinute-100 || refused == 0 {
			t.Errorf("%d units spent in a minute, budget %d; %d calls of the command refused", peak, perMinute, refused)
		}
	})
}

// unitsInAMinute returns the most compute units that calls of the Data service cost in any minute.
func unitsInAMinute(calls []simnet.Call) (peak int) {
	var last []simnet.Call // of one minute
	sum := 0
	for _, c := range calls {
		if c.Upstream != "data" {
			continue
		}
		for len(last) > 0 && c.At.Sub(last[0].At) >= time.Minute {
			sum -= data.Units(last[0].Method)
			last = last[1:]
		}
		last = append(last, c)
		sum += data.Units(c.Method)
		peak = max(peak, sum)
	}
	return peak
}

// The plan covers the worst minute, which may be the first minute, or a minute in which the service catches up after a lag.
func TestNoMinuteExceedsThePlan(t *testing.T) {
	t.Parallel()
	var plan int
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		withData(w, "1m")
		w.Env["SCHEDULES"] = "" // default periods
		w.Env["COLLECTORS"] = "up,data_up,data_index"
		printed, err := w.Check(t)
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		for line := range strings.Lines(printed) {
			if words := strings.Fields(line); len(words) > 1 && words[0] == "total" {
				if plan, err = strconv.Atoi(words[1]); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.Network.ResetCalls()

		w.Start(t)
		for i := range 180 {
			switch i % 45 {
			case 10:
				w.Network.SetIndexLag("C", 30*time.Minute)
			case 30:
				w.Network.SetIndexLag("C", 2*time.Second)
			}
			time.Sleep(time.Minute)
		}
		calls := slices.DeleteFunc(w.Network.Calls(), func(c simnet.Call) bool { return c.Upstream != "data" })
		peak, sum, first := 0, 0, 0
		for _, c := range calls {
			for sum += data.Units(c.Method); c.At.Sub(calls[first].At) >= time.Minute; first++ {
				sum -= data.Units(calls[first].Method)
			}
			peak = max(peak, sum)
		}
		if peak > plan || peak < plan/4 {
			t.Errorf("%d units in the worst minute, plan %d", peak, plan)
		}
	})
}

// expiring makes the service reject the first page token of each path, which it adds to seen.
func expiring(network http.RoundTripper, seen *sync.Map) http.RoundTripper {
	return wiretest.Between(network, func(c *wiretest.Call) (*http.Response, error) {
		query := c.URL.Query()
		if query.Get("pageToken") != "" {
			if _, later := seen.LoadOrStore(c.URL.Path, true); !later {
				query.Set("pageToken", "00000000-0000-0000-0000-000000000000")
				c.URL.RawQuery = query.Encode()
			}
		}
		return c.Ask()
	})
}

func TestExpiredPageTokenLosesNoItem(t *testing.T) {
	t.Parallel()
	rewards := func(change func(*apptest.World)) (got map[string]float64) {
		apptest.Run(t, func(t *testing.T, w *apptest.World) {
			withData(w, "10m")
			for _, chain := range []string{"C", "examplel1", "examplepoa"} {
				w.Network.SetBlockPeriod(chain, 0) // so that the order of collectors does not matter
			}
			for range 150 { // two pages
				w.Network.PayReward("alpha", data.RewardValidator, 1e9)
			}
			change(w)

			w.Start(t)
			time.Sleep(25 * time.Minute)
			got = ofData(w.Samples(t))
		})
		return got
	}
	want := rewards(func(*apptest.World) {})
	if n := want[`avax_rewards_total{node_id="`+simnet.New(simnet.Options{Seed: 1}).NodeID("alpha")+`",type="VALIDATOR"}`]; n < 150 {
		t.Fatalf("%v rewards, want more than one page", n)
	}
	var seen sync.Map
	got := rewards(func(w *apptest.World) { w.Transport = expiring(w.Transport, &seen) })
	for _, path := range []string{"/v1/networks/mainnet/rewards", "/v1/icm/addresses/" + simnet.Account + "/messages"} {
		if _, expired := seen.Load(path); !expired {
			t.Errorf("%s: only one page requested", path)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("without (-) and with (+) an expired token:\n%s", diff)
	}
}
