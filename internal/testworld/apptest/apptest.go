// Package apptest runs the exporter in synthetic time. The app is in this process, its upstreams are a simulated network, and its
// notifications go to a webhook in memory. It opens no port.
package apptest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// World is a simulated network and an exporter. The test changes the configuration, and then calls Start.
type World struct {
	*simnet.Network
	*app.App // after Start

	Env       config.Environment // the default: alpha, bravo, C and examplel1, without alert rules
	Configure func(*config.Config)
	Transport http.RoundTripper // from the exporter to the network
	Yield     func()            // see app.Options
	Log       testworld.Log
	Receiver  *testworld.Receiver // of Notify
	Stop      func()              // after Start: stops the exporter. Start starts another one, with the same state directory
}

// Run runs a test in synthetic time.
func Run(t *testing.T, test func(t *testing.T, w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &World{Env: config.Environment{}}
		w.Env["ALERTING"] = "off"
		w.Env["METRICS_URL"] = "http://metrics.sim"
		w.Use(simnet.New(simnet.Options{Seed: 1}), "alpha", "bravo")
		test(t, w)
	})
}

// Use replaces the network. The exporter monitors the nodes with these names, C and examplel1.
func (w *World) Use(network *simnet.Network, nodes ...string) {
	w.Network, w.Transport = network, network.Transport()
	w.Env["NODES"] = URLs(nodes...)
	w.Env["CHAINS"] = "C,examplel1=" + network.Chain("examplel1").ID
}

// WithData enables the Data service, which calls the network mainnet.
func (w *World) WithData() {
	w.Env["DATA_URL"], w.Env["NETWORK"] = "http://data.sim", data.Mainnet
	w.SetNetworkID(1)
}

// Check runs the command check with the configuration, and returns what it prints.
func (w *World) Check(t *testing.T) (printed string, err error) {
	t.Helper()
	c := must.Get(w.Env.Parse())(t)
	c.Transport = w.Transport
	var out strings.Builder
	err = app.Check(t.Context(), c, &out, false)
	return out.String(), err
}

// CallsTo returns the number of calls to an upstream.
func (w *World) CallsTo(upstream string) (n int) {
	for _, c := range w.Calls() {
		if c.Upstream == upstream {
			n++
		}
	}
	return n
}

// URLs is the value of AVAX_NODES for nodes of the network.
func URLs(nodes ...string) string {
	all := make([]string, len(nodes))
	for i, name := range nodes {
		all[i] = name + "=http://" + name + ".sim"
	}
	return strings.Join(all, ",")
}

// oneStarts is locked while alerting starts: two synthetic times must not share a lookup of the host name.
var oneStarts sync.Mutex

// Start runs the exporter until the test ends, and returns after the first run of every collector.
func (w *World) Start(t *testing.T) {
	t.Helper()
	w.StartNow(t)
	time.Sleep(30 * time.Second)
	if ran, of := w.Progress(); ran != of {
		t.Fatalf("%d of %d jobs have run", ran, of)
	}
}

// StartNow is Start without the wait.
func (w *World) StartNow(t *testing.T) {
	t.Helper()
	c, err := w.Env.Parse()
	if err != nil {
		t.Fatal(err)
	}
	c.Network.ID = 0 // the simulated nodes have their own network ID, also where the Data service calls their network mainnet
	if w.Configure != nil {
		w.Configure(c)
	}
	c.Transport = w.Transport
	ctx, cancel := context.WithCancel(t.Context())
	oneStarts.Lock()
	w.App, err = app.New(ctx, app.Options{Config: c, Log: slog.New(slog.NewTextHandler(&w.Log, nil)), Yield: w.Yield})
	synctest.Wait()
	oneStarts.Unlock()
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	w.Stop = sync.OnceFunc(func() {
		cancel()
		w.Wait()
		time.Sleep(time.Second) // for what ends later: the synthetic time stops with the test
	})
	t.Cleanup(w.Stop)
}

// Interval is the interval of rule evaluations. The shipped group wait is as long. Here it is half as long again: otherwise a group would
// be notified at the moment in which an evaluation adds alerts to it, which would be in the notification or not by chance.
const Interval = 30 * time.Second

// Notify makes the exporter evaluate the rules, and notify the receiver as the shipped configuration of Alertmanager says.
func (w *World) Notify(t *testing.T) {
	t.Helper()
	w.Receiver = testworld.Memory(t)
	w.Env["ALERTING"], w.Env["ALERTING_INTERVAL"] = "on", Interval.String()
	w.Env["EXTERNAL_LABELS"], w.Env["STATE_DIR"] = "instance=exporter:9865", t.TempDir()
	file := testworld.ShippedRoutes(t, w.Receiver.URL)
	file["route"].(map[string]any)["group_wait"] = (Interval + Interval/2).String()
	text := must.Get(yaml.Marshal(file))(t)
	w.Configure = func(c *config.Config) {
		c.Notify = notify.Config{Text: text, Dial: w.Receiver.Dial, URL: c.Alerting.URL, StateDir: c.Notify.StateDir}
	}
}

// Get requests a page as a client on the same machine.
func (w *World) Get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	answer := w.Ask(t, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return answer.Code, strings.ReplaceAll(answer.Body.String(), "\u00a0", " ") // as a person reads it
}

// Ask sends a request to the exporter as a client on the same machine.
func (w *World) Ask(t *testing.T, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	r.RemoteAddr, r.Host = "127.0.0.1:1000", "localhost"
	answer := httptest.NewRecorder()
	w.Handler().ServeHTTP(answer, r)
	return answer
}

// Samples scrapes the exporter after the runs that are due now. A scrape that takes synthetic time, because it waits for an upstream, is an
// error.
func (w *World) Samples(t *testing.T) testworld.Samples {
	t.Helper()
	synctest.Wait()
	began := time.Now()
	status, page := w.Get(t, "/metrics")
	if took := time.Since(began); status != http.StatusOK || took != 0 {
		t.Fatalf("/metrics: status %d after %v", status, took)
	}
	return must.Get(testworld.ParseSamples(page))(t)
}

// Alert is a firing alert, as Alertmanager's API lists it.
type Alert struct {
	Labels, Annotations map[string]string
	StartsAt            time.Time
}

// Alerts returns the firing alerts, also those that another alert suppresses.
func (w *World) Alerts(t *testing.T) (alerts []Alert) {
	t.Helper()
	status, body := w.Get(t, "/api/v2/alerts")
	if status != http.StatusOK {
		t.Fatalf("/api/v2/alerts: %d %s", status, body)
	}
	must.Do(t, json.Unmarshal([]byte(body), &alerts))
	return alerts
}
