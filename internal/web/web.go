// Package web serves what people and scrapers see: the metrics, a status page
// and the health endpoints. No request of theirs reaches an upstream.
package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
)

// Site is what the handlers show.
type Site struct {
	Store *snapshot.Store
	// Registry holds the exporter's own metrics.
	Registry prometheus.Gatherer
	// Source answers what the pages ask of alerts and samples: the rules' evaluation in
	// this process, or a Prometheus. Nil where there is neither.
	Source alerting.Source
	// Receivers are the Alertmanagers that this process sends alerts to; nil where it
	// sends none.
	Receivers func() []alerting.Receiver
	// Silences are those of the notifications of this process; nil where it sends none.
	Silences Silences
	// Authenticated is true where every request has passed the authentication of the web
	// configuration: the pages then make and end silences.
	Authenticated bool
	// Inbox shows the notifications of the demo, and takes them; nil elsewhere.
	Inbox *Inbox
	// Away returns the names of the nodes that do not answer at present, or have not within
	// this time.
	Away func(within time.Duration) []string
	// ObserverBudget is how many calls are made to one observer within any minute.
	ObserverBudget int
	// Progress tells how many of the jobs have ended their first run.
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
	http.Error(w, "no such page: there are /, /metrics, /alerts, /api/v1/alerts, /api/v1/rules, /api/v1/query, /api/v1/query_range, /api/v1/targets, /api/v1/tables, /safe-to-stop, /api/v1/l1/CHAIN/plan, /-/healthy, /-/ready and /-/reload", http.StatusNotFound)
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
