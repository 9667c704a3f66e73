package main

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/internal/web"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// The series of the pages: the validators of twelve nodes, in twelve gauges with four labels each. Each job has the series of
// one node.
const (
	jobs   = 12
	gauges = 12
)

var names = []string{"node", "chain", "subnet_id", "node_id"}

var families = func() (all []*metric.Family) {
	for i := range gauges {
		all = append(all, metric.New(fmt.Sprintf("avax_bench_validator_fact_%02d_ratio", i), "A fact about a validator.", names...))
	}
	return all
}()

// each calls the function set for every series of one job.
func each(series, job int, set func(family int, value float64, labels ...string)) {
	values := rand.New(rand.NewPCG(uint64(job), uint64(time.Now().UnixNano())))
	node := fmt.Sprintf("node%02d", job)
	for v := range series / jobs / gauges {
		id := nodeID(job*1_000_000 + v)
		for f := range gauges {
			set(f, values.Float64(), node, "C", "11111111111111111111111111111111LpoYY", id)
		}
	}
}

// servePage serves the exporter's page.
func servePage(args []string) (http.Handler, error) {
	series, err := strconv.Atoi(args[0])
	if err != nil {
		return nil, err
	}
	store := snapshot.New()
	put := func(job int) {
		batch := metric.NewBatch(families)
		each(series, job, func(f int, value float64, labels ...string) { batch.Set(families[f], value, labels...) })
		store.Put(snapshot.Run{
			Key: snapshot.Key{Collector: "bench", Target: metric.Target{Node: fmt.Sprintf("node%02d", job)}},
			At:  time.Now(), Until: time.Now().Add(time.Hour), Chunks: batch.Chunks(),
		})
	}
	for job := range jobs {
		put(job)
	}
	own := ownRegistry()
	own.MustRegister(store)
	site := &web.Site{Store: store, Registry: own, Upstreams: scrape.NewMetrics(), Progress: func() (int, int) { return jobs, jobs }, Log: slog.New(slog.DiscardHandler)}
	mux := http.NewServeMux()
	mux.Handle("/", site.Handler())
	next := 0
	mux.HandleFunc("/change", func(http.ResponseWriter, *http.Request) { put(next % jobs); next++ })
	return mux, nil
}

// ownRegistry returns a registry with the metrics that each exporter has about itself.
func ownRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// serveRegistry is an exporter as in client_golang's documentation.
func serveRegistry(args []string) (http.Handler, error) {
	series, err := strconv.Atoi(args[0])
	if err != nil {
		return nil, err
	}
	registry := ownRegistry()
	var vectors []*prometheus.GaugeVec
	for _, f := range families {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: f.Name, Help: f.Help}, names)
		registry.MustRegister(v)
		vectors = append(vectors, v)
	}
	put := func(job int) {
		each(series, job, func(f int, value float64, labels ...string) { vectors[f].WithLabelValues(labels...).Set(value) })
	}
	for job := range jobs {
		put(job)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	next := 0
	mux.HandleFunc("/change", func(http.ResponseWriter, *http.Request) { put(next % jobs); next++ })
	return mux, nil
}

// serveFile serves a compressed page from a file.
func serveFile(args []string) (http.Handler, error) {
	if _, err := os.Stat(args[0]); err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
		w.Header().Set("Content-Encoding", "gzip")
		http.ServeFile(w, r, args[0])
	}), nil
}
