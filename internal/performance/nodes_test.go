package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
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

// BenchmarkShards compares ten shards of 10,000 nodes with ten exporters of 1,000 nodes. It measures shard 0, which also exports what
// is the same for all nodes, and one of the nine others.
func BenchmarkShards(b *testing.B) {
	const shards = 10
	one := measure(b, nodes)
	first := measure(b, shards*nodes, "AVAX_SHARD=0", fmt.Sprint("AVAX_TOTAL_SHARDS=", shards))
	other := measure(b, shards*nodes, "AVAX_SHARD=1", fmt.Sprint("AVAX_TOTAL_SHARDS=", shards))
	b.ReportMetric((first.cores+(shards-1)*other.cores)/(shards*one.cores), "cores/linear")
	b.ReportMetric((first.memory+(shards-1)*other.memory)/1e6, "MB")
}

// usage is the resource usage of an exporter.
type usage struct {
	complete                     time.Duration // from the start to the first complete page
	cores, memory, series, calls float64       // memory in bytes, calls to each node in a minute
}

// measure runs the program with this number of nodes. It waits until the memory is stable, and then measures a minute with four scrapes.
func measure(b *testing.B, size int, env ...string) (u usage) {
	b.Helper()
	network := simnet.New(simnet.Options{Seed: 1})
	many := &manyNodes{network: network, answers: map[string]answer{}}
	server := httptest.NewServer(many)
	defer server.Close()
	var list strings.Builder
	for i := range size {
		fmt.Fprintf(&list, "- {targets: [\"%s/n%05d\"], labels: {node: n%05d}}\n", server.URL, i, i)
	}
	program := testworld.ExporterPath(b) // building it is not part of the start

	began := time.Now()
	url := start(b, program, append(env, "AVAX_NODES_FILE="+testworld.File(b, list.String()), "AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID)...)
	for status := 0; status != http.StatusOK; {
		time.Sleep(max(2*time.Millisecond, time.Since(began)/50))
		resp := get(b, url+"/-/ready")
		resp.Body.Close()
		status = resp.StatusCode
	}
	scrape(b, url)
	u.complete = time.Since(began)

	time.Sleep(45 * time.Second)
	before, calls := scrape(b, url), many.calls.Load()
	after := before
	for range 4 {
		time.Sleep(15 * time.Second)
		after = scrape(b, url)
	}
	u.cores, u.memory, u.series = (after.cpu-before.cpu)/60, after.memory, after.series
	own := size
	if len(env) > 0 {
		own = nodes // of a shard
	}
	u.calls = float64(many.calls.Load()-calls) / float64(own)
	if after.skipped > 0 {
		b.Errorf("%.0f runs of collectors were skipped", after.skipped)
	}
	return u
}

// start runs the program until the benchmark ends, and returns its URL.
func start(b *testing.B, program string, env ...string) (url string) {
	b.Helper()
	command := exec.CommandContext(b.Context(), program)
	command.Env = append([]string{"AVAX_LISTEN=127.0.0.1:0", "AVAX_LOG_FORMAT=json", "AVAX_ALERTING=off"}, env...)
	log, err := command.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = command.Wait() })
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var line struct{ Metrics string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Metrics != "" {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return strings.TrimSuffix(line.Metrics, "/metrics")
		}
		b.Log(lines.Text())
	}
	b.Fatal("the exporter does not start")
	return ""
}

func get(b *testing.B, url string) *http.Response {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3") // as Prometheus
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	return resp
}

// sample is what a scrape says of the exporter.
type sample struct{ cpu, memory, series, skipped float64 }

func scrape(b *testing.B, url string) (s sample) {
	b.Helper()
	resp := get(b, url+"/metrics")
	defer resp.Body.Close()
	return parse(b, resp.Body)
}

func parse(b *testing.B, page io.Reader) (s sample) {
	b.Helper()
	lines := bufio.NewScanner(page)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		s.series++
		for prefix, add := range map[string]*float64{
			"process_cpu_seconds_total ": &s.cpu, "process_resident_memory_bytes ": &s.memory, "avax_exporter_collector_skipped_total{": &s.skipped,
		} {
			if strings.HasPrefix(lines.Text(), prefix) {
				value, err := strconv.ParseFloat(lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:], 64)
				if err != nil {
					b.Fatal(err)
				}
				*add += value
			}
		}
	}
	if lines.Err() != nil || s.memory == 0 {
		b.Fatalf("incomplete scrape: %v, %+v", lines.Err(), s)
	}
	return s
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
