// Package web serves the metrics, the status pages and the health endpoints. Only GET /safe-to-stop, /safe-to-remove and /waves call
// nodes, before they answer yes.
//
// A page is drawn from a view. It combines the status of what is monitored, the active alerts, and the history. Package status has the facts and the
// verdicts, and names the families; this package translates them to HTTP and HTML. Requests within a second share a page.
package web

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/explain"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Site holds the inputs of the handlers.
type Site struct {
	status.Pool
	Store *metric.Store
	// Registry holds the exporter's own metrics.
	Registry prometheus.Gatherer
	// Source provides alerts and samples: alerting in this process, or a Prometheus. Nil if there is neither.
	Source alerting.Source
	// Inhibition returns the inhibit rules in force, and why these may be outdated.
	Inhibition func() (notify.Inhibition, error)
	// Reloads describes the last reloads of parts of the configuration; nil: none.
	Reloads func() []string
	// Gap returns the last time in which this process did not evaluate the rules, and why; nil if it evaluates none. The cause may be empty.
	Gap func() (from, to time.Time, cause string)
	// Receivers returns the Alertmanagers that this process notifies; nil if there are none.
	Receivers func() []alerting.Receiver
	// Silences holds the silences for notifications of this process; nil without notifications.
	Silences Silences
	// Access decides who may send queries and change silences.
	Access Access
	// Reload serves /-/reload, and Notifier serves Alertmanager's API.
	Reload, Notifier http.HandlerFunc
	// Notified returns the last notifications; nil if this process sends none.
	Notified func() []notify.Sent
	// Inbox is the receiver of the demo; nil outside the demo.
	Inbox *Inbox
	// Ask calls the nodes and their chains now, and returns what they say before ctx ends.
	Ask func(ctx context.Context, ids []string) []nodes.Presence
	// Asked makes collectors of a node, or of the network (""), run again soon, because a client asks about it. Nil: they run as scheduled.
	Asked func(node string, collectors ...string)
	// DefaultNode is true if no node is configured: the only node is the default address.
	DefaultNode bool
	// Empty reports whether neither a node nor an observer is configured now: the list of nodes may be empty for a time. Nil: never.
	Empty func() bool
	// ObserverBudget is the maximum number of calls to one observer within any minute.
	ObserverBudget int
	Version        string
	Log            *slog.Logger

	began          time.Time // when the site was created
	wasReady       atomic.Bool
	readyAskedAt   atomic.Pointer[time.Time] // time of the first request of /-/ready
	silenceChanges atomic.Int64
	answers        *answers
	restarts       status.Restarts
	asked          *shared[asked]
	waves          *shared[wavesAnswer]
	ofNodes, ofAll *shared[*status.Status]
	limits         limits
	alertsAPI      http.HandlerFunc
	// Requests share pages, each kind of page among themselves: those with a fixed address, those of nodes and L1s, and those with a filter.
	fixedPages, namedPages, filteredPages *shared[[]byte]
	explanations                          *shared[explain.Explanation]
}

// endpoint is a path of the site. example is how a user writes it.
type endpoint struct {
	method, path, example string
	handler               http.Handler
}

// short returns an endpoint for GET whose path and parameters must be short: they are a stranger's text.
func short(path, example string, handler http.HandlerFunc) endpoint {
	return endpoint{"GET", path, example, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := len(r.URL.Path) + len(r.URL.RawQuery); n > maxAddress {
			http.Error(w, fmt.Sprintf("path and parameters have %d characters: write at most %d", n, maxAddress), http.StatusRequestURITooLong)
			return
		}
		handler(w, r)
	})}
}

// maxAddress is the maximum length of path and parameters of a page.
const maxAddress = 2000

// start creates what requests share, and the limits of requests.
func (s *Site) start() {
	if s.began.IsZero() {
		s.began = time.Now()
		s.Pool.Restarts = &s.restarts
	}
	s.limits = newLimits()
	s.fixedPages, s.namedPages = newShared[[]byte](s.limits.fixed, kept), newShared[[]byte](s.limits.named, kept)
	s.filteredPages, s.explanations = newShared[[]byte](s.limits.filtered, kept), newShared[explain.Explanation](s.limits.explain, kept)
	s.waves = newShared[wavesAnswer](s.limits.waves, kept)
	// These have one call at a time: their requests have the same key.
	s.answers = &answers{groups: newShared[[]alerting.Group](work{}, 0)}
	s.ofNodes, s.ofAll = newShared[*status.Status](work{}, kept), newShared[*status.Status](work{}, kept)
	s.asked = newShared[asked](newWork(1), 0)
	s.asked.every = askedEvery
}

func (s *Site) endpoints() []endpoint {
	s.start()
	page := short // a page waits for its place where it is shared, so there is no limit here
	answer := func(path, example string, handler http.HandlerFunc) endpoint {
		return short(path, example, s.limits.answers.limit(handler))
	}
	asking := func(path, example string, handler http.HandlerFunc) endpoint { // a yes calls nodes
		return short(path, example, s.limits.verdicts.limitEach(handler))
	}
	changing := func(handler http.HandlerFunc) http.Handler { return s.Access.Only(s.limits.changes.limit(handler)) }
	reload, notifier := changing(s.Reload), changing(s.Notifier)
	all := []endpoint{
		page("/{$}", "/", s.status),
		page("/alerts", "", s.alerts),
		{"POST", "/alerts/{change}", "/alerts/silence", changing(s.changeSilences)},
		page("/node/{name}", "/node/NAME", s.node),
		page("/l1/{chain}", "/l1/NAME", s.l1),
		page("/runbook/{$}", "/runbook/", s.runbooks),
		answer("/runbook/{name}", "/runbook/ALERT", s.runbook),
		page("/explain", "/explain?name=ALERT&target=NODE", s.explain),
		answer("/silence-matches", "/silence-matches?of=NODE", s.silenceMatches),
		asking("/safe-to-stop", "/safe-to-stop?node=NODE", s.safe("node", safeToStop)),
		page("/is-back", "/is-back?node=NODE", s.isBack),
		asking("/waves", "/waves?node=NODE&node=NODE", s.serveWaves),
		page("/serving", "/serving?node=NODE&chain=CHAIN", s.serving),
		asking("/safe-to-remove", "/safe-to-remove?validation=ID", s.safe("validation", safeToRemove)),
		answer("/api/v1/l1/{chain}/plan", "/api/v1/l1/CHAIN/plan", s.plan),
		{"GET", "/api/v2/", "", notifier}, {"POST", "/api/v2/", "", notifier}, {"DELETE", "/api/v2/", "", notifier},
		{"GET", "/-/reload", "", reload}, {"POST", "/-/reload", "", reload},
		page("/-/healthy", "", s.healthy),
		page("/-/ready", "", s.ready),
		{"GET", "/metrics", "", s.Store.Handler(s.Registry, s.Log)},
	}
	if s.Inbox != nil {
		all = append(all, page("/demo/inbox", "", s.inbox))
	}
	return append(all, s.apiEndpoints()...)
}

// Handler returns the routes.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	all := s.endpoints()
	var examples []string
	for _, e := range all {
		mux.Handle(strings.TrimSpace(e.method+" "+e.path), e.handler)
		examples = status.AppendNew(examples, cmp.Or(e.example, e.path))
	}
	slices.Sort(examples)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such page: there are "+strings.Join(examples, ", "), http.StatusNotFound)
	})
	return strict(mux)
}

// strict sets headers that forbid, for every answer, caching, content sniffing, framing and content of other origins. It answers 404 to
// a path with percent encoding: a proxy may block /-/reload but forward /%2d/reload.
func strict(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		if r.URL.RawPath != "" {
			http.Error(w, "write the path without percent encoding", http.StatusNotFound)
			return
		}
		h.ServeHTTP(printableAnswer{w}, r)
	})
}

// printableAnswer writes plain text without control characters: people read it with curl, and a terminal would execute them.
type printableAnswer struct{ http.ResponseWriter }

func (w printableAnswer) Write(text []byte) (int, error) {
	if w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		return w.ResponseWriter.Write(text)
	}
	return words.PrintableWriter{Writer: w.ResponseWriter}.Write(text)
}

// Unwrap is for http.ResponseController.
func (w printableAnswer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// healthy answers 200 while the process serves requests. If it does not answer, restart the process.
func (s *Site) healthy(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, "healthy")
}

// maxDiscovery is how long ready waits for the chains of a node that answers, but does not tell its chains.
const maxDiscovery = 2 * time.Minute

// ready answers 200 once the chains of the nodes are known and the first run of every collector has ended, successful or not. From
// then on, a series that is absent from /metrics is absent upstream. The answer stays 200 if a chain or node is added later.
func (s *Site) ready(w http.ResponseWriter, _ *http.Request) {
	s.readyAskedAt.CompareAndSwap(nil, new(time.Now()))
	ran, of := s.Progress()
	var undiscovered []string
	if s.Undiscovered != nil && time.Since(*s.readyAskedAt.Load()) < maxDiscovery {
		undiscovered = s.Undiscovered()
	}
	if ran == of && of > 0 && len(undiscovered) == 0 {
		s.wasReady.Store(true)
	}
	switch {
	case s.wasReady.Load():
		fmt.Fprintln(w, "ready")
	case len(undiscovered) > 0:
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, "the chains of %s are not known yet\n", words.Brief(undiscovered))
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, "%d of %d first runs have ended\n", ran, of)
	}
}
