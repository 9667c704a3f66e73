package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// sizes are numbers of nodes whose exporters are measured side by side.
var sizes = []int{1, 30, 300}

// BenchmarkUse measures exporters as they are used: with rules, and a scrape every 15 s between runs of the collectors. The anchor of each runs beside
// it: the same exporter without rules.
func BenchmarkUse(b *testing.B) { measure(b, sizes...) }

// BenchmarkThousand is BenchmarkUse with 1,000 nodes.
func BenchmarkThousand(b *testing.B) { measure(b, 1000) }

// usage is the resource usage of an exporter.
type usage struct {
	complete                   time.Duration // from the start to the first whole page
	cpu, memory, series, calls float64       // cpu in seconds a minute, memory in bytes, calls to each node in a minute
	skipped                    float64       // runs of collectors in a minute
}

func measure(b *testing.B, sizes ...int) {
	testworld.ExporterPath(b) // building it is not part of the start
	with, without := make([]usage, len(sizes)), make([]usage, len(sizes))
	var all sync.WaitGroup
	for i, size := range sizes {
		all.Go(func() { with[i] = use(b, size) })
		all.Go(func() { without[i] = use(b, size, "AVAX_ALERTING=off") })
	}
	all.Wait()
	for i, size := range sizes {
		report := func(value float64, unit string) { b.ReportMetric(value, fmt.Sprintf("%s/%d", unit, size)) }
		report(with[i].cpu/without[i].cpu, "times-off")
		report(with[i].cpu, "cpu-s/min")
		report(without[i].cpu, "cpu-s/min-off")
		report(with[i].memory/1e6, "MB")
		report(with[i].calls, "calls/min")
		report(with[i].series, "series")
		report(with[i].complete.Seconds(), "s/complete")
		report(with[i].skipped, "skipped/min")
	}
}

// use runs the program for six minutes, and measures the last four.
func use(b *testing.B, size int, env ...string) (u usage) {
	b.Helper()
	const warm, measured = 8, 16 // scrapes
	began := time.Now()
	e, many := start(b, size, env...)
	defer e.End(syscall.SIGTERM)
	e.Ready()
	scrape(b, e)
	u.complete = time.Since(began)
	var before, after testworld.Samples
	var calls int64
	every := time.NewTicker(15 * time.Second) // a page of many nodes takes seconds
	defer every.Stop()
	for i := range warm + measured + 1 {
		<-every.C
		if after = scrape(b, e); i == warm {
			before, calls, began = after, many.calls.Load(), time.Now()
		}
	}
	minutes := time.Since(began).Minutes()
	u.cpu = (after["process_cpu_seconds_total"] - before["process_cpu_seconds_total"]) / minutes
	u.memory, u.series = after["process_resident_memory_bytes"], float64(len(after))
	u.calls = float64(many.calls.Load()-calls) / float64(size) / minutes
	const skipped = "avax_exporter_collector_skipped_total"
	u.skipped = (after.Sum(skipped) - before.Sum(skipped)) / minutes
	return u
}

// BenchmarkStart measures the CPU of an exporter of one node from its start to the first whole page, with and without rules.
func BenchmarkStart(b *testing.B) {
	testworld.ExporterPath(b)
	const starts = 10
	first := func(env ...string) (spent time.Duration) {
		for range starts {
			e, _ := start(b, 1, env...)
			e.Ready()
			scrape(b, e)
			e.End(syscall.SIGKILL)
			spent += e.CPU()
		}
		return spent / starts
	}
	with, without := first(), first("AVAX_ALERTING=off")
	b.ReportMetric(with.Seconds(), "cpu-s/start")
	b.ReportMetric(without.Seconds(), "cpu-s/start-off")
	b.ReportMetric(with.Seconds()/without.Seconds(), "times-off")
}

// start starts the program with this number of nodes.
func start(b *testing.B, size int, env ...string) (*testworld.Exporter, *manyNodes) {
	b.Helper()
	network := simnet.New(simnet.Options{Seed: 1})
	many := newManyNodes(network)
	server := httptest.NewServer(many)
	b.Cleanup(server.Close)
	var list strings.Builder
	for i := range size {
		fmt.Fprintf(&list, "- {targets: [\"%s/n%05d\"], labels: {node: n%05d}}\n", server.URL, i, i)
	}
	return testworld.StartExporter(b, append(env, "AVAX_NODES_FILE="+testworld.File(b, list.String()), "AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID)...), many
}

func scrape(b *testing.B, e *testworld.Exporter) testworld.Samples {
	b.Helper()
	return must.Get(e.Scrape())(b)
}

// manyNodes are many nodes: n00000/ext/… and so on. Their answers are those of the few nodes of the simulated network, but each has its
// own node ID. An answer is repeated for a minute.
type manyNodes struct {
	network *simnet.Network
	calls   atomic.Int64

	mu      sync.Mutex
	answers map[string]answer
}

type answer struct {
	at     time.Time
	status int
	body   []byte
}

func newManyNodes(network *simnet.Network) *manyNodes {
	return &manyNodes{network: network, answers: map[string]answer{}}
}

func (m *manyNodes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(20 * time.Millisecond)
	m.calls.Add(1)
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	i, err := strconv.Atoi(strings.TrimPrefix(name, "n"))
	question, err2 := io.ReadAll(r.Body)
	if err != nil || err2 != nil {
		http.Error(w, "unknown node", http.StatusNotFound)
		return
	}
	node := m.network.Nodes()[i%len(m.network.Nodes())]
	a, err := m.answer(r, "http://"+node.Name()+".sim/"+path, question)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if bytes.Contains(question, []byte(`"info.getNodeID"`)) {
		a.body = bytes.ReplaceAll(a.body, []byte(node.ID()), []byte(m.network.NewNodeID(i)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

func (m *manyNodes) answer(r *http.Request, url string, question []byte) (a answer, err error) {
	key := url + string(question)
	m.mu.Lock()
	defer m.mu.Unlock()
	if a = m.answers[key]; a.body != nil && time.Since(a.at) < time.Minute {
		return a, nil
	}
	in, err := http.NewRequestWithContext(r.Context(), r.Method, url, bytes.NewReader(question))
	if err != nil {
		return a, err
	}
	in.Header = r.Header.Clone()
	in.Header.Del("Accept-Encoding")
	resp, err := m.network.Transport().RoundTrip(in)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	a = answer{at: time.Now(), status: resp.StatusCode}
	a.body, err = io.ReadAll(resp.Body)
	m.answers[key] = a
	return a, err
}
