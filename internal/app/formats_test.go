package app_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
)

// Accept headers of Prometheus and curl.
const (
	acceptOpenMetrics = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
	acceptCurl        = "*/*"
)

// fetch requests /metrics like a scraper, after the runs that are due now.
func fetch(t *testing.T, w *apptest.World, accept, encoding string) (contentType string, body []byte) {
	t.Helper()
	synctest.Wait()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	r.Header.Set("Accept-Encoding", encoding)
	answer := w.Ask(t, r)
	if answer.Code != http.StatusOK {
		t.Fatalf("/metrics: status %d", answer.Code)
	}
	body = answer.Body.Bytes()
	if answer.Header().Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body, err = io.ReadAll(unzipped); err != nil {
			t.Fatal(err)
		}
	} else if encoding == "gzip" {
		t.Error("not compressed")
	}
	return answer.Header().Get("Content-Type"), body
}

// parse parses a page with Prometheus' parser, and returns the series of the collectors with their values.
func parse(t *testing.T, contentType string, page []byte) map[string]float64 {
	t.Helper()
	parser, err := textparse.New(page, contentType, labels.NewSymbolTable(), textparse.ParserOptions{FallbackContentType: "text/plain"})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%s: %v", contentType, err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		_, _, value := parser.Series()
		var series labels.Labels
		parser.Labels(&series)
		name := series.Get("__name__")
		if !strings.HasPrefix(name, "avax_") || strings.HasPrefix(name, "avax_exporter_") {
			continue
		}
		if _, twice := found[series.String()]; twice {
			t.Errorf("duplicate %s", series)
		}
		found[series.String()] = value
	}
}

func TestMetricsPassTheLinters(t *testing.T) {
	var text, openMetrics []byte
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Start(t)
		time.Sleep(time.Minute)
		var contentType string
		_, text = fetch(t, w, acceptCurl, "identity")
		contentType, openMetrics = fetch(t, w, acceptOpenMetrics, "gzip")
		if got := parse(t, contentType, openMetrics); len(got) < 100 {
			t.Errorf("%d series", len(got))
		}
	})

	// There is no linter for OpenMetrics. Prometheus' strict parser has parsed it, and its families are equal.
	if diff := cmp.Diff(typeLines(string(text)), typeLines(string(openMetrics))); diff != "" {
		t.Errorf("text (-) and OpenMetrics (+) differ:\n%s", diff)
	}
	if !bytes.HasSuffix(openMetrics, []byte("\n# EOF\n")) {
		t.Error("OpenMetrics page without EOF")
	}
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// typeLines returns the TYPE lines. In OpenMetrics a counter's _total is only in its samples.
func typeLines(page string) []string {
	var found []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "# TYPE ") {
			found = append(found, strings.ReplaceAll(line, "_total counter", " counter"))
		}
	}
	return found
}
