// Package web serves what people and scrapers see: the metrics, a status page
// and the health endpoints. No request of theirs reaches an upstream.
package web

import (
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
)

// Site is what the handlers show.
type Site struct {
	Store *snapshot.Store
	// Registry holds the exporter's own metrics.
	Registry prometheus.Gatherer
	// Alerting evaluates alert rules; nil where it is off.
	Alerting *alerting.Alerting
	// Progress tells how many of the jobs have ended their first run.
	Progress func() (ran, of int)
	Version  string
	Log      *slog.Logger

	wasReady atomic.Bool
}

// Handler returns the routes.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.status)
	mux.Handle("GET /metrics", s.metrics())
	mux.HandleFunc("GET /-/healthy", s.healthy)
	mux.HandleFunc("GET /-/ready", s.ready)
	s.alertRoutes(mux)
	mux.HandleFunc("GET /", notFound)
	return strict(mux)
}

// strict sets what holds for every answer: nothing is stored, guessed, framed
// or fetched from elsewhere.
func strict(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		h.ServeHTTP(w, r)
	})
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "no such page: there are /, /metrics, /-/healthy and /-/ready", http.StatusNotFound)
}

// healthy answers 200 as long as the process serves: restart it if it does not.
func (s *Site) healthy(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, "healthy")
}

// ready answers 200 once every collector has ended its first run, good or bad:
// from then on what is absent from /metrics is absent from the upstreams. A
// chain or node that is found later does not take that back.
func (s *Site) ready(w http.ResponseWriter, _ *http.Request) {
	ran, of := s.Progress()
	if ran == of && of > 0 {
		s.wasReady.Store(true)
	}
	if !s.wasReady.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, "%d of %d first runs have ended\n", ran, of)
		return
	}
	fmt.Fprintln(w, "ready")
}

// metrics serves the snapshot and the exporter's own metrics.
func (s *Site) metrics() http.Handler {
	protobuf := promhttp.HandlerFor(prometheus.Gatherers{s.Store, s.Registry}, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
		ErrorHandling: promhttp.ContinueOnError,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
		if format.FormatType() == expfmt.TypeProtoDelim {
			protobuf.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", string(format))
		w.Header().Add("Vary", "Accept")
		body, done := zip(w, r)
		defer done()
		if err := s.write(body, format); err != nil {
			s.Log.Debug("scraper went away", "err", err)
		}
	})
}

// zip returns where the body goes, packed for those who can unpack it, and what
// ends it.
func zip(w http.ResponseWriter, r *http.Request) (body io.Writer, done func()) {
	w.Header().Add("Vary", "Accept-Encoding")
	if !takesGzip(r.Header.Values("Accept-Encoding")) {
		return w, func() {}
	}
	w.Header().Set("Content-Encoding", "gzip")
	zipped := gzip.NewWriter(w)
	return zipped, func() { _ = zipped.Close() }
}

// takesGzip tells whether gzip is among the encodings that are accepted, with
// a weight other than 0.
func takesGzip(accepted []string) bool {
	for item := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
		name, parameters, _ := strings.Cut(item, ";")
		if strings.TrimSpace(name) != "gzip" {
			continue
		}
		weight, weighed := strings.CutPrefix(strings.TrimSpace(parameters), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		return !weighed || err == nil && q > 0
	}
	return false
}

// write writes one page. The snapshot's lines are the same in both text
// formats; client_golang's encoder writes the rest and the end.
func (s *Site) write(w io.Writer, format expfmt.Format) error {
	if err := s.Store.Write(w, time.Now()); err != nil {
		return err
	}
	families, err := s.Registry.Gather()
	if err != nil {
		s.Log.Warn("some of the exporter's own metrics are missing", "err", err)
	}
	enc := expfmt.NewEncoder(w, format)
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return err
		}
	}
	if end, ok := enc.(expfmt.Closer); ok {
		return end.Close()
	}
	return nil
}
