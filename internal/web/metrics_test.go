package web

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
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	promlabels "github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Accept and Accept-Encoding headers of scrapers.
var scrapers = map[string]struct{ accept, encoding, mediaType, packed string }{
	"Prometheus 2": {
		"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", "gzip",
		"application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores", "gzip",
	},
	"Prometheus 3": {
		"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1", "gzip",
		"application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=allow-utf-8", "gzip",
	},
	"Prometheus 3, native histograms": {
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1", "gzip",
		"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping=allow-utf-8", "gzip",
	},
	"protobuf, uncompressed": {
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited", "",
		"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping=underscores", "",
	},
	"protobuf, zstd": {
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited", "zstd",
		"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping=underscores", "zstd",
	},
	"VictoriaMetrics": {
		"text/plain;version=0.0.4;q=1,*/*;q=0.1", "gzip",
		"text/plain; version=0.0.4; charset=utf-8; escaping=underscores", "gzip",
	},
	"curl": {"*/*", "", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", ""},
	"curl --compressed": {
		"*/*", "deflate, gzip, br, zstd", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", "gzip",
	},
	"only zstd": {"*/*", "zstd, gzip;q=0", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", "zstd"},
	"browser": {
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "gzip, deflate, br, zstd",
		"text/plain; version=0.0.4; charset=utf-8; escaping=underscores", "gzip",
	},
	"OpenMetrics, uncompressed": {
		"application/openmetrics-text;version=1.0.0", "identity",
		"application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores", "",
	},
}

// siteOf serves the store and the registry.
func siteOf(store *snapshot.Store, registry *prometheus.Registry) *Site {
	return &Site{Store: store, Registry: registry, Upstreams: scrape.NewMetrics(), Log: slog.New(slog.DiscardHandler), Progress: func() (int, int) { return 0, 0 }}
}

// fetch requests a page like a scraper, and decompresses the answer.
func fetch(t interface {
	Fatalf(string, ...any)
	Context() context.Context
}, h http.Handler, accept, encoding string,
) (http.Header, []byte) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	if encoding != "" {
		r.Header.Set("Accept-Encoding", encoding)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("answers %d: %s", w.Code, w.Body)
	}
	var body io.Reader = w.Body
	var err error
	switch packed := w.Header().Get("Content-Encoding"); packed {
	case "gzip":
		body, err = gzip.NewReader(w.Body)
	case "zstd":
		body, err = zstd.NewReader(w.Body)
	case "":
	default:
		t.Fatalf("encoding %s", packed)
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatalf("incomplete page: %v", err)
	}
	return w.Header(), text
}

// samplesOf parses a page with Prometheus' parser.
func samplesOf(t interface{ Fatalf(string, ...any) }, contentType string, page []byte) map[string]float64 {
	samples, _ := parse(t, contentType, page)
	return samples
}

// parse parses a page with Prometheus' parser. It returns the samples by series, and the types by family.
func parse(t interface{ Fatalf(string, ...any) }, contentType string, page []byte) (map[string]float64, map[string]model.MetricType) {
	p, err := textparse.New(page, contentType, promlabels.NewSymbolTable(), textparse.ParserOptions{FallbackContentType: "text/plain"})
	if err != nil {
		t.Fatalf("%v", err)
	}
	found, types := map[string]float64{}, map[string]model.MetricType{}
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return found, types
		}
		if err != nil {
			t.Fatalf("%s: %v in\n%q", contentType, err, page)
		}
		if entry == textparse.EntryType {
			name, is := p.Type()
			if _, twice := types[string(name)]; twice {
				t.Fatalf("%s has two types", name)
			}
			types[string(name)] = is
		}
		if entry != textparse.EntrySeries {
			continue
		}
		_, _, value := p.Series()
		var series promlabels.Labels
		p.Labels(&series)
		if _, twice := found[series.String()]; twice {
			t.Fatalf("duplicate series %s", series)
		}
		found[series.String()] = value
	}
}

// anyLabel draws label values with special characters of all formats.
var anyLabel = rapid.OneOf(
	rapid.StringOfN(rapid.SampledFrom([]rune("a\"\\\n{},= #é\u2028\U0001F53A\x00\r\t")), 0, 6, -1),
	rapid.String(),
	rapid.SampledFrom([]string{"alpha", "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", ""}),
)

var anyValue = rapid.OneOf(
	rapid.Float64(),
	rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, math.MaxFloat64, math.SmallestNonzeroFloat64, 1.7e9}),
)

// For any samples, the page equals that of a client_golang registry, in every format.
func TestMetricsEqualThoseOfARegistry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store, all := snapshot.New(), prometheus.NewRegistry()
		declared := map[string]*metric.Family{}
		vecs := map[string]vec{}
		for i := range rapid.IntRange(1, 3).Draw(t, "families") {
			name := fmt.Sprintf("avax_test_%d", i)
			names := []string{"job", "node", "chain"}[:rapid.IntRange(1, 3).Draw(t, "labels")]
			help := anyLabel.Draw(t, "help")
			if rapid.Bool().Draw(t, "counter") {
				name += "_total"
				declared[name] = metric.NewCounter(name, strings.ToValidUTF8(help, "?"), names...)
				vecs[name] = counterVec{prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, names)}
			} else {
				declared[name] = metric.New(name, strings.ToValidUTF8(help, "?"), names...)
				vecs[name] = gaugeVec{prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, names)}
			}
			all.MustRegister(vecs[name])
		}
		families := slices.Collect(maps.Values(declared))
		// Sometimes families are longer than one compressed piece.
		sizes := []int{0, 1, 2, 6}
		if rapid.IntRange(0, 39).Draw(t, "long") == 0 {
			sizes = []int{1, 1500}
		}
		for name, value := range map[string]float64{"success": 1, "duration_seconds": 0.25, "last_success_timestamp_seconds": 1.5e9} {
			name = "avax_exporter_collector_" + name
			vecs[name] = gaugeVec{prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: "How jobs fare."}, []string{"collector", "target"})}
			all.MustRegister(vecs[name])
			for i := range 3 {
				vecs[name].set(value, "test", fmt.Sprintf("job%d", i))
			}
		}
		for _, name := range []string{"avax_exporter_collector_skipped_total", "avax_exporter_collector_panics_total"} {
			none := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: "How jobs fare."}, []string{"collector", "target"})
			all.MustRegister(none)
			for i := range 3 {
				none.WithLabelValues("test", fmt.Sprintf("job%d", i))
			}
		}
		for i := range 3 {
			job := fmt.Sprintf("job%d", i)
			batch := metric.NewBatch(families)
			for _, f := range families {
				many := rapid.SampledFrom(sizes).Draw(t, "samples")
				other, value := anyLabel.Draw(t, "label"), anyValue.Draw(t, "value")
				if f.Type == model.MetricTypeCounter && !(value >= 0) {
					value = 1
				}
				for n := range many {
					values := []string{job, fmt.Sprint(n, other), other}[:len(f.Labels)]
					if len(f.Labels) == 1 && n > 0 {
						break
					}
					batch.Set(f, value, values...)
					vecs[f.Name].set(value, values...)
					value += float64(n)
				}
			}
			if err := batch.Err(); err != nil {
				t.Fatalf("rejected: %v", err)
			}
			store.Put(snapshot.Run{
				Key: snapshot.Key{Collector: "test", Target: metric.Target{Node: job}}, At: time.Unix(1.5e9, 0), Took: 250 * time.Millisecond,
				Until: time.Now().Add(time.Hour), Chunks: batch.Chunks(),
			})
		}
		own := prometheus.NewRegistry()
		counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "avax_own_total", Help: "Own."})
		histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "avax_own_seconds", Help: "Own.", NativeHistogramBucketFactor: 1.1, Buckets: []float64{1, 2}})
		counter.Add(3)
		histogram.Observe(1.5)
		for _, r := range []*prometheus.Registry{own, all} {
			r.MustRegister(counter, histogram)
		}
		slow := promhttp.HandlerFor(all, promhttp.HandlerOpts{EnableOpenMetrics: true})
		fast := siteOf(store, own).Handler()

		who := rapid.SampledFrom(slices.Sorted(maps.Keys(scrapers))).Draw(t, "scraper")
		s := scrapers[who]
		typed, page := fetch(t, fast, s.accept, s.encoding)
		wantTyped, wantPage := fetch(t, slow, s.accept, "identity")
		got, gotTypes := parse(t, typed.Get("Content-Type"), page)
		want, wantTypes := parse(t, wantTyped.Get("Content-Type"), wantPage)
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("%s: the registry's page (-) and ours (+) differ:\n%s", who, diff)
		}
		if diff := cmp.Diff(wantTypes, gotTypes); diff != "" {
			t.Fatalf("%s: the registry's types (-) and ours (+) differ:\n%s", who, diff)
		}
	})
}

// vec is a registry's family of any type.
type vec interface {
	prometheus.Collector
	set(value float64, labels ...string)
}

type gaugeVec struct{ *prometheus.GaugeVec }

func (v gaugeVec) set(value float64, labels ...string) { v.WithLabelValues(labels...).Set(value) }

type counterVec struct{ *prometheus.CounterVec }

func (v counterVec) set(value float64, labels ...string) { v.WithLabelValues(labels...).Add(value) }

// Only in OpenMetrics, the name of the family has no _total. The series has the same name and value in every format.
func TestCountersAreCountersInEveryFormat(t *testing.T) {
	events := metric.NewCounter("avax_test_events_total", "Events.", "node")
	store := snapshot.New()
	h := siteOf(store, prometheus.NewRegistry()).Handler()
	for _, value := range []float64{1, 2} {
		b := metric.NewBatch([]*metric.Family{events})
		b.Set(events, value, "alpha")
		store.Put(snapshot.Run{Key: snapshot.Key{Collector: "test", Target: metric.Target{Node: "alpha"}}, At: time.Now(), Until: time.Now().Add(time.Hour), Chunks: b.Chunks()})
		for who, s := range scrapers {
			header, page := fetch(t, h, s.accept, s.encoding)
			samples, types := parse(t, header.Get("Content-Type"), page)
			maps.DeleteFunc(samples, func(series string, _ float64) bool { return strings.Contains(series, "avax_exporter_") })
			maps.DeleteFunc(types, func(family string, _ model.MetricType) bool { return strings.HasPrefix(family, "avax_exporter_") })
			if diff := cmp.Diff(map[string]float64{`{__name__="avax_test_events_total", node="alpha"}`: value}, samples); diff != "" {
				t.Errorf("%s: samples wanted (-) and read (+):\n%s", who, diff)
			}
			family := "avax_test_events_total"
			if strings.HasPrefix(s.mediaType, "application/openmetrics-text") {
				family = "avax_test_events"
			}
			if diff := cmp.Diff(map[string]model.MetricType{family: model.MetricTypeCounter}, types); diff != "" {
				t.Errorf("%s: types wanted (-) and read (+):\n%s", who, diff)
			}
			if strings.HasPrefix(s.mediaType, "application/openmetrics-text") {
				continue // expfmt cannot parse it
			}
			decoder := expfmt.NewDecoder(bytes.NewReader(page), expfmt.ResponseFormat(header))
			for {
				var f dto.MetricFamily
				err := decoder.Decode(&f)
				if errors.Is(err, io.EOF) {
					t.Errorf("%s: no counter for expfmt", who)
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", who, err)
				}
				if f.GetName() != "avax_test_events_total" {
					continue
				}
				if f.GetType() != dto.MetricType_COUNTER || f.Metric[0].GetCounter().GetValue() != value || f.GetHelp() != "Events." {
					t.Errorf("%s: expfmt reads %v", who, &f)
				}
				break
			}
		}
	}
}

// Each scraper gets its preferred format and a supported encoding.
func TestScrapersGetTheirFormatAndEncoding(t *testing.T) {
	h := siteOf(snapshot.New(), prometheus.NewRegistry()).Handler()
	for who, s := range scrapers {
		header, _ := fetch(t, h, s.accept, s.encoding)
		got := [2]string{header.Get("Content-Type"), header.Get("Content-Encoding")}
		if want := [2]string{s.mediaType, s.packed}; got != want {
			t.Errorf("%s: content type %q, want %q", who, got, want)
		}
		if vary := header.Values("Vary"); !slices.Equal(vary, []string{"Accept", "Accept-Encoding"}) {
			t.Errorf("%s: Vary %q", who, vary)
		}
		head := ask(t, siteOf(snapshot.New(), prometheus.NewRegistry()), http.MethodHead, "/metrics", "Accept", s.accept, "Accept-Encoding", s.encoding)
		if got := [2]string{head.Header.Get("Content-Type"), head.Header.Get("Content-Encoding")}; got != [2]string{s.mediaType, s.packed} {
			t.Errorf("%s: HEAD with content type %q", who, got)
		}
		if body, err := io.ReadAll(head.Body); err != nil || len(body) > 0 {
			t.Errorf("%s: HEAD with a body of %d bytes (%v)", who, len(body), err)
		}
	}
}

func TestChooseRespectsAcceptEncoding(t *testing.T) {
	for accepted, want := range map[string]string{
		"":                         "",
		"gzip":                     "gzip",
		"GZIP":                     "gzip",
		"deflate, gzip;q=1.0":      "gzip",
		"gzip;q=0":                 "",
		"gzip; q=0.0, identity":    "",
		"gzip;q=none":              "",
		"br,zstd":                  "zstd",
		"zstd;q=1, gzip;q=0.5":     "gzip", // precompressed
		"x-gzip":                   "",
		"*":                        "gzip",
		"gzip;q=0, *;q=0.1":        "zstd",
		"identity;q=1, *;q=0":      "",
		"deflate;q=0.5,zstd;q=0.1": "zstd",
	} {
		if got := choose([]string{accepted}); got != want {
			t.Errorf("%q: %q, want %q", accepted, got, want)
		}
	}
}

// storeOf returns a store with one job that exports the same number in two families, one of them long.
func storeOf(number int) *snapshot.Store {
	store := snapshot.New()
	putNumber(store, number)
	return store
}

var (
	few  = metric.New("avax_test_few", "One series.", "node")
	many = metric.New("avax_test_many", "Hundreds of series.", "node", "id")
)

func putNumber(store *snapshot.Store, number int) {
	b := metric.NewBatch([]*metric.Family{few, many})
	b.Set(few, float64(number), "alpha")
	for i := range 300 {
		b.Set(many, float64(number), "alpha", fmt.Sprint(i))
	}
	store.Put(snapshot.Run{Key: snapshot.Key{Collector: "test", Target: metric.Target{Node: "alpha"}}, At: time.Now(), Until: time.Now().Add(time.Hour), Chunks: b.Chunks()})
}

// While a job changes all the time, every page contains one complete state of the job.
func TestPageNeverMixesTwoStatesOfAJob(t *testing.T) {
	store := storeOf(0)
	h := siteOf(store, prometheus.NewRegistry()).Handler()
	var wg sync.WaitGroup
	for _, s := range scrapers {
		wg.Go(func() {
			for range 3 {
				header, page := fetch(t, h, s.accept, s.encoding)
				states, series := map[float64]bool{}, 0
				for name, value := range samplesOf(t, header.Get("Content-Type"), page) {
					if strings.Contains(name, "avax_test_") {
						states[value] = true
						series++
					}
				}
				if len(states) != 1 || series != 301 {
					t.Errorf("%d series from %d states", series, len(states))
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			putNumber(store, i)
		}
	}()
	wg.Wait()
	<-done
}

// A scraper that closes its connection early does not affect the next one.
func TestAbortedScrapeDoesNotAffectTheNext(t *testing.T) {
	h := siteOf(storeOf(1), prometheus.NewRegistry()).Handler()
	server := httptest.NewServer(h)
	defer server.Close()
	for who, times := range map[string]int{"Prometheus 3": maxScrapes + 1, "curl": maxScrapes + 1, "protobuf as it is": maxScrapes + 1} {
		s := scrapers[who]
		for range times {
			ctx, cancel := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", s.accept)
			r.Header.Set("Accept-Encoding", s.encoding)
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode == http.StatusOK {
				_, _ = resp.Body.Read(make([]byte, 1))
			}
			cancel()
			_ = resp.Body.Close()
		}
	}
	server.Close() // waits for aborted scrapes
	header, page := fetch(t, h, "*/*", "gzip")
	if n := len(samplesOf(t, header.Get("Content-Type"), page)); n != 306 {
		t.Errorf("next scrape: %d series", n)
	}
}

// Scrapes within a second share the registry's metrics.
func TestOwnMetricsAreCollectedOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		collections := 0.0
		registry := prometheus.NewRegistry()
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "avax_own", Help: "How often it was collected."}, func() float64 {
			collections++
			return collections
		}))
		h := siteOf(storeOf(1), registry).Handler()
		own := func() float64 {
			header, page := fetch(t, h, "*/*", "gzip")
			return samplesOf(t, header.Get("Content-Type"), page)[`{__name__="avax_own"}`]
		}
		if a, b := own(), own(); a != 1 || b != 1 {
			t.Errorf("collected %v and %v times", a, b)
		}
		time.Sleep(sharedFor)
		if got := own(); got != 2 {
			t.Errorf("after a second: %v", got)
		}
	})
}
