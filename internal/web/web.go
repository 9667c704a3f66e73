// Package web serves the metrics, the status pages and the health endpoints. No request to it causes a call to an upstream.
package web

import (
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
)

// Upstreams exports the families about requests to upstreams.
type Upstreams interface {
	WriteText(w io.Writer, format expfmt.FormatType) error
	Each() iter.Seq[*dto.MetricFamily]
}

// Site has the data of the handlers.
type Site struct {
	Store *snapshot.Store
	// Registry holds the exporter's own metrics except those of Upstreams.
	Registry  prometheus.Gatherer
	Upstreams Upstreams
	// Source is the source of alerts and samples: the rule evaluation of this process, or a Prometheus. Nil without both.
	Source alerting.Source
	// Receivers returns the Alertmanagers that this process notifies; nil without any.
	Receivers func() []alerting.Receiver
	// Silences are those of this process' notifications; nil without notifications.
	Silences Silences
	// Authenticated is true if the web configuration authenticates every request. Then the pages can change silences.
	Authenticated bool
	// Inbox is the receiver of the demo; nil elsewhere.
	Inbox *Inbox
	// Unreachable returns the names of the nodes that do not answer now, or have not answered within this time.
	Unreachable func(within time.Duration) []string
	// ObserverBudget is the maximum number of calls to one observer within any minute.
	ObserverBudget int
	// Progress returns the number of jobs that have ended their first run, and the number of jobs.
	Progress func() (ran, of int)
	Version  string
	Log      *slog.Logger

	wasReady          atomic.Bool
	silenceChanges    atomic.Int64
	page, alertsPages shared
	inboxPages        shared
	queries           turns
}

// Handler returns the routes.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.status)
	mux.HandleFunc("GET /alerts", s.alerts)
	mux.Handle("POST /alerts/{change}", http.NewCrossOriginProtection().Handler(http.HandlerFunc(s.changeSilences)))
	if s.Inbox != nil {
		mux.HandleFunc("GET /demo/inbox", s.inbox)
	}
	mux.Handle("GET /metrics", newScrapes(s))
	mux.HandleFunc("GET /-/healthy", s.healthy)
	mux.HandleFunc("GET /-/ready", s.ready)
	s.apiRoutes(mux)
	mux.HandleFunc("GET /safe-to-stop", s.safeToStop)
	mux.HandleFunc("GET /api/v1/l1/{chain}/plan", s.plan)
	mux.HandleFunc("GET /", notFound)
	return strict(mux)
}

// strict sets headers for every answer: no storing, no content sniffing, no framing, nothing from other origins.
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
	http.Error(w, "no such page: there are /, /metrics, /alerts, /api/v1/alerts, /api/v1/rules, /api/v1/query, /api/v1/query_range, /api/v1/targets, /api/v1/tables, /safe-to-stop, /api/v1/l1/CHAIN/plan, /-/healthy, /-/ready and /-/reload", http.StatusNotFound)
}

// healthy answers 200 while the process serves. Restart it otherwise.
func (s *Site) healthy(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, "healthy")
}

// ready answers 200 once every collector has ended its first run, successful or not: from then on, what is absent from /metrics
// is absent upstream. A chain or node that is found later does not change that.
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
