package notify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// configuration routes the alerts of each node to one webhook, without waiting.
func configuration(t *testing.T, url string) string {
	t.Helper()
	return testworld.File(t, `
route: {receiver: phone, group_by: [node], group_wait: 1ms, group_interval: 1ms, repeat_interval: 1h}
receivers:
  - name: phone
    webhook_configs: [{url_file: "`+testworld.File(t, url)+`"}]
`)
}

const shipped = `
route: {receiver: none}
receivers: [{name: none}]
inhibit_rules:
  - source_matchers: [alertname="NodeDown"]
    target_matchers: [alertname="ChainMissing"]
    equal: [node]
`

// start runs a notifier until stop is called.
func start(t *testing.T, c notify.Config) (n *notify.Notifier, stop func()) {
	t.Helper()
	return startAs(t, c, false)
}

func startAs(t *testing.T, c notify.Config, held bool) (n *notify.Notifier, stop func()) {
	t.Helper()
	c.InhibitRules, c.URL = []byte(shipped), "http://exporter.example"
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	var dir *state.Dir
	if c.StateDir != "" {
		var err error
		if dir, err = state.Open(c.StateDir); err != nil {
			t.Fatal(err)
		}
		dir.Log = log
	}
	ctx, cancel := context.WithCancel(context.Background())
	n, err := notify.Start(ctx, notify.Options{Config: c, State: dir, Registerer: prometheus.NewRegistry(), Log: log, Held: held})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	stop = func() { cancel(); n.Wait() }
	t.Cleanup(stop)
	return n, stop
}

func firing(name, node string) model.Alert {
	return model.Alert{
		Labels:   model.LabelSet{"alertname": model.LabelValue(name), "node": model.LabelValue(node)},
		StartsAt: time.Now(), EndsAt: time.Now().Add(time.Hour),
	}
}

func put(t *testing.T, n *notify.Notifier, alerts ...model.Alert) {
	t.Helper()
	must.Do(t, n.Put(t.Context(), alerts...))
}

// want waits until a receiver has got as many alerts, and compares status, name and node of all.
func want(t *testing.T, phone *testworld.Receiver, all ...string) {
	t.Helper()
	eventually(t, func() bool { return len(phone.Alerts()) >= len(all) })
	var got []string
	for _, a := range phone.Alerts() {
		got = append(got, strings.TrimSpace(a.Status+" "+a.Labels["alertname"]+" "+a.Labels["node"]))
	}
	if !slices.Equal(got, all) {
		t.Errorf("sent %q, want %q", got, all)
	}
}

func TestAlertIsSentWhenFiringAndResolved(t *testing.T) {
	phone := testworld.Webhook(t)
	n, _ := start(t, notify.Config{File: configuration(t, phone.URL)})
	down := firing("NodeDown", "alpha")
	put(t, n, down)
	want(t, phone, "firing NodeDown alpha")
	down.EndsAt = time.Now()
	put(t, n, down)
	want(t, phone, "firing NodeDown alpha", "resolved NodeDown alpha")
}

func TestDefaultInhibitRulesApplyWithoutOnesInTheFile(t *testing.T) {
	phone := testworld.Webhook(t)
	n, _ := start(t, notify.Config{File: configuration(t, phone.URL)})
	put(t, n, firing("NodeDown", "alpha"))
	want(t, phone, "firing NodeDown alpha")
	put(t, n, firing("ChainMissing", "alpha"), firing("ChainMissing", "bravo"))
	want(t, phone, "firing NodeDown alpha", "firing ChainMissing bravo")
}

// A notifier that is held may be reloaded and stopped.
func TestHeldNotifierSendsOnlyAfterBegin(t *testing.T) {
	phone := testworld.Webhook(t)
	c := notify.Config{File: configuration(t, phone.URL)}
	n, stop := startAs(t, c, true)
	put(t, n, firing("NodeDown", "alpha"))
	stop()
	n.Begin()
	n, _ = startAs(t, c, true)
	put(t, n, firing("ChainMissing", "bravo"))
	must.Do(t, n.Reload())
	put(t, n, firing("NodeDown", "bravo"))
	n.Begin()
	n.Begin()
	want(t, phone, "firing NodeDown bravo")
	must.Do(t, n.Reload())
	put(t, n, firing("NodeDown", "carol"))
	want(t, phone, "firing NodeDown bravo", "firing NodeDown carol")
}

func TestRestartSendsNoNotificationAgain(t *testing.T) {
	phone := testworld.Webhook(t)
	c := notify.Config{File: configuration(t, phone.URL), StateDir: t.TempDir()}
	n, stop := start(t, c)
	down := firing("NodeDown", "alpha")
	put(t, n, down)
	want(t, phone, "firing NodeDown alpha")
	eventually(t, func() bool { _, err := os.Stat(filepath.Join(c.StateDir, "nflog")); return err == nil })
	stop()
	n, _ = start(t, c)
	if sent := n.Sent(); len(sent) != 1 || sent[0].Alerts[0]["node"] != "alpha" {
		t.Errorf("the restart forgot who was notified: %v", sent)
	}
	put(t, n, down)
	put(t, n, firing("NodeDown", "bravo"))
	want(t, phone, "firing NodeDown alpha", "firing NodeDown bravo")
}

func TestDamagedStateIsSetAside(t *testing.T) {
	for name, damage := range map[string]func(file string) error{
		"cut":         func(file string) error { return os.Truncate(file, 20) },
		"other bytes": func(file string) error { return os.WriteFile(file, []byte("\xff\xff\xff\xff\xff"), 0o600) },
		"a FIFO":      func(file string) error { return errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			phone := testworld.Webhook(t)
			c := notify.Config{File: configuration(t, phone.URL), StateDir: t.TempDir()}
			n, stop := start(t, c)
			put(t, n, firing("NodeDown", "alpha"))
			want(t, phone, "firing NodeDown alpha")
			must.Do(t, n.Silence(t.Context(), notify.NodeMatchers("bravo", ""), time.Hour, "olga", "test"))
			stop()
			for _, file := range []string{"nflog", "silences", "notified"} {
				must.Do(t, damage(filepath.Join(c.StateDir, file)))
			}
			n, _ = start(t, c)
			put(t, n, firing("NodeDown", "alpha"))
			want(t, phone, "firing NodeDown alpha", "firing NodeDown alpha") // sent again, because the log is lost
			for _, file := range []string{"nflog", "silences", "notified"} {
				if _, err := os.Lstat(filepath.Join(c.StateDir, file+".damaged")); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestInvalidFileKeepsThePreviousConfiguration(t *testing.T) {
	phone := testworld.Webhook(t)
	file := configuration(t, phone.URL)
	n, _ := start(t, notify.Config{File: file})
	must.Do(t, os.WriteFile(file, []byte("route: {receiver: nobody}"), 0o600))
	if err := n.Reload(); err == nil {
		t.Error("route to an unknown receiver accepted")
	}
	put(t, n, firing("NodeDown", "alpha"))
	want(t, phone, "firing NodeDown alpha")
}

func TestRemovedReceiverIsNotFailing(t *testing.T) {
	phone := testworld.Webhook(t)
	refusing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(refusing.Close)
	file := configuration(t, refusing.URL)
	n, _ := start(t, notify.Config{File: file})
	put(t, n, firing("NodeDown", "alpha"))
	eventually(t, func() bool { return slices.Equal(n.Failing(), []string{"phone/webhook[0]"}) })
	next := configuration(t, phone.URL)
	rename(t, next, "phone", "other")
	must.Do(t, os.Rename(next, file))
	must.Do(t, n.Reload())
	want(t, phone, "firing NodeDown alpha")
	eventually(t, func() bool { return len(n.Failing()) == 0 })
}

func TestAPIServesTheActiveConfiguration(t *testing.T) {
	file := configuration(t, testworld.Webhook(t).URL)
	n, _ := start(t, notify.Config{File: file})
	ask := func() string {
		w := httptest.NewRecorder()
		n.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v2/receivers", nil))
		return w.Body.String()
	}
	if got := ask(); !strings.Contains(got, `"phone"`) {
		t.Errorf("receivers: %s", got)
	}
	rename(t, file, "phone", "other")
	must.Do(t, n.Reload())
	if got := ask(); !strings.Contains(got, `"other"`) || strings.Contains(got, `"phone"`) {
		t.Errorf("receivers after the reload: %s", got)
	}
}

// rename replaces a text in a file.
func rename(t *testing.T, file, from, to string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, bytes.ReplaceAll(text, []byte(from), []byte(to)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAPIRejectsLongMatchers(t *testing.T) {
	n, _ := start(t, notify.Config{File: configuration(t, testworld.Webhook(t).URL)})
	for length, want := range map[int]int{100: http.StatusOK, 5000: http.StatusRequestURITooLong} {
		w := httptest.NewRecorder()
		filter := url.Values{"filter": {`a=~"` + strings.Repeat("x", length) + `"`}}
		n.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v2/alerts?"+filter.Encode(), nil))
		if w.Code != want {
			t.Errorf("matcher of %d bytes: %d, want %d", length, w.Code, want)
		}
	}
}

// eventually waits for a condition that becomes true after the receiver has answered.
func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	testworld.Await(t, "eventually", func() error {
		if !condition() {
			return errors.New("not yet")
		}
		return nil
	})
}

func TestExamplesAreValidAndRoutePages(t *testing.T) {
	kinds := notify.Kinds()
	if len(kinds) < 7 {
		t.Errorf("examples: %v", kinds)
	}
	for _, kind := range kinds {
		text := must.Get(notify.Example(kind))(t)
		if err := notify.Check(notify.Config{Text: text, InhibitRules: []byte(shipped)}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := notify.Example("pigeon"); err == nil {
		t.Error("example for an unknown kind")
	}
}

func TestTryNotifiesPageReceiversWithoutLeakingSecrets(t *testing.T) {
	phone := testworld.Webhook(t)
	trials, err := notify.Try(t.Context(), notify.Config{File: configuration(t, phone.URL)}, true)
	if err != nil || len(trials) != 1 || trials[0].Err != nil {
		t.Fatalf("%v, %v", trials, err)
	}
	want(t, phone, "firing AvaxTestNotification", "resolved AvaxTestNotification")

	refusing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(refusing.Close)
	trials, err = notify.Try(t.Context(), notify.Config{File: configuration(t, refusing.URL+"/c4n4ry")}, true)
	if err != nil || len(trials) != 1 || trials[0].Err == nil || strings.Contains(trials[0].Err.Error(), "c4n4ry") {
		t.Errorf("%v, %v", trials, err)
	}
}

func TestHeartbeatStopsWhileUnhealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		beats := 0
		broken := notify.ErrStarting
		var log bytes.Buffer
		set := func(err error) { mu.Lock(); defer mu.Unlock(); broken = err }
		sent := func() int { mu.Lock(); defer mu.Unlock(); return beats }
		h := notify.Heartbeat{
			URL: "http://heartbeat.sim/c4n4ry", Healthy: func() error { mu.Lock(); defer mu.Unlock(); return broken }, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Client: &http.Client{Transport: promhttp.RoundTripperFunc(func(*http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				beats++
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
			})},
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go h.Run(ctx, prometheus.NewRegistry())
		time.Sleep(10 * time.Second)
		set(nil)
		time.Sleep(time.Second)
		synctest.Wait()
		if sent() != 1 || log.Len() > 0 {
			t.Errorf("%d heartbeats after the start, want 1; log %s", sent(), &log)
		}
		time.Sleep(140 * time.Second)
		synctest.Wait()
		if sent() != 3 {
			t.Errorf("%d heartbeats in two and a half minutes, want 3", sent())
		}
		set(errors.New("no rule has been evaluated for 5 minutes"))
		time.Sleep(10 * time.Minute)
		if sent() != 3 {
			t.Errorf("%d heartbeats while unhealthy, want none", sent()-3)
		}
		set(nil)
		time.Sleep(time.Minute)
		if sent() != 4 {
			t.Error("no heartbeat after recovery")
		}
		cancel()
	})
}

// The target of a redirect would learn the URL, which is a secret.
func TestHeartbeatFollowsNoRedirect(t *testing.T) {
	var log bytes.Buffer
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("request to the target: %v", r.Header) }))
	t.Cleanup(target.Close)
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target.URL, http.StatusFound)
		time.AfterFunc(100*time.Millisecond, cancel)
	}))
	t.Cleanup(server.Close)
	registry := prometheus.NewRegistry()
	h := notify.Heartbeat{URL: server.URL + "/c4n4ry", Healthy: func() error { return nil }, Client: &http.Client{}, Log: slog.New(slog.NewTextHandler(&log, nil))}
	h.Run(ctx, registry)
	if told := log.String(); !strings.Contains(told, "redirects are not followed") || strings.Contains(told, "c4n4ry") {
		t.Errorf("log %q", told)
	}
}

// After a crash, no acknowledged silence is lost; one that cannot be saved is told.
func TestSilenceIsOnDiskWhenAcknowledged(t *testing.T) {
	phone := testworld.Memory(t)
	c := notify.Config{File: configuration(t, phone.URL), StateDir: t.TempDir()}
	n, stop := start(t, c)
	defer stop()
	for i := range 20 {
		node := fmt.Sprintf("node%d", i)
		must.Do(t, n.Silence(t.Context(), []labels.Matchers{{notify.Matcher(labels.MatchEqual, "node", node)}}, time.Hour, "me", ""))
		if text, err := os.ReadFile(filepath.Join(c.StateDir, "silences")); err != nil || !strings.Contains(string(text), node) {
			t.Errorf("the silence of %s is not on disk: %v", node, err)
		}
	}
	for os.RemoveAll(c.StateDir) != nil { // the notifier writes there meanwhile
		runtime.Gosched()
	}
	err := n.Silence(t.Context(), notify.NodeMatchers("lost", "NodeID-lost"), time.Hour, "me", "")
	if err == nil || !strings.Contains(err.Error(), "in force, but a restart loses it") {
		t.Errorf("the directory is gone: %v", err)
	}
	if active := must.Get(n.Silences(t.Context()))(t); len(active) != 20+4 {
		t.Errorf("%d silences in force, want those of the node too", len(active))
	}
}

// A node or a label is silenced as a whole or not at all.
func TestSilencesBeforeAnErrorEnd(t *testing.T) {
	phone := testworld.Webhook(t)
	n, stop := start(t, notify.Config{File: configuration(t, phone.URL), StateDir: t.TempDir()})
	defer stop()
	sets := append(notify.NodeMatchers("alpha", "NodeID-a"), labels.Matchers{notify.Matcher(labels.MatchEqual, "node", strings.Repeat("x", 20<<10))})
	err := n.Silence(t.Context(), sets, time.Hour, "me", "")
	if active := must.Get(n.Silences(t.Context()))(t); err == nil || len(active) > 0 {
		t.Errorf("%v, %d silences in force", err, len(active))
	}
}

// When the disk is free again, the state is saved without another change.
func TestStateIsSavedSoonAfterTheDiskIsFree(t *testing.T) {
	dir := t.TempDir()
	states := must.Get(state.Open(t.TempDir()))(t)
	synctest.Test(t, func(t *testing.T) {
		parent, registry := filepath.Join(dir, "parent"), prometheus.NewRegistry()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		must.Do(t, os.Symlink(filepath.Join(dir, "later"), parent))
		n := must.Get(notify.Start(ctx, notify.Options{
			Config: notify.Config{Text: []byte("{route: {receiver: nobody}, receivers: [{name: nobody}]}"), StateDir: filepath.Join(parent, "notify")},
			State:  states, Registerer: registry, Log: slog.New(slog.DiscardHandler),
		}))(t)
		stored := func() string {
			return string(must.Get(testutil.CollectAndFormat(registry, expfmt.TypeTextPlain, "avax_exporter_notify_state_stored"))(t))
		}
		if err := n.Silence(t.Context(), []labels.Matchers{{notify.Matcher(labels.MatchEqual, "node", "alpha")}}, time.Hour, "me", ""); err == nil || !strings.Contains(stored(), "stored 0") {
			t.Errorf("without a directory: %v, metric %q", err, stored())
		}
		synctest.Wait() // all changes are tried
		must.Do(t, os.Mkdir(filepath.Join(dir, "later"), 0o700))
		time.Sleep(time.Minute)
		if !strings.HasSuffix(stored(), "_stored 1\n") {
			t.Errorf("a minute later: %q", stored())
		}
		cancel()
		n.Wait()
	})
}

// A disk that is full or read-only at the start costs no more than one that becomes so later.
func TestStateIsSavedOnceItsDirectoryCanBeMade(t *testing.T) {
	dir, registry := t.TempDir(), prometheus.NewRegistry()
	parent := filepath.Join(dir, "parent")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	must.Do(t, os.Symlink(filepath.Join(dir, "later"), parent)) // until the target exists, no directory can be made in it
	n := must.Get(notify.Start(ctx, notify.Options{
		Config: notify.Config{Text: []byte("{route: {receiver: nobody}, receivers: [{name: nobody}]}"), StateDir: filepath.Join(parent, "notify")},
		State:  must.Get(state.Open(t.TempDir()))(t), Registerer: registry, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}))(t)
	silence := func() error {
		return n.Silence(t.Context(), []labels.Matchers{{notify.Matcher(labels.MatchEqual, "node", "alpha")}}, time.Hour, "me", "")
	}
	stored := func() string {
		return string(must.Get(testutil.CollectAndFormat(registry, expfmt.TypeTextPlain, "avax_exporter_notify_state_stored"))(t))
	}
	if err, metric := silence(), stored(); err == nil || !strings.Contains(metric, "stored 0") {
		t.Errorf("without a directory: %v, metric %q", err, metric)
	}
	must.Do(t, os.Mkdir(filepath.Join(dir, "later"), 0o700))
	if err, metric := silence(), stored(); err != nil || !strings.HasSuffix(metric, "_stored 1\n") {
		t.Errorf("with a directory: %v, metric %q", err, metric)
	}
	cancel()
	n.Wait()
}
