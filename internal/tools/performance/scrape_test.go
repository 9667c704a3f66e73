package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promcollectors "github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// BenchmarkScrape compares CPU and bytes of a gzip scrape with those of client_golang's registry that has the same series. Between two scrapes, every
// 15 s in synthetic time, collectors run. Their work is not counted.
func BenchmarkScrape(b *testing.B) {
	const scrapes = 160 // 40 minutes
	for _, size := range []int{1, 30} {
		ours, theirs := &cost{}, &cost{}
		synthetic(b, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			network := simnet.New(simnet.Options{Seed: 1})
			var nodes []string
			for i := range size {
				nodes = append(nodes, fmt.Sprintf("n%05d=http://many.sim/n%05d", i, i))
			}
			env := config.Environment{"ALERTING": "off", "NODES": strings.Join(nodes, ","), "CHAINS": "C,examplel1=" + network.Chain("examplel1").ID}
			cfg := must.Get(env.Parse())(t)
			cfg.Transport = transport{newManyNodes(network)}
			get, stop := run(t, cfg)
			defer stop()
			time.Sleep(5 * time.Minute)
			registry := newRegistry()
			for range scrapes {
				time.Sleep(15 * time.Second)
				synctest.Wait()
				ours.add(func() int { return get("/metrics", "gzip").Body.Len() })
				registry.set(t, get("/metrics", "").Body.String())
				theirs.add(func() int {
					w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
					r.Header.Set("Accept-Encoding", "gzip")
					registry.handler.ServeHTTP(w, r)
					return w.Body.Len()
				})
			}
		})
		report := func(value float64, unit string) { b.ReportMetric(value, fmt.Sprintf("%s/%d", unit, size)) }
		report(ours.cpu.Seconds()/theirs.cpu.Seconds(), "cpu-ratio")
		report(ours.cpu.Seconds()*1000/scrapes, "cpu-ms/scrape")
		report(float64(ours.bytes)/float64(theirs.bytes), "bytes-ratio")
		report(float64(ours.bytes)/1000/scrapes, "KB/scrape")
	}
}

// cost is what scrapes took.
type cost struct {
	cpu   time.Duration
	bytes int
}

func (c *cost) add(scrape func() int) {
	before := cpuTime()
	c.bytes += scrape()
	c.cpu += cpuTime() - before
}

// cpuTime returns the CPU time of this thread, on Linux. The rest of the process works at the same time, such as on the garbage of the collectors.
func cpuTime() time.Duration {
	const ofThread = 1
	var u syscall.Rusage
	_ = syscall.Getrusage(ofThread, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// registry is client_golang's, with gauges for the series of a page. It has the metrics of Go and the process itself, as ours.
type registry struct {
	*prometheus.Registry
	handler http.Handler
	vectors map[string]*prometheus.GaugeVec
}

func newRegistry() *registry {
	r := &registry{Registry: prometheus.NewRegistry(), vectors: map[string]*prometheus.GaugeVec{}}
	r.MustRegister(promcollectors.NewGoCollector(), promcollectors.NewProcessCollector(promcollectors.ProcessCollectorOpts{}))
	r.handler = promhttp.HandlerFor(r, promhttp.HandlerOpts{})
	return r
}

// set sets the gauges to the values of a page.
func (r *registry) set(t *testing.T, page string) {
	help := map[string]string{}
	for line := range strings.Lines(page) {
		if text, is := strings.CutPrefix(line, "# HELP "); is {
			name, about, _ := strings.Cut(strings.TrimSpace(text), " ")
			help[name] = about
		}
	}
	for series, value := range must.Get(testworld.ParseSamples(page))(t) {
		if strings.HasPrefix(series, "go_") || strings.HasPrefix(series, "process_") {
			continue
		}
		name, _, _ := strings.Cut(series, "{")
		var names, values []string
		for _, l := range label.FindAllStringSubmatch(series, -1) {
			names, values = append(names, l[1]), append(values, must.Get(strconv.Unquote(l[2]))(t))
		}
		v := r.vectors[name]
		if v == nil {
			v = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help[name]}, names)
			r.MustRegister(v)
			r.vectors[name] = v
		}
		v.WithLabelValues(values...).Set(value)
	}
}

var label = regexp.MustCompile(`(\w+)=("(?:[^"\\]|\\.)*")`)

// transport lets a handler answer all requests.
type transport struct{ http.Handler }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = io.NopCloser(strings.NewReader(""))
	}
	w := httptest.NewRecorder()
	t.ServeHTTP(w, r)
	return w.Result(), nil
}
