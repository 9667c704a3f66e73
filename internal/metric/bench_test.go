package metric_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// BenchmarkScrape compares the CPU of a gzip scrape of 60,000 series with that of client_golang's registry: twelve nodes report
// about the same validators in twelve gauges. registry/exporter is the ratio if nothing has changed since the last scrape,
// registry/exporter-changed that after a run of one node, which is not counted.
func BenchmarkScrape(b *testing.B) {
	const nodes, gauges, validators = 12, 12, 417
	names := []string{"node", "chain", "subnet_id", "node_id"}
	store, registry := metric.NewStore(), prometheus.NewRegistry()
	var families []*metric.Family
	var vectors []*prometheus.GaugeVec
	for i := range gauges {
		f := metric.New(fmt.Sprintf("avax_bench_validator_%02d_ratio", i), "A fact about a validator.", names...)
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: f.Name, Help: f.Help}, names)
		registry.MustRegister(v)
		families, vectors = append(families, f), append(vectors, v)
	}
	random := rand.New(rand.NewPCG(1, 2))
	each := func(node int, set func(gauge int, value float64, labels ...string)) {
		for v := range validators {
			id := fmt.Sprintf("NodeID-%033d", v*7919)
			for g := range gauges {
				set(g, random.Float64(), fmt.Sprintf("node%02d", node), "C", "11111111111111111111111111111111LpoYY", id)
			}
		}
	}
	changeStore := func(node int) {
		batch := metric.NewBatch(families)
		each(node, func(g int, value float64, labels ...string) { batch.Set(families[g], value, labels...) })
		store.Put(metric.Run{
			Key: metric.Key{Collector: "bench", Target: metric.Target{Node: fmt.Sprintf("node%02d", node)}},
			At:  time.Now(), Until: time.Now().Add(time.Hour), Chunks: batch.Chunks(),
		})
	}
	changeRegistry := func(node int) {
		each(node, func(g int, value float64, labels ...string) { vectors[g].WithLabelValues(labels...).Set(value) })
	}
	for node := range nodes {
		changeStore(node)
		changeRegistry(node)
	}
	cpu := func(h http.Handler, change func(int), scrapes int) time.Duration {
		var sum time.Duration
		for i := range scrapes {
			change(i % nodes)
			before := cpuTime()
			r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			r.Header.Set("Accept-Encoding", "gzip")
			h.ServeHTTP(discard{http.Header{}}, r)
			sum += cpuTime() - before
		}
		return sum / time.Duration(scrapes)
	}
	ours, theirs := handler(store, prometheus.NewRegistry()), promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	unchanged := func(int) {}
	for b.Loop() {
		cpu(ours, unchanged, 1)
		b.ReportMetric(cpu(theirs, unchanged, nodes).Seconds()/cpu(ours, unchanged, 50*nodes).Seconds(), "registry/exporter")
		b.ReportMetric(cpu(theirs, changeRegistry, nodes).Seconds()/cpu(ours, changeStore, nodes).Seconds(), "registry/exporter-changed")
	}
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header            { return d.header }
func (d discard) Write(text []byte) (int, error) { return len(text), nil }
func (d discard) WriteHeader(int)                {}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
