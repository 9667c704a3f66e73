package alerting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// TestMain loads the resolver configuration before synthetic time begins, because it is cached for all tests.
func TestMain(m *testing.M) {
	name, _ := os.Hostname()
	_, _ = net.LookupHost(name)
	os.Exit(m.Run())
}

// world is the environment of alerting in a test: /metrics, an Alertmanager that tracks alerts like a real one, and a log.
type world struct {
	t     *testing.T
	rules string // path of a file
	state string // path of a directory

	mu       sync.Mutex
	page     string
	unready  bool
	dead     bool // the Alertmanager
	pages    []event
	active   map[string]time.Time // alerts of the Alertmanager, with the time until which they are active
	log      bytes.Buffer
	reporter *prometheus.Registry
}

// event is a firing or resolved notification.
type event struct {
	at       time.Time
	resolved bool
	post
	Annotations map[string]string
	Link        string
}

func newWorld(t *testing.T, rules string) *world {
	w := &world{t: t, state: t.TempDir(), rules: filepath.Join(t.TempDir(), "rules.yml"), active: map[string]time.Time{}}
	w.write(rules)
	return w
}

// write replaces the rules file.
func (w *world) write(rules string) {
	w.t.Helper()
	must.Do(w.t, os.WriteFile(w.rules, []byte(rules), 0o600))
}

// show replaces the content of /metrics, one line per sample.
func (w *world) show(lines ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.page = strings.Join(lines, "\n") + "\n"
}

func (w *world) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// ServeHTTP serves /metrics.
func (w *world) ServeHTTP(rw http.ResponseWriter, _ *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rw.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = io.WriteString(rw, w.page)
}

// RoundTrip answers as the Alertmanager.
func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return nil, errors.New("connection refused")
	}
	var batch []struct {
		post
		Annotations  map[string]string
		GeneratorURL string
	}
	if err := json.NewDecoder(req.Body).Decode(&batch); err != nil {
		w.t.Errorf("request to the Alertmanager: %v", err)
	}
	now := time.Now()
	for _, a := range batch {
		key := text(a.Labels) + a.Labels["alertname"]
		known := w.active[key].After(now)
		resolved := !a.EndsAt.After(now)
		if known == resolved { // the alert starts firing or is resolved
			w.pages = append(w.pages, event{now, resolved, a.post, a.Annotations, a.GeneratorURL})
		}
		w.active[key] = a.EndsAt
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: http.NoBody, Request: req}, nil
}

// paged returns the notifications of an alert so far.
func (w *world) paged(alert string) (begun, ended []event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.pages {
		switch {
		case e.Labels["alertname"] != alert:
		case e.resolved:
			ended = append(ended, e)
		default:
			begun = append(begun, e)
		}
	}
	return begun, ended
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// Write implements the log.
func (w *world) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(line)
}

// start runs alerting in synthetic time. The returned function stops it and waits.
func (w *world) start(change ...func(*Options)) (*Alerting, func()) {
	w.t.Helper()
	a, stop := w.startNow(change...)
	synctest.Wait() // until the scraper has resolved the name
	return a, stop
}

// startNow is start without synthetic time.
func (w *world) startNow(change ...func(*Options)) (*Alerting, func()) {
	w.t.Helper()
	// The scraper resolves the name of this host, to spread scrapes over time. A real lookup would never end in synthetic time.
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("name resolution is disabled in tests")
	}}
	ctx, cancel := context.WithCancel(context.Background())
	w.reporter = prometheus.NewRegistry()
	dir, err := state.Open(w.state)
	if err != nil {
		w.t.Logf("state: %v", err)
	}
	o := Options{
		Config: Config{
			RulesFile: w.rules, Alertmanagers: []string{"http://pager:9093"}, ExternalLabels: map[string]string{"cluster": "home"},
			Job: "avax-exporter", Instance: "here:9865", URL: "http://here:9865", Interval: 15 * time.Second,
		},
		Metrics: w, State: dir, Registerer: w.reporter, Transport: w,
		Ready: func(time.Time) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return !w.unready
		},
		Log: slog.New(slog.NewTextHandler(w, nil)),
	}
	for _, f := range change {
		f(&o)
	}
	a, err := Start(ctx, o)
	if err != nil {
		cancel()
		w.t.Fatal(err)
	}
	return a, sync.OnceFunc(func() {
		cancel()
		a.Wait()
	})
}

// metric returns one of the exporter's own families as text.
func (w *world) metric(name string) string {
	w.t.Helper()
	text := must.Get(testutil.CollectAndFormat(w.reporter, expfmt.TypeTextPlain, name))(w.t)
	return string(text)
}

// down returns an alert for a node that is down, with this `for`.
func down(after time.Duration) string {
	return fmt.Sprintf(`
groups:
  - name: nodes
    rules:
      - alert: Down
        expr: up_node == 0
        for: %s
        labels: {severity: page}
        annotations:
          summary: Node {{ $labels.node }} of {{ $externalLabels.cluster }} is down, {{ $value }}
`, after)
}
