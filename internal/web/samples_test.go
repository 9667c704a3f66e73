package web

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// testSample is a sample with its labels: name, value, name, value.
type testSample struct {
	family string
	labels []string
	value  float64
}

// putSamples stores a good run of one job.
func putSamples(t testing.TB, s *Site, key metric.Key, samples ...testSample) {
	t.Helper()
	byName := map[string]*metric.Family{}
	var declared []*metric.Family
	for _, one := range samples {
		if byName[one.family] == nil {
			var names []string
			for pair := range slices.Chunk(one.labels, 2) {
				names = append(names, pair[0])
			}
			f := metric.New(one.family, "A family.", names...)
			byName[one.family], declared = f, append(declared, f)
		}
	}
	b := metric.NewBatch(declared)
	for _, one := range samples {
		var values []string
		for pair := range slices.Chunk(one.labels, 2) {
			values = append(values, pair[1])
		}
		b.Set(byName[one.family], one.value, values...)
	}
	must.Do(t, b.Err())
	putChunks(s, key, b.Chunks())
}

// put stores a good run of one job, with samples in the text format.
func put(t testing.TB, s *Site, key metric.Key, lines string) {
	t.Helper()
	putChunks(s, key, testworld.Chunks(t, lines))
}

func putChunks(s *Site, key metric.Key, chunks []metric.Chunk) {
	s.Store.Put(metric.Run{Key: key, At: time.Now(), Took: 20 * time.Millisecond, Until: time.Now().Add(time.Minute), Chunks: chunks})
}

// siteWith returns a site with these samples.
func siteWith(t testing.TB, lines string) *Site {
	t.Helper()
	s := newSite()
	put(t, s, metric.Key{Collector: "test", Target: metric.Target{}}, lines)
	return s
}

// fail stores a failed run.
func fail(s *Site, collector string, target metric.Target, err error) {
	s.Store.Put(metric.Run{
		Key: metric.Key{Collector: collector, Target: target}, At: time.Now(), Until: time.Now().Add(time.Minute), Err: err,
	})
}

func outcome(op string, o scrape.Outcome, text string) error {
	return &scrape.Error{Op: op, Outcome: o, Err: errors.New(text)}
}

// ask requests a page of the site.
func ask(t testing.TB, s *Site, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Result()
}

func read(t testing.TB, from io.Reader) string {
	t.Helper()
	text := must.Get(io.ReadAll(from))(t)
	return strings.ReplaceAll(string(text), "\u00a0", " ") // as a person reads it
}

// answerOf requests a page of a handler that keeps its state between requests.
func answerOf(t testing.TB, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}
