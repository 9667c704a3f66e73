package metric_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

const (
	text        = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
	openMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"
)

// scrapers are the Accept and Accept-Encoding headers of scrapers, and the headers of the answer.
var scrapers = map[string]struct{ accept, encoding, wantType, wantEncoding string }{
	"Prometheus": {
		"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", "gzip",
		openMetrics, "gzip",
	},
	"Prometheus with native histograms": {
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1", "gzip",
		openMetrics, "gzip",
	},
	"only protobuf":             {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited", "", text, ""},
	"VictoriaMetrics":           {"text/plain;version=0.0.4;q=1,*/*;q=0.1", "gzip", text, "gzip"},
	"curl":                      {"*/*", "", text, ""},
	"browser":                   {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "deflate, GZIP;q=0.5, br, zstd", text, "gzip"},
	"OpenMetrics, uncompressed": {"application/openmetrics-text;version=1.0.0", "gzip;q=0, identity", openMetrics, ""},
	"OpenMetrics 0.0.1": {
		"application/openmetrics-text; version=0.0.1", "", "application/openmetrics-text; version=0.0.1; charset=utf-8; escaping=underscores", "",
	},
	"only zstd": {"*/*", "zstd, x-gzip", text, ""},
}

// Strict readers of OpenMetrics reject a page with two families of one name: a counter is named without _total.
func TestGoMetricsAreNotTwiceInOpenMetrics(t *testing.T) {
	t.Parallel()
	own := prometheus.NewRegistry()
	own.MustRegister(collectors.NewGoCollector())
	for accept, want := range map[string]bool{"application/openmetrics-text;version=1.0.0": false, "text/plain": true} {
		header, page := fetch(t, handler(metric.NewStore(), own), accept, "")
		samples, _ := parse(t, header.Get("Content-Type"), page)
		if _, has := samples[`{__name__="go_memstats_alloc_bytes"}`]; !has {
			t.Errorf("%s: no go_memstats_alloc_bytes", accept)
		}
		if _, has := samples[`{__name__="go_memstats_alloc_bytes_total"}`]; has != want {
			t.Errorf("%s: go_memstats_alloc_bytes_total is there: %v", accept, has)
		}
		names := map[string]bool{}
		for line := range strings.Lines(string(page)) {
			if name, isType := strings.CutPrefix(line, "# TYPE "); isType {
				name, _, _ = strings.Cut(name, " ")
				if names[name] {
					t.Errorf("%s: %s is there twice", accept, name)
				}
				names[name] = true
			}
		}
	}
}

func handler(s *metric.Store, own prometheus.Gatherer) http.Handler {
	return s.Handler(own, slog.New(slog.DiscardHandler))
}

// fetch requests a page and decompresses the answer.
func fetch(t rapid.TB, h http.Handler, accept, encoding string) (http.Header, []byte) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Header().Get("Content-Encoding") == "" {
		return w.Header(), w.Body.Bytes()
	}
	reader, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	reader.Multistream(false) // some readers stop after the first member
	page, err := io.ReadAll(reader)
	if err != nil || w.Body.Len() > 0 {
		t.Fatalf("error %v, %d bytes after the page", err, w.Body.Len())
	}
	return w.Header(), page
}

// parse parses a page with Prometheus' parser. It returns the samples by series, and the types by family.
func parse(t rapid.TB, contentType string, page []byte) (map[string]float64, map[string]model.MetricType) {
	t.Helper()
	p, err := textparse.New(page, contentType, labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	samples, types := map[string]float64{}, map[string]model.MetricType{}
	for {
		entry, err := p.Next()
		switch {
		case errors.Is(err, io.EOF):
			return samples, types
		case err != nil:
			t.Fatalf("%s: %v in\n%q", contentType, err, page)
		case entry == textparse.EntryType:
			name, kind := p.Type()
			if _, twice := types[string(name)]; twice {
				t.Fatalf("%s has two types", name)
			}
			types[string(name)] = kind
		case entry == textparse.EntrySeries:
			_, _, value := p.Series()
			var series labels.Labels
			p.Labels(&series)
			if _, twice := samples[series.String()]; twice {
				t.Fatalf("duplicate series %s", series)
			}
			samples[series.String()] = value
		}
	}
}

func TestScrapersGetTheirFormatAndEncoding(t *testing.T) {
	h := handler(metric.NewStore(), prometheus.NewRegistry())
	for name, s := range scrapers {
		header, _ := fetch(t, h, s.accept, s.encoding)
		if got := [2]string{header.Get("Content-Type"), header.Get("Content-Encoding")}; got != [2]string{s.wantType, s.wantEncoding} {
			t.Errorf("%s: %q", name, got)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/metrics", nil))
	if w.Body.Len() > 0 || w.Header().Get("Content-Type") != text {
		t.Errorf("HEAD: %d bytes, %v", w.Body.Len(), w.Header())
	}
}

// anyLabel draws label values with special characters of all formats.
var anyLabel = rapid.OneOf(
	rapid.StringOfN(rapid.SampledFrom([]rune("a\"\\\n{},= #é\u2028\U0001F53A\x00\r\t")), 0, 6, -1),
	rapid.StringN(0, 60, -1),
	rapid.SampledFrom([]string{"alpha", "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", ""}),
)

var anyValue = rapid.OneOf(
	rapid.Float64(),
	rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, math.MaxFloat64, math.SmallestNonzeroFloat64, 1.7e9}),
)

// For any samples, the page equals that of a client_golang registry, in every format. Chunk.Samples returns the same samples.
func TestPageEqualsThatOfARegistry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store, all, own := metric.NewStore(), prometheus.NewRegistry(), prometheus.NewRegistry()
		if rapid.Bool().Draw(t, "blocks") {
			metric.InBlocks(store)
		}
		var families []*metric.Family
		set := map[string]func(float64, ...string){}
		for i := range rapid.IntRange(1, 3).Draw(t, "families") {
			name, names := fmt.Sprintf("avax_test_%d", i), []string{"job", "node", "chain"}[:rapid.IntRange(1, 3).Draw(t, "labels")]
			help := strings.ToValidUTF8(anyLabel.Draw(t, "help"), "?")
			if rapid.Bool().Draw(t, "counter") {
				name += "_total"
				families = append(families, metric.NewCounter(name, help, names...))
				v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, names)
				all.MustRegister(v)
				set[name] = func(value float64, labels ...string) { v.WithLabelValues(labels...).Add(value) }
				continue
			}
			families = append(families, metric.New(name, help, names...))
			v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, names)
			all.MustRegister(v)
			set[name] = func(value float64, labels ...string) { v.WithLabelValues(labels...).Set(value) }
		}
		durations := metric.NewHistogram("avax_test_seconds", "Durations.", "job")
		families = append(families, durations)
		observed := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: durations.Name, Help: durations.Help, Buckets: []float64{0.5, 1, 2.5, 10, 1e6}},
			[]string{"job"})
		all.MustRegister(observed)
		for i := range 3 {
			job := fmt.Sprintf("job%d", i)
			batch := metric.NewBatch(families)
			h := observed.WithLabelValues(job).(prometheus.Histogram)
			for _, v := range rapid.SliceOfN(rapid.Float64Range(0, 2e6), 0, 5).Draw(t, "durations") {
				h.Observe(v)
			}
			batch.SetHistogram(durations, h, job)
			for _, f := range families[:len(families)-1] {
				for n := range rapid.SampledFrom([]int{0, 1, 2, 40}).Draw(t, "samples") {
					label, value := anyLabel.Draw(t, "label"), anyValue.Draw(t, "value")
					if f.Type == model.MetricTypeCounter && !(value >= 0) {
						value = 1
					}
					values := []string{job, fmt.Sprint(n), label}[:len(f.Labels)]
					if len(f.Labels) == 1 && n > 0 {
						break
					}
					batch.Set(f, value, values...)
					set[f.Name](value, values...)
				}
			}
			if err := batch.Err(); err != nil {
				t.Fatalf("rejected: %v", err)
			}
			for _, c := range batch.Chunks() {
				samples := c.Samples
				for _, s := range samples {
					if len(s.Labels) != len(c.Family.Labels) || s.Labels[0] != job {
						t.Fatalf("samples %v of %s", samples, c.Family.Name)
					}
				}
			}
			store.Put(metric.Run{Key: metric.Key{Collector: "test", Target: metric.Target{Node: job}}, Until: time.Now().Add(time.Hour), Chunks: batch.Chunks()})
		}
		histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "avax_own_seconds", Help: "Own.", Buckets: []float64{1, 2}})
		histogram.Observe(1.5)
		own.MustRegister(histogram)
		all.MustRegister(histogram)

		s := scrapers[rapid.SampledFrom(slices.Sorted(maps.Keys(scrapers))).Draw(t, "scraper")]
		header, page := fetch(t, handler(store, own), s.accept, s.encoding)
		_, wantPage := fetch(t, promhttp.HandlerFor(all, promhttp.HandlerOpts{EnableOpenMetrics: true}), header.Get("Content-Type"), "identity")
		got, gotTypes := parse(t, header.Get("Content-Type"), page)
		want, wantTypes := parse(t, header.Get("Content-Type"), wantPage)
		maps.DeleteFunc(got, func(series string, _ float64) bool { return strings.Contains(series, "avax_exporter_") })
		maps.DeleteFunc(gotTypes, func(name string, _ model.MetricType) bool { return strings.HasPrefix(name, "avax_exporter_") })
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()) + cmp.Diff(wantTypes, gotTypes); diff != "" {
			t.Fatalf("the registry's page (-) and ours (+) differ:\n%s", diff)
		}
	})
}

var (
	few  = metric.New("avax_test_few", "One series.", "node")
	many = metric.New("avax_test_many", "Hundreds of series.", "node", "id")
)

// put stores a run that exports the same number in two families.
func put(store *metric.Store, number int) {
	b := metric.NewBatch([]*metric.Family{few, many})
	b.Set(few, float64(number), "alpha")
	for i := range 300 {
		b.Set(many, float64(number), "alpha", fmt.Sprint(i))
	}
	store.Put(metric.Run{Key: alpha, At: time.Now(), Until: time.Now().Add(time.Hour), Chunks: b.Chunks()})
}

func TestScrapeNeverMixesTwoStatesOfAJob(t *testing.T) {
	store := metric.NewStore()
	put(store, 0)
	h := handler(store, prometheus.NewRegistry())
	var wg sync.WaitGroup
	for _, s := range scrapers {
		wg.Go(func() {
			for range 3 {
				header, page := fetch(t, h, s.accept, s.encoding)
				samples, _ := parse(t, header.Get("Content-Type"), page)
				maps.DeleteFunc(samples, func(series string, _ float64) bool { return strings.Contains(series, "avax_exporter_") })
				states := slices.Compact(slices.Collect(maps.Values(samples)))
				if len(states) != 1 || len(samples) != 301 {
					t.Errorf("%d series from the states %v", len(samples), states)
				}
			}
		})
	}
	for i := range 200 {
		put(store, i)
	}
	wg.Wait()
}

// A scraper never takes an incomplete page for a complete one, and the next scraper gets a complete page.
func TestAbortedScrapeClosesTheConnection(t *testing.T) {
	store := metric.NewStore()
	put(store, 1)
	h := handler(store, prometheus.NewRegistry())
	for _, s := range scrapers {
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("handler ends with %v", err)
				}
			}()
			r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			r.Header.Set("Accept-Encoding", s.encoding)
			h.ServeHTTP(brokenWriter{httptest.NewRecorder()}, r)
		}()
		header, page := fetch(t, h, s.accept, s.encoding)
		if samples, _ := parse(t, header.Get("Content-Type"), page); len(samples) < 301 {
			t.Errorf("next scrape: %d series", len(samples))
		}
	}
}

type brokenWriter struct{ http.ResponseWriter }

func (brokenWriter) Write([]byte) (int, error) { return 0, context.Canceled }

func TestScrapesOfOneSecondShareTheRegistrysMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		collected := 0.0
		registry := prometheus.NewRegistry()
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "avax_own", Help: "Number of collections."}, func() float64 {
			collected++
			return collected
		}))
		h := handler(metric.NewStore(), registry)
		for _, want := range []string{"avax_own 1\n", "avax_own 1\n", "avax_own 2\n"} {
			if _, page := fetch(t, h, "*/*", "gzip"); !bytes.Contains(page, []byte(want)) {
				t.Errorf("page %q, want %q", page, want)
			}
			time.Sleep(600 * time.Millisecond)
		}
	})
}
