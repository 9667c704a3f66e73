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

// nodes is the number of nodes of one exporter or shard.
const nodes = 1000

// BenchmarkNodes measures an exporter of 1,000 nodes with the default collectors.
func BenchmarkNodes(b *testing.B) {
	one := measure(b, nodes)
	b.ReportMetric(one.cores, "cores")
	b.ReportMetric(one.memory/1e6, "MB")
	b.ReportMetric(one.complete.Seconds(), "s/complete")
	b.ReportMetric(one.calls, "calls/min")
	b.ReportMetric(one.series, "series")
}

// BenchmarkShards compares ten shards of 10,000 nodes with ten exporters of 1,000 nodes. All shards do the same, so it measures one.
func BenchmarkShards(b *testing.B) {
	const shards = 10
	one := measure(b, nodes)
	shard := measure(b, shards*nodes, "AVAX_SHARD=0", fmt.Sprint("AVAX_TOTAL_SHARDS=", shards))
	b.ReportMetric(shard.cores/one.cores, "cores/linear")
	b.ReportMetric(shards*shard.memory/1e6, "MB")
}

// usage is the resource usage of an exporter.
type usage struct {
	complete                     time.Duration // from the start to the first complete page
	cores, memory, series, calls float64       // memory in bytes, calls to each node in a minute
}

// BenchmarkUse measures exporters as they are used: with a scrape every 15 s while the collectors run, with the rules, and next to the same exporter
// without rules, which is the anchor.
func BenchmarkUse(b *testing.B) {
	for _, size := range []int{1, 30} {
		b.Run(fmt.Sprintf("nodes=%d", size), func(b *testing.B) {
			var with, without usage
			var both sync.WaitGroup
			both.Go(func() { with = use(b, size) })
			both.Go(func() { without = use(b, size, "AVAX_ALERTING=off") })
			both.Wait()
			b.ReportMetric(60*with.cores, "cpu-s/min")
			b.ReportMetric(with.cores/without.cores, "times-without-rules")
			b.ReportMetric(with.memory/1e6, "MB")
			b.ReportMetric(with.calls, "calls/min")
		})
	}
}

// use runs the program for six minutes, and measures the last four.
func use(b *testing.B, size int, env ...string) (u usage) {
	b.Helper()
	const warm, measured = 8, 16 // scrapes
	e, many := start(b, size, env...)
	defer e.End(syscall.SIGTERM)
	e.Ready()
	var before, after testworld.Samples
	var calls int64
	for i := range warm + measured + 1 {
		time.Sleep(15 * time.Second)
		if after = scrape(b, e); i == warm {
			before, calls = after, many.calls.Load()
		}
	}
	seconds := (measured * 15 * time.Second).Seconds()
	u.cores = (after["process_cpu_seconds_total"] - before["process_cpu_seconds_total"]) / seconds
	u.memory, u.series = after["process_resident_memory_bytes"], float64(len(after))
	u.calls = float64(many.calls.Load()-calls) / float64(size) / seconds * 60
	return u
}

// start starts the program with this number of nodes.
func start(b *testing.B, size int, env ...string) (*testworld.Exporter, *manyNodes) {
	b.Helper()
	network := simnet.New(simnet.Options{Seed: 1})
	many := &manyNodes{network: network, answers: map[string]answer{}}
	server := httptest.NewServer(many)
	b.Cleanup(server.Close)
	var list strings.Builder
	for i := range size {
		fmt.Fprintf(&list, "- {targets: [\"%s/n%05d\"], labels: {node: n%05d}}\n", server.URL, i, i)
	}
	return testworld.StartExporter(b, append(env, "AVAX_NODES_FILE="+testworld.File(b, list.String()), "AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID)...), many
}

// measure runs the program with this number of nodes. It waits until the memory is stable, and then measures a minute with four scrapes.
func measure(b *testing.B, size int, env ...string) (u usage) {
	b.Helper()
	testworld.ExporterPath(b) // building it is not part of the start

	began := time.Now()
	e, many := start(b, size, append(env, "AVAX_ALERTING=off")...)
	e.Ready()
	if _, _, err := e.Get("/metrics"); err != nil {
		b.Fatal(err)
	}
	u.complete = time.Since(began)

	time.Sleep(45 * time.Second)
	before, calls := scrape(b, e), many.calls.Load()
	after := before
	for range 4 {
		time.Sleep(15 * time.Second)
		after = scrape(b, e)
	}
	u.cores = (after["process_cpu_seconds_total"] - before["process_cpu_seconds_total"]) / 60
	u.memory, u.series = after["process_resident_memory_bytes"], float64(len(after))
	own := size
	if len(env) > 0 {
		own = nodes // of a shard
	}
	u.calls = float64(many.calls.Load()-calls) / float64(own)
	const skipped = "avax_exporter_collector_skipped_total"
	if n := after[skipped] - before[skipped]; n > 0 {
		b.Errorf("%.0f runs of collectors were skipped", n)
	}
	if code := e.End(syscall.SIGTERM); code != 0 {
		b.Errorf("exit code %d", code)
	}
	return u
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
