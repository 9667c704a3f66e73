package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// The bar for a thousand nodes with the default collectors, scraped every 15 s.
const (
	fleetSize        = 1000
	mostOfACore      = 0.25
	mostGoroutines   = 5 * fleetSize
	mostHeap         = 512 << 20
	fleetPeriod      = 15 * time.Second
	fleetPeriods     = 20 // five minutes: every default collector but the slowest runs
	answersAfter     = 20 * time.Millisecond
	answersAreKept   = time.Minute
	fleetIsSettledIn = time.Minute
)

// BenchmarkFleet is what a thousand nodes cost, in CPU seconds of this process
// for each 15 simulated seconds. In memory are the nodes and the network between:
// their own cost is kept small by playing answers again, and sockets and TLS
// are not in it.
func BenchmarkFleet(b *testing.B) {
	for b.Loop() {
		// Synthetic time is for tests alone.
		ok := testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{
			Name: b.Name(), F: func(t *testing.T) { synctest.Test(t, func(t *testing.T) { measureFleet(t, b) }) },
		}})
		if !ok {
			b.FailNow()
		}
	}
}

func measureFleet(t *testing.T, b *testing.B) {
	network := simnet.New(simnet.Options{Seed: 1})
	env := defaults()
	var nodes []string
	for i := range fleetSize {
		nodes = append(nodes, fmt.Sprintf("n%04d=http://n%04d.sim", i, i))
	}
	env.Nodes = strings.Join(nodes, ",")
	env.Chains = "C,examplel1=" + network.Chain("examplel1").ID
	env.MetricsURL = "http://metrics.sim"
	c, err := env.parse()
	if err != nil {
		t.Fatal(err)
	}
	many := &crowd{to: network.Transport(), nodes: network.Nodes(), answers: map[string]played{}}
	c.transport = many
	ctx, cancel := context.WithCancel(t.Context())
	h, err := build(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer time.Sleep(time.Second) // time stands still once this returns
	defer h.scheduler.Wait()
	defer cancel()
	time.Sleep(fleetIsSettledIn)
	if ran, of := h.scheduler.Progress(); ran != of {
		t.Errorf("%d of %d jobs have run in the first minute", ran, of)
	}

	goroutines := 0
	go func() {
		for ctx.Err() == nil {
			goroutines = max(goroutines, runtime.NumGoroutine())
			time.Sleep(10 * time.Millisecond)
		}
	}()
	asked, before := many.asked, cpuTime()
	var scrapes time.Duration
	var page bytes.Buffer
	for range fleetPeriods {
		time.Sleep(fleetPeriod)
		began := cpuTime()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", acceptOpenMetrics)
		w := httptest.NewRecorder()
		w.Body = &page
		page.Reset()
		h.site.Handler().ServeHTTP(w, r)
		scrapes += cpuTime() - began
	}
	used := cpuTime() - before
	skipped, series := 0.0, 0
	for line := range strings.Lines(page.String()) {
		if strings.HasPrefix(line, "avax_exporter_collector_skipped_total{") && !strings.HasSuffix(line, " 0.0\n") {
			skipped++
		}
		if !strings.HasPrefix(line, "#") {
			series++
		}
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)

	share := used.Seconds() / (fleetPeriods * fleetPeriod).Seconds()
	b.ReportMetric(used.Seconds()/fleetPeriods, "cpu-s/15s")
	b.ReportMetric(100*share, "%core")
	b.ReportMetric(100*scrapes.Seconds()/used.Seconds(), "%scraping")
	b.ReportMetric(float64(goroutines), "goroutines")
	b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), "MiB-heap")
	b.ReportMetric(float64(many.asked-asked)/fleetPeriods, "requests/15s")
	b.ReportMetric(float64(series), "series")
	b.ReportMetric(skipped, "skipped")
	if skipped > 0 || share > mostOfACore || goroutines > mostGoroutines || memory.HeapAlloc > mostHeap {
		t.Errorf("above the bar: %v skipped, %.0f %% of a core, %d goroutines, %d MiB", skipped, 100*share, goroutines, memory.HeapAlloc>>20)
	}
}

// cpuTime is what this process has used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// crowd lets the few nodes of the simulated network play many, each with an ID
// of its own, and plays their answers again for a while.
type crowd struct {
	to    http.RoundTripper
	nodes []*simnet.Node

	mu      sync.Mutex
	answers map[string]played
	asked   int
}

type played struct {
	at     time.Time
	status int
	body   []byte
}

var ownID = regexp.MustCompile(`NodeID-[A-Za-z0-9]+`)

// RoundTrip answers a request for n0000.sim and so on.
func (c *crowd) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(answersAfter):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	var i int
	host := r.URL.Host
	if _, err := fmt.Sscanf(host, "n%04d.sim", &i); err == nil {
		host = c.nodes[i%len(c.nodes)].Name() + ".sim"
	}
	var question []byte
	if r.Body != nil {
		question, _ = io.ReadAll(r.Body)
	}
	key := host + r.URL.RequestURI() + string(question)
	c.mu.Lock()
	c.asked++
	answer, known := c.answers[key]
	c.mu.Unlock()
	if !known || time.Since(answer.at) > answersAreKept {
		in := r.Clone(r.Context())
		in.URL.Host, in.Host, in.Body = host, host, io.NopCloser(bytes.NewReader(question))
		resp, err := c.to.RoundTrip(in)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		answer = played{time.Now(), resp.StatusCode, body}
		c.mu.Lock()
		c.answers[key] = answer
		c.mu.Unlock()
	}
	body := answer.body
	if bytes.Contains(question, []byte(`"info.getNodeID"`)) {
		body = ownID.ReplaceAll(body, []byte(nodeIDOf(i)))
	}
	return &http.Response{StatusCode: answer.status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

// nodeIDOf is the ID of the i-th of many nodes: base 58, with a checksum of four
// bytes at the end.
func nodeIDOf(i int) string {
	const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	id := sha256.Sum256(fmt.Appendf(nil, "node %d", i))
	check := sha256.Sum256(id[:20])
	n, base, digit := new(big.Int).SetBytes(append(id[:20:20], check[28:]...)), big.NewInt(58), new(big.Int)
	var text []byte
	for n.Sign() > 0 {
		n.DivMod(n, base, digit)
		text = append([]byte{digits[digit.Int64()]}, text...)
	}
	return "NodeID-" + string(text)
}
