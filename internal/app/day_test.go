//go:build day && !noalerting

package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// TestOneNodeForADay monitors one node and its validator for a day in synthetic time. It has rules, an Alertmanager, a scrape every
// 15 s and a request for the status page every five minutes. The node fails in a different way every hour. It prints the
// resource usage of the process for make bench; that includes the simulated network.
func TestOneNodeForADay(t *testing.T) {
	debug.SetGCPercent(60) // as in cmd/exporter
	faults := []func(*simnet.Node){
		(*simnet.Node).Stop,
		func(n *simnet.Node) { n.Inject(simnet.Hung()) },
		func(n *simnet.Node) { n.Inject(simnet.Unavailable()) },
		func(n *simnet.Node) { n.Inject(simnet.HTML()) },
		func(n *simnet.Node) { n.FallBehind("C") },
		func(n *simnet.Node) { n.SetChain("C", simnet.Bootstrapping) },
	}
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		p := newPager(t, network.Transport())
		env := config.Defaults()
		env.Nodes, env.Alertmanagers, env.AlertingInstance = "alpha=http://alpha.sim", "http://"+pagerHost, "exporter:9865"
		c, err := env.Parse()
		if err != nil {
			t.Fatal(err)
		}
		c.Transport = p
		ctx, cancel := context.WithCancel(t.Context())
		a, err := app.New(ctx, c, slog.New(slog.DiscardHandler))
		if err != nil {
			cancel()
			t.Fatal(err)
		}
		defer time.Sleep(time.Second)
		defer a.Wait()
		defer cancel()
		get := func(path string) {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
			r.Header.Set("Accept", acceptOpenMetrics)
			r.Header.Set("Accept-Encoding", "gzip")
			if a.Handler().ServeHTTP(w, r); w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		node := network.Node("alpha")
		time.Sleep(time.Minute)
		before := processorTime(t)
		for hour := range 24 {
			for tick := range 240 {
				switch tick {
				case 60:
					faults[hour%len(faults)](node)
				case 140:
					node.Recover()
					node.Start()
					node.CatchUp("C")
					node.SetChain("C", simnet.Running)
				}
				time.Sleep(15 * time.Second)
				get("/metrics")
				if tick%20 == 0 {
					get("/")
				}
			}
			network.ResetCalls() // the recorded calls of the simulated network are not part of the exporter
			p.tell()
		}
		used := processorTime(t) - before
		if len(p.all()) == 0 {
			t.Error("no incident")
		}
		resident := residentMemory(t)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Printf("\nBenchmarkDay 1 %.2f %%-of-a-core %d B-resident %d B-heap\n", 100*used.Seconds()/day.Seconds(), resident, m.HeapAlloc)
	})
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// residentMemory returns the resident memory of this process in bytes.
func residentMemory(t *testing.T) (bytes int64) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &bytes); err == nil {
			return bytes << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
