package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// BenchmarkDay monitors one node and its validator for a day in synthetic time, in this process: with rules, notifications, a scrape
// every 15 s and a request for the status page every five minutes. Each hour the node fails in another way for 20 minutes.
func BenchmarkDay(b *testing.B) {
	runtime.MemProfileRate = 0 // as the program
	debug.SetGCPercent(app.GCPercent)
	const hours = 24
	secret := testworld.File(b, "http://inbox.sim/")
	env := config.Environment{}
	env["NOTIFY_FILE"] = testworld.File(b, `
route: {receiver: inbox, group_by: [alertname, node]}
receivers: [{name: inbox, webhook_configs: [{url_file: `+secret+`}]}]
`)
	env["NODES"], env["STATE_DIR"], env["EXTERNAL_LABELS"] = "alpha=http://alpha.sim", b.TempDir(), "instance=exporter:9865"
	cfg := must.Get(env.Parse())(b)
	var firing int
	var cpu, memory float64
	synthetic(b, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		cfg.Transport = network.Transport()
		inbox := bufconn.Listen(1 << 16)
		server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var n struct{ Alerts []struct{ Status string } }
			if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
				t.Error(err)
			}
			for _, a := range n.Alerts {
				if a.Status == "firing" {
					firing++
				}
			}
		})}
		go func() { _ = server.Serve(inbox) }()
		defer server.Close()
		cfg.Notify.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return inbox.DialContext(ctx) }
		get, stop := run(t, cfg)
		defer stop()
		before := must.Get(testworld.ParseSamples(get("/metrics", "").Body.String()))(t)
		go incidents(network, hours)
		for range hours * 12 {
			for range 20 {
				time.Sleep(15 * time.Second)
				get("/metrics", "gzip")
			}
			get("/", "gzip")
		}
		after := must.Get(testworld.ParseSamples(get("/metrics", "").Body.String()))(t)
		cpu = (after["process_cpu_seconds_total"] - before["process_cpu_seconds_total"]) / (60 * hours)
		memory = after["process_resident_memory_bytes"]
	})
	b.ReportMetric(memory/1e6, "MB")
	b.ReportMetric(cpu, "cpu-s/min")
	b.ReportMetric(float64(firing), "firing")
}

// synthetic runs a function in synthetic time, which is only available in tests.
func synthetic(b *testing.B, f func(*testing.T)) {
	b.Helper()
	all := func(string, string) (bool, error) { return true, nil }
	if !testing.RunTests(all, []testing.InternalTest{{Name: b.Name(), F: func(t *testing.T) { synctest.Test(t, f) }}}) {
		b.FailNow()
	}
}

// run starts an exporter in this process. get requests a page of it.
func run(t *testing.T, cfg *config.Config) (get func(path, encoding string) *httptest.ResponseRecorder, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	a, err := app.New(ctx, app.Options{Config: cfg, Log: slog.New(slog.DiscardHandler), Yield: func() {}})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	get = func(path, encoding string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		if encoding != "" {
			r.Header.Set("Accept-Encoding", encoding)
		}
		if a.Handler().ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		return w
	}
	return get, func() {
		cancel()
		a.Wait()
		time.Sleep(time.Minute)
	}
}

// incidents runs one incident in each hour.
func incidents(network *simnet.Network, hours int) {
	node := network.Node("alpha")
	faults := []func(){
		node.Stop,
		func() { node.Inject(simnet.Unavailable()) },
		func() { node.Inject(simnet.HTML()) },
		func() { node.Inject(simnet.Hung()) },
		func() { node.FallBehind("C") },
		func() { node.SetChain("C", simnet.Bootstrapping) },
	}
	for hour := range hours {
		time.Sleep(15 * time.Minute)
		faults[hour%len(faults)]()
		time.Sleep(20 * time.Minute)
		node.Recover()
		node.Start()
		node.CatchUp("C")
		node.SetChain("C", simnet.Running)
		network.ResetCalls() // the list of calls is not the exporter's memory
		time.Sleep(25 * time.Minute)
	}
}
