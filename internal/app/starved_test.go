package app_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// slowProcess is a process with too little CPU: whatever waits for its turn, waits for this time.
type slowProcess struct {
	http.RoundTripper
	late atomic.Int64
	// every n-th call gets its turn in time
	every, calls atomic.Int64
}

func (p *slowProcess) yield() { time.Sleep(time.Duration(p.late.Load())) }

// RoundTrip implements http.RoundTripper.
func (p *slowProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if every := p.every.Load(); p.late.Load() > 0 && (every == 0 || p.calls.Add(1)%every != 0) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return p.RoundTripper.RoundTrip(r)
}

// An exporter with too little CPU never reports a node as down because its own calls end too late. It sends one page, about itself.
func TestStarvedExporterSendsOnePageAboutItself(t *testing.T) {
	testworld.Story(t)
	for _, late := range []time.Duration{300 * time.Millisecond, 5 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			process := &slowProcess{}
			incident{
				change: func(w *apptest.World) {
					process.RoundTripper = w.Transport
					w.Transport, w.Yield = process, process.yield
				},
				begin:  func(*world) { process.late.Store(int64(late)) },
				end:    func(*world) { process.late.Store(0) },
				pages:  []string{"AvaxExporterDown"},
				says:   "the exporter is too slow for its nodes",
				within: 10 * time.Minute, goesOn: 20 * time.Minute, notified: 1, healthy: 2 * time.Minute, quick: true, fuji: true,
			}.run(t)
		})
	}
}

// Waiting for nodes needs no CPU: whatever hangs, the exporter is in time and nothing says that it is slow.
func TestHangingNodesDoNotMakeTheExporterSlow(t *testing.T) {
	all := []string{"alpha", "bravo", "charlie"}
	hang := func(calls ...string) func(*apptest.World, ...string) {
		return func(w *apptest.World, nodes ...string) {
			for _, n := range nodes {
				w.Node(n).Inject(simnet.Hung(), calls...)
			}
		}
	}
	for name, hangs := range map[string]func(*apptest.World){
		"a node":             func(w *apptest.World) { hang()(w, all[0]) },
		"all nodes":          func(w *apptest.World) { hang()(w, all...) },
		"a method of a node": func(w *apptest.World) { hang("info.peers")(w, all[0]) },
		"a method of all":    func(w *apptest.World) { hang("platform.getCurrentValidators")(w, all...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				w.Env["NODES"] = apptest.URLs(all...)
				w.Notify(t)
				w.Start(t)
				time.Sleep(2 * time.Minute)
				before := w.Samples(t)
				hung := time.Now()
				hangs(w)
				for range 10 * 4 {
					time.Sleep(15 * time.Second)
					at := w.Samples(t)
					for self, most := range map[string]float64{
						"avax_exporter_overload": 0, "avax_exporter_delay_seconds": 0,
						"avax_exporter_collector_skipped_total": 1, // a run that was woken may reach its deadline when the next one is due
					} {
						if at[self] > before[self]+most {
							t.Fatalf("after %v: %s is %v", time.Since(hung), self, at[self])
						}
					}
				}
				for _, a := range w.Alerts(t) {
					if a.Labels["alertname"] == "AvaxExporterSlow" || a.Labels["cause"] == "overload" {
						t.Errorf("%s", a.Annotations["summary"])
					}
				}
			})
		})
	}
}

// While only some calls end too late, no node is reported as down.
func TestSomeStarvedCallsReportNoNodeAsDown(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		process := &slowProcess{RoundTripper: w.Transport}
		process.every.Store(3)
		w.Transport, w.Yield = process, process.yield
		w.Start(t)
		process.late.Store(int64(time.Second))
		for range 10 * 60 {
			time.Sleep(time.Second)
			if _, samples := w.Get(t, "/metrics"); strings.Contains(samples, "\navax_node_up{node=\"alpha\"} 0") {
				t.Fatal("alpha is reported as down")
			}
		}
		process.late.Store(0)
		w.Node("alpha").Stop()
		time.Sleep(3 * time.Minute)
		if _, samples := w.Get(t, "/metrics"); !strings.Contains(samples, "\navax_node_up{node=\"alpha\"} 0") {
			t.Error("alpha has stopped, and is not reported as down")
		}
	})
}

// slowTurns is a process on a busy machine: each of its calls gets its turn late, and its answers arrive.
type slowTurns struct {
	http.RoundTripper
	late atomic.Int64
}

func (p *slowTurns) yield() { time.Sleep(time.Duration(p.late.Load())) }

// RoundTrip implements http.RoundTripper.
func (p *slowTurns) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := p.RoundTripper.RoundTrip(r)
	select {
	case <-time.After(time.Duration(p.late.Load())):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return answer, err
}

// On a machine that is busy from the first minute, an exporter says nothing about nodes that answer at once: their answers reach it late.
func TestBusyMachineIsNoFaultOfANode(t *testing.T) {
	testworld.Story(t)
	for _, late := range []time.Duration{600 * time.Millisecond, 3 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			process := &slowTurns{}
			process.late.Store(int64(late))
			change := func(w *apptest.World) {
				process.RoundTripper = w.Transport
				w.Transport, w.Yield = process, process.yield
			}
			inWorld(t, incident{quick: true, fuji: true, change: change}, func(t *testing.T, w *world) {
				for range 40 * 4 {
					time.Sleep(15 * time.Second)
					level, title, action := w.page(t, "busy", "/").headline()
					for _, wrong := range append(configured, "no exporter monitors", "Prometheus") {
						itself := strings.Contains(title+action, "too little CPU") || strings.Contains(title, "too slow for its nodes")
						if level != "well" && !itself && (strings.Contains(title, wrong) || strings.Contains(action, wrong)) {
							t.Fatalf("%s: %s", title, action)
						}
					}
				}
				for _, a := range w.Receiver.Alerts() {
					if s := a.Labels["severity"]; (s == "page" || s == "warn") && a.Labels["alertname"] != "AvaxExporterSlow" && a.Labels["cause"] != "overload" {
						t.Errorf("%s %s: %s", s, a.Labels["alertname"], a.Annotations["summary"])
					}
				}
			})
		})
	}
}
