package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Limits of a page. What exceeds a limit is counted, but not shown.
const (
	maxCards   = 8   // nodes with a card; more nodes are shown as a table
	maxRows    = 100 // rows of a table
	maxL1s     = 8   // L1s with their validators
	maxDetails = 20  // rows of a collector's table
	maxTables  = 20
	maxLines   = 5 // alerts of one name
)

//go:embed status.css
var statusCSS string

// repository is the location of the linked documents.
const repository = "https://github.com/avax-exporter/avax-exporter"

// policy is the Content-Security-Policy. It allows the page's style and icon, and no script.
var policy = func() string {
	style := sha256.Sum256([]byte(statusCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) +
		"'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
}()

// status serves the status page. The source provides rules and samples, the store provides the state of the collectors. Parameters:
//
//   - nodes=all: all nodes
//   - filter=TEXT: nodes whose name, state, version or labels contain the text, and validators whose name or labels contain it
//   - sort=COLUMN: nodes by this column instead of their state
//   - owner=acme: nodes and validators with this label
//   - l1=CHAIN: the validators of this L1
func (s *Site) status(w http.ResponseWriter, r *http.Request) {
	query, among := s.known(r.URL.Query()), s.fixedPages
	if len(query) > 0 {
		among = s.filteredPages
	}
	s.servePage(w, r, among, query.Encode(), func(ctx context.Context) g.Node { return s.statusPage(ctx, query, time.Now()) })
}

// pageParameters are parameters of pages that are no labels. A label may have such a name: filter=NAME=VALUE shows what has the label.
var pageParameters = []string{"filter", "l1", "nodes", "page", "past", "refresh", "sort"}

// known returns the parameters that the status page knows. Others select no other page.
func (s *Site) known(all url.Values) url.Values {
	given := map[string]bool{"nodes": true, "filter": true, "sort": true, "l1": true}
	for _, labels := range s.Labels() {
		for name := range labels {
			given[name] = true
		}
	}
	maps.DeleteFunc(all, func(name string, _ []string) bool { return !given[name] })
	return all
}

// servePage serves a page. With ?refresh=SECONDS the browser reloads it. Requests within a second share the page. The key
// tells pages of the same path apart.
func (s *Site) servePage(w http.ResponseWriter, r *http.Request, among *shared[[]byte], key string, build func(context.Context) g.Node) {
	if text := r.FormValue("refresh"); text != "" {
		every, err := strconv.Atoi(text)
		if err != nil || every < 5 || every > 3600 {
			http.Error(w, fmt.Sprintf("refresh=%s: write seconds from 5 to 3600", text), http.StatusBadRequest)
			return
		}
		w.Header().Set("Refresh", text)
	}
	page, err := among.get(r.Context(), r.URL.Path+" "+key, s.patience(), func(ctx context.Context) ([]byte, error) {
		var text bytes.Buffer
		err := build(ctx).Render(&text)
		return unbroken(text.Bytes()), err
	})
	if err != nil {
		s.pageFailed(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = writePage(w, r, page) // a browser may close the connection
}

func (s *Site) pageFailed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client has left
	}
	if errors.Is(err, errBusy) {
		writeBusy(w, r)
		return
	}
	s.Log.Error("page failed", "path", r.URL.Path, "err", err)
	http.Error(w, "cannot render the page: see the log; /metrics is not affected", http.StatusInternalServerError)
}

// view has the data of a page.
type view struct {
	*status.Status
	*status.Alerts
	site         *Site
	base         string     // path from the page to the status page
	query        url.Values // of the status page
	notAnswering []string   // names of nodes
	labels       []string   // parameters of the request that are labels, as name=value
	past         *history
	failing      []*status.Failure // of collectors, by cause
	alertsErr    error             // why there are no alerts; may be nil
	incidents    []*status.Incident

	inhibition  notify.Inhibition
	inhibitErr  error // see Site.Inhibition
	silences    []notify.Silence
	silencesErr error // why there are no silences; may be nil

	ran, jobCount int // see Site.Progress
}

// statusAt returns the status at a time.
func (s *Site) statusAt(now time.Time) *status.Status {
	st := status.Of(s.Store.Jobs(), now, s.Pool)
	s.restarts.See(st)
	return st
}

// names returns the names of nodes and validators.
func (s *Site) names() status.Names {
	return status.NamesOf(s.Store.Jobs(), s.Pool)
}

// ByScrape exports the answers of /safe-to-stop and the agreed facts.
func (s *Site) ByScrape() prometheus.Collector {
	return status.ByScrape(func() *status.Status { return s.statusOfNodes(time.Now()) })
}

func (s *Site) statusOfNodes(now time.Time) *status.Status {
	st := status.OfNodes(s.Store.Jobs(), now, s.Pool)
	s.restarts.See(st)
	return st
}

// seeEvery is how often restarts of nodes are looked for.
const seeEvery = 5 * time.Second

// FollowRestarts remembers which nodes restart, and since when something is not known yet, until ctx ends.
func (s *Site) FollowRestarts(ctx context.Context) {
	every := time.NewTicker(seeEvery)
	defer every.Stop()
	for {
		s.statusOfNodes(time.Now())
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// view reads the data of a page.
func (s *Site) view(ctx context.Context, query url.Values, base string, now time.Time) *view {
	v := &view{Status: s.statusAt(now), site: s, base: base, query: query, past: &history{ctx: ctx, source: s.source(), now: now}}
	v.ran, v.jobCount = s.Progress()
	v.notAnswering = v.NotAnswering()
	var groups []alerting.Group
	groups, v.alertsErr = s.groups(ctx)
	v.inhibition, v.inhibitErr = s.Inhibition()
	if s.Silences != nil {
		v.silences, v.silencesErr = s.Silences.Silences(ctx)
	}
	v.failing = status.Failures(v.Jobs)
	for name := range query {
		if v.IsLabel(name) && !slices.Contains(pageParameters, name) {
			v.labels = append(v.labels, name+"="+query.Get(name))
		}
	}
	v.Alerts = status.AlertsOf(groups, v.inhibition, v.notAnswering, func(labels map[string]string) bool { return v.silenced(labels) != "" })
	v.incidents = v.Status.Incidents(v.Alerts, s.expected(ctx, now))
	return v
}

// expected returns when faults began and when they page, as far as the source knows.
func (s *Site) expected(ctx context.Context, now time.Time) status.Expected {
	source := s.source()
	if source == nil {
		return nil
	}
	vector, err := alerting.Vector(source.Query(ctx, status.ExpectedQuery, now))
	if err != nil {
		return nil
	}
	return status.ExpectedOf(vector)
}

func (s *Site) statusPage(ctx context.Context, query url.Values, now time.Time) g.Node {
	v := s.view(ctx, query, "", now)
	nodes, nodeSums := v.nodes()
	title := v.headline()
	sums := append([]string{"as of " + now.UTC().Format("2006-01-02 15:04:05 UTC")}, nodeSums...)
	sums = append(sums, v.sums()...)
	problems, others := v.matchingProblems()
	if v.filtered() {
		sums = append(sums, "of the whole fleet")
	}
	return document(title,
		v.top(),
		h.Main(
			headlineSection(title, sums),
			v.silencedLine(),
			g.If(len(problems) > 0 || others > 0 || len(v.incidents) > 0, h.Section(h.Aria("label", "Problems"), v.problemList(problems),
				more(others, " about other nodes and validators: see ", link("alerts", "all alerts")))),
			cannotRead(v.past.err, "The history cannot be read."), // here only v.nodes reads it
			v.inhibitWarning(),
			nodes, v.validators(), v.delegations(), v.l1s(), v.observers(), v.availabilityTable(v.isShown),
			v.collectorSections(),
		),
		v.bottom(),
	)
}

// inhibitWarning says that the alerts on the page may differ from the notifications.
func (v *view) inhibitWarning() g.Node {
	return cannotRead(v.inhibitErr, "The inhibit rules of Alertmanager cannot be read. The page suppresses alerts by the rules read before, or by the shipped "+
		"rules.")
}

func (v *view) sums() []string {
	if errors.Is(v.alertsErr, errNoSource) {
		return []string{"alerts are not evaluated here"}
	}
	if v.alertsErr != nil {
		return []string{"alerts are unknown: " + v.alertsErr.Error()}
	}
	sums := []string{words.Plural(v.Firing, "alert fires", "alerts fire")}
	if v.Pending > 0 {
		sums = append(sums, words.Number(v.Pending)+" pending")
	}
	if v.Over > 0 {
		sums = append(sums, words.Number(v.Over)+" over")
	}
	return sums
}

// matchingProblems returns the problems with the alerts about what the request asks for, and about no single node or validator. others is the
// number of the other alerts.
func (v *view) matchingProblems() (problems []*status.Problem, others int) {
	if !v.filtered() {
		return v.Problems, 0
	}
	nodes := mapped(v.nodeRows(), func(r nodeRow) string { return r.Name })
	return v.With(func(a *status.Active) bool {
		node, nodeID, validationID := a.Labels["node"], a.Labels["node_id"], a.Labels["validation_id"]
		return node+nodeID+validationID == "" || slices.Contains(nodes, node) ||
			nodeID+validationID != "" && v.matchesValidator(nodeID, validationID, a.Labels["chain"])
	})
}
