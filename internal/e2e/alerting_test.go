package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// incident is a fault of the network, and the alert that must page.
type incident struct {
	name       string
	begin, end func(*simnet.Network)
	alert      string
	labels     []string // name=value
	says       string
}

var incidents = []incident{
	{
		name:   "alpha loses bootstrap",
		begin:  func(n *simnet.Network) { n.Node("alpha").SetChain("C", simnet.Bootstrapping) },
		end:    func(n *simnet.Network) { n.Node("alpha").SetChain("C", simnet.Running) },
		alert:  "AvaxChainNotBootstrapped",
		labels: []string{"node=alpha", "severity=page"},
		says:   "alpha",
	},
	{
		name:   "alpha loses uptime",
		begin:  func(n *simnet.Network) { n.Node("alpha").SetObservedUptime(70) },
		end:    func(n *simnet.Network) { n.Node("alpha").SetObservedUptime(99) },
		alert:  "AvaxRewardStakeLow",
		labels: []string{"node=alpha", "severity=page"},
		says:   "alpha",
	},
	{
		name:   "an L1 validator runs out of balance",
		begin:  func(n *simnet.Network) { n.SetBalance("examplel1", "echo", 0) },
		end:    func(n *simnet.Network) { n.TopUp("examplel1", "echo", 500e9) },
		alert:  "AvaxL1ValidatorInactive",
		labels: []string{"chain=examplel1"},
		says:   "examplel1",
	},
}

// listedAlert is an alert of /api/v1/alerts, of Prometheus or the exporter.
type listedAlert struct {
	Labels, Annotations map[string]string
	State, Value        string
	ActiveAt            time.Time
}

// active returns the active alerts at this address, by labels.
func active(t *testing.T, url string) (map[string]listedAlert, error) {
	t.Helper()
	var answer struct {
		Data struct{ Alerts []listedAlert }
	}
	if err := getJSON(t.Context(), url+"/api/v1/alerts", &answer); err != nil {
		return nil, err
	}
	byLabels := map[string]listedAlert{}
	for _, a := range answer.Data.Alerts {
		byLabels[fmt.Sprint(a.Labels)] = a
	}
	return byLabels, nil
}

// instant matches a time or a duration in an annotation. If it is computed at each evaluation, it may be another one in the next.
var instant = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC|\b\d+(\.\d+)?[dhms]( \d+(\.\d+)?[hms])*\b`)

// alike omits what depends on the time of the request or of the evaluation.
func alike(all map[string]listedAlert) map[string]listedAlert {
	out := maps.Clone(all)
	for k, a := range out {
		a.ActiveAt, a.Value = time.Time{}, ""
		a.Annotations = maps.Clone(a.Annotations)
		for name, text := range a.Annotations {
			a.Annotations[name] = instant.ReplaceAllString(text, "TIME")
		}
		out[k] = a
	}
	return out
}

// play runs the incidents one after the other. Each receiver gets the page and its end. The condition same holds before, during and after
// each incident.
func (w world) play(t *testing.T, same func() error, all ...*testworld.Receiver) {
	t.Helper()
	for _, r := range all {
		r.Wait(testworld.Firing("Settled"))
	}
	testworld.Await(t, "same alerts", same)
	for _, i := range incidents {
		i.begin(w.network)
		for _, r := range all {
			page := r.Wait(testworld.Firing(i.alert, i.labels...))
			if page.Annotations["summary"] == "" || !strings.Contains(page.Annotations["summary"]+" "+page.Annotations["description"], i.says) {
				t.Errorf("%s: annotations %v", i.name, page.Annotations)
			}
		}
		testworld.Await(t, i.name, same)
		i.end(w.network)
		for _, r := range all {
			r.Wait(testworld.Resolved(i.alert, i.labels...))
		}
		testworld.Await(t, i.name, same)
	}
}

// sameAlerts returns a condition: the exporter and another engine have the same alerts, at least the watchdog and one more.
func sameAlerts(t *testing.T, engineURL, exporterURL string, listed func(map[string]listedAlert) map[string]listedAlert) func() error {
	return func() error {
		theirs, err := active(t, engineURL)
		if err != nil {
			return err
		}
		ours, err := active(t, exporterURL)
		if err != nil {
			return err
		}
		if len(theirs) < 2 || len(ours) < 2 {
			return fmt.Errorf("alerts: %d of the engine, %d of the exporter", len(theirs), len(ours))
		}
		return equal(alike(listed(theirs)), alike(listed(ours)))
	}
}

// Equal rules lead to equal labels, so Alertmanager gets the same alerts from both engines, also at the same time.
func TestPrometheusAndExporterHaveTheSameAlerts(t *testing.T) {
	t.Parallel()
	const interval = time.Second
	rules := shortRules(t)
	w := newWorld(t, rules)
	exporter := testworld.StartExporter(t, append(w.environment, "AVAX_LISTEN="+testworld.Address(t), "AVAX_EXTERNAL_LABELS=cluster=home")...)
	scraped := testworld.Webhook(t)
	prometheus := testworld.Prometheus(t, testworld.PrometheusConfig{
		Targets: []string{exporter.URL}, RuleFiles: []string{rules}, Alertmanagers: []string{testworld.Alertmanager(t, scraped.URL).URL},
		ScrapeInterval: interval, EvaluationInterval: interval, ExternalLabels: map[string]string{"cluster": "home"},
	})
	both := []*testworld.Receiver{scraped, w.pages}
	w.play(t, sameAlerts(t, prometheus.URL, exporter.URL, func(all map[string]listedAlert) map[string]listedAlert { return all }), both...)
	for _, i := range incidents {
		var at []time.Time
		var of []map[string]string
		for _, r := range both {
			page := r.Wait(testworld.Firing(i.alert, i.labels...))
			at, of = append(at, page.StartsAt), append(of, page.Labels)
			if !strings.HasSuffix(page.Annotations["runbook_url"], i.alert+".md") || r == w.pages && !strings.HasSuffix(page.GeneratorURL, "/alerts#"+i.alert) {
				t.Errorf("%s: annotations %v, link %s", i.name, page.Annotations, page.GeneratorURL)
			}
		}
		if diff := cmp.Diff(of[0], of[1]); diff != "" {
			t.Errorf("%s: labels of Prometheus (-) and of the exporter (+):\n%s", i.name, diff)
		}
		// Each scrapes and evaluates at its own time, which a busy machine delays.
		if apart := at[0].Sub(at[1]).Abs(); apart > time.Minute {
			t.Errorf("%s: fired %s apart", i.name, apart)
		}
	}
	if strings.Contains(exporter.Log(), `"level":"ERROR"`) {
		t.Error("error in the log")
	}
	for _, r := range both {
		for _, a := range r.Alerts() {
			about := func(i incident) bool { return i.alert == a.Labels["alertname"] }
			if a.Labels["node"] == "bravo" && slices.ContainsFunc(incidents, about) {
				t.Errorf("unexpected alert of bravo: %v", a)
			}
		}
	}
	// The JSON has the form of Prometheus' API.
	shape := func(url string) []string {
		var answer map[string]any
		must.Do(t, getJSON(t.Context(), url+"/api/v1/rules", &answer))
		return shapeOf("", answer)
	}
	if diff := cmp.Diff(shape(prometheus.URL), shape(exporter.URL)); diff != "" {
		t.Errorf("/api/v1/rules of Prometheus (-) and of the exporter (+):\n%s", diff)
	}
}

// shapeOf lists the paths of a JSON value, without those that depend on the host or are optional.
func shapeOf(path string, v any) []string {
	set := map[string]bool{}
	var walk func(string, any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, inner := range v {
				if strings.HasSuffix(path, "labels") || strings.HasSuffix(path, "annotations") {
					continue
				}
				walk(path+"."+k, inner)
			}
		case []any:
			for _, inner := range v {
				walk(path+"[]", inner)
			}
		default:
			set[fmt.Sprintf("%s %T", path, v)] = true
		}
	}
	walk(path, v)
	return slices.Sorted(maps.Keys(set))
}
