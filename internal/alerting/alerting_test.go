package alerting

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const (
	nodeUp   = `up_node{node="alpha"} 1`
	nodeDown = `up_node{node="alpha"} 0`
)

func TestAlertFiresAfterItsForAndResolves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(5*time.Minute))
		w.show(nodeUp)
		a, stop := w.start()
		defer stop()
		time.Sleep(5 * time.Minute)
		w.show(nodeDown)
		fell := time.Now()
		time.Sleep(5 * time.Minute)
		if begun, _ := w.paged("Down"); len(begun) > 0 {
			t.Fatalf("sent before its for was over: %v", begun)
		}
		if got := w.metric("avax_exporter_alerts"); !strings.Contains(got, `{state="pending"} 1`) {
			t.Errorf("while pending:\n%s", got)
		}
		time.Sleep(time.Minute)
		begun, _ := w.paged("Down")
		if len(begun) != 1 {
			t.Fatalf("notifications: %v", begun)
		}
		if late := begun[0].at.Sub(fell) - 5*time.Minute; late > 45*time.Second {
			t.Errorf("sent %s late", late)
		}
		want := map[string]string{"alertname": "Down", "node": "alpha", "severity": "page", "job": "avax-exporter", "instance": "here:9865", "cluster": "home"}
		if diff := cmp.Diff(want, begun[0].Labels); diff != "" {
			t.Errorf("labels: %s", diff)
		}
		if got, want := begun[0].Annotations["summary"], "Node alpha of home is down, 0"; got != want {
			t.Errorf("description %q, want %q", got, want)
		}
		if got, want := begun[0].Link, "http://here:9865/alerts#Down"; got != want {
			t.Errorf("link %s, want %s", got, want)
		}
		if g := a.groups(); len(g) != 1 || g[0].Rules[0].State != Firing || g[0].Rules[0].Alerts[0].Labels["node"] != "alpha" {
			t.Errorf("groups %+v", g)
		}
		w.show(nodeUp)
		healed := time.Now()
		time.Sleep(time.Minute)
		if _, ended := w.paged("Down"); len(ended) != 1 || ended[0].at.Sub(healed) > 45*time.Second {
			t.Errorf("resolved: %v", ended)
		}
	})
}

// A series is absent at the next evaluation, not five minutes after its last value.
func TestMissingSeriesIsNoticedAtTheNextEvaluation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, `groups: [{name: g, rules: [{alert: Gone, expr: absent(up_node)}]}]`)
		w.show(nodeUp)
		_, stop := w.start()
		defer stop()
		time.Sleep(5 * time.Minute)
		if begun, _ := w.paged("Gone"); len(begun) > 0 {
			t.Fatalf("notified although the series exists: %v", begun)
		}
		w.show("other 1")
		time.Sleep(45 * time.Second)
		if begun, _ := w.paged("Gone"); len(begun) != 1 {
			t.Errorf("notifications: %v", begun)
		}
	})
}

// If rules ran before the first sample, absent() would fire.
func TestRulesWaitForTheFirstCompleteScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, `groups: [{name: g, rules: [{alert: Gone, expr: absent(up_node)}]}]`)
		w.set(func() { w.unready = true })
		w.show("other 1") // the collectors have not run yet
		a, stop := w.start()
		defer stop()
		time.Sleep(100 * time.Second)
		w.show(nodeUp)
		if at := a.Loaded(); !at.IsZero() {
			t.Errorf("rules loaded at %s", at)
		}
		w.set(func() { w.unready = false })
		time.Sleep(5 * time.Minute)
		if begun, _ := w.paged("Gone"); len(begun) > 0 {
			t.Errorf("sent wrongly: %v", begun)
		}
		if !strings.Contains(w.logged(), "alert rules started") || a.Loaded().IsZero() {
			t.Errorf("log:\n%s", w.logged())
		}
	})
}

func TestRulesRunIfTheExporterNeverGetsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, `groups: [{name: g, rules: [{alert: Watchdog, expr: vector(1)}]}]`)
		w.set(func() { w.unready = true })
		_, stop := w.start()
		defer stop()
		time.Sleep(3 * time.Minute)
		if begun, _ := w.paged("Watchdog"); len(begun) != 1 {
			t.Errorf("notifications: %v", begun)
		}
	})
}

// Service managers kill a process that takes too long to stop.
func TestHungAlertmanagerDoesNotDelayShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, `groups: [{name: g, rules: [{alert: Watchdog, expr: vector(1)}]}]`)
		_, stop := w.start(func(o *Options) { o.Transport, o.ResendDelay, o.Interval = hung{}, time.Second, 5*time.Second })
		time.Sleep(61 * time.Second)
		asked := time.Now()
		stop()
		if took := time.Since(asked); took > drainFor+time.Second {
			t.Errorf("shutdown took %s", took)
		}
	})
}

type hung struct{}

func (hung) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// An alert whose expression has no labels, such as a watchdog, continues too, and so does a record that remembers: the log has no error.
func TestRestartLogsNoError(t *testing.T) {
	for _, off := range []time.Duration{20 * time.Second, 4 * time.Minute, time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, `groups: [{name: own, rules: [
					{alert: Watchdog, expr: vector(1), labels: {severity: none}},
					{record: was, expr: 'up_node or last_over_time(was[10m])'}]}]`)
				w.show(nodeUp)
				_, stop := w.start()
				time.Sleep(20 * time.Minute)
				stop()
				time.Sleep(off)
				_, stop = w.start()
				time.Sleep(2 * time.Minute)
				stop()
				w.mu.Lock()
				defer w.mu.Unlock()
				if log := w.log.String(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "alerts not continued") {
					t.Error(log)
				}
			})
		})
	}
}

// What ended while the exporter was off is resolved once, after the alerts of all rules were sent again.
func TestAlertThatEndedWhileOffIsResolvedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		hold, off time.Duration
		want      int
	}{
		"a minute off": {5 * time.Minute, time.Minute, 1}, "two hours off": {5 * time.Minute, 2 * time.Hour, 1}, "without for": {0, time.Minute, 1}, "a week off": {5 * time.Minute, 7 * 24 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, down(test.hold))
				var sent []string // changes of an alert, in order
				record := func(o *Options) {
					before := map[string]string{}
					o.Notifier = receiver(func(alerts ...model.Alert) {
						for _, a := range alerts {
							change := string(a.Labels["node"]) + " " + string(a.Status())
							if before[string(a.Labels["node"])] != change {
								sent = append(sent, change)
							}
							before[string(a.Labels["node"])] = change
							if a.Annotations["summary"] == "" || a.Labels["cluster"] != "home" {
								t.Errorf("%v", a)
							}
						}
					})
				}
				w.show(`up_node{node="alpha"} 0`, `up_node{node="bravo"} 0`)
				_, stop := w.start(record)
				time.Sleep(8 * time.Minute)
				stop()
				time.Sleep(test.off)
				sent = nil
				w.show(`up_node{node="alpha"} 1`, `up_node{node="bravo"} 0`)
				for range 2 {
					_, stop = w.start(record)
					time.Sleep(10 * time.Minute)
					stop()
				}
				slices.Sort(sent[:min(2, len(sent))]) // both are sent by the first evaluation
				want := []string{"alpha firing", "bravo firing", "alpha resolved", "bravo firing"}
				if test.want == 0 {
					want = []string{"bravo firing", "bravo firing"}
				}
				if diff := cmp.Diff(want, sent); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Saved state is valid for an hour. State from the future, written with a wrong clock, must not prevent new samples.
func TestOldAndFutureAlertStateIsIgnored(t *testing.T) {
	for name, gap := range map[string]time.Duration{"two hours later": 2 * time.Hour, "before": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, down(10*time.Minute))
				w.show(nodeDown)
				_, stop := w.start()
				time.Sleep(9 * time.Minute)
				stop()
				if gap > 0 {
					time.Sleep(gap)
				} else {
					shift(t, w.state, -gap)
				}
				_, stop = w.start()
				defer stop()
				time.Sleep(9 * time.Minute)
				if begun, _ := w.paged("Down"); len(begun) != 0 {
					t.Errorf("notifications: %v", begun)
				}
				time.Sleep(3 * time.Minute)
				if begun, _ := w.paged("Down"); len(begun) != 1 {
					t.Errorf("notifications: %v", begun)
				}
			})
		})
	}
}

func TestAlertmanagerOutageIsRecovered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, `
groups:
  - name: g
    rules:
      - {alert: Watchdog, expr: vector(1)}
      - {alert: Down, expr: up_node == 0}
      - {alert: Slow, expr: slow == 1}
`)
		w.show(nodeUp, "slow 0")
		_, stop := w.start()
		defer stop()
		time.Sleep(3 * time.Minute)
		w.set(func() { w.dead = true })
		time.Sleep(time.Minute)
		w.show(nodeDown, "slow 1")
		time.Sleep(3 * time.Minute)
		w.show(nodeDown, "slow 0") // a short alert
		time.Sleep(6 * time.Minute)
		if got := w.metric("avax_exporter_alertmanager_up"); !strings.Contains(got, `{alertmanager="pager:9093"} 0`) {
			t.Errorf("during the outage:\n%s", got)
		}
		w.set(func() { w.dead = false })
		back := time.Now()
		time.Sleep(75 * time.Second)
		if begun, _ := w.paged("Down"); len(begun) != 1 || begun[0].at.Sub(back) > 75*time.Second {
			t.Errorf("recovered at %s; notifications: %v", back, begun)
		}
		if begun, _ := w.paged("Slow"); len(begun) != 0 {
			t.Errorf("notifications: %v", begun)
		}
		if got := w.metric("avax_exporter_notifications_total"); !strings.Contains(got, `{outcome="missed"} 1`) {
			t.Errorf("after the outage:\n%s", got)
		}
		if got := w.metric("avax_exporter_alertmanager_up"); !strings.Contains(got, `{alertmanager="pager:9093"} 1`) {
			t.Errorf("after the outage:\n%s", got)
		}
		for _, line := range []string{"notifications to Alertmanager failed", "notifications to Alertmanager recovered", "alert ended without a notification", "alert=Slow"} {
			if n := strings.Count(w.logged(), line); n != 1 {
				t.Errorf("%q logged %d times:\n%s", line, n, w.logged())
			}
		}
	})
}

// An alert counts as sent if one of several Alertmanagers accepts it.
func TestOneOfTwoAlertmanagersSuffices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(0))
		w.show(nodeUp)
		a, stop := w.start(func(o *Options) {
			o.Alertmanagers = append(o.Alertmanagers, "http://dead:9093")
			o.Transport = only{w, "pager:9093"}
		})
		defer stop()
		for range 3 {
			w.show(nodeDown)
			time.Sleep(2 * time.Minute)
			w.show(nodeUp)
			time.Sleep(2 * time.Minute)
		}
		if begun, ended := w.paged("Down"); len(begun) != 3 || len(ended) != 3 {
			t.Errorf("notifications: %v, resolved: %v", begun, ended)
		}
		if got := w.metric("avax_exporter_notifications_total"); !strings.Contains(got, `{outcome="missed"} 0`) {
			t.Errorf("metrics:\n%s", got)
		}
		if r := a.Receivers(); len(r) != 2 || r[0].Name != "dead:9093" || r[0].Up || !r[1].Up {
			t.Errorf("receivers %+v", r)
		}
	})
}

// A redirect changes a POST into a GET, which any page answers with 200.
func TestRedirectingAlertmanagerCountsAsFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(0))
		w.show(`up_node{node="alpha"} 0`)
		var asked []string
		_, stop := w.start(func(o *Options) {
			o.Transport = redirecting(func(r *http.Request) { w.set(func() { asked = append(asked, r.Method+" "+r.URL.Host) }) })
		})
		defer stop()
		time.Sleep(time.Minute)
		w.set(func() {
			for _, a := range asked {
				if a != "POST pager:9093" {
					t.Errorf("requested: %s", a)
				}
			}
			if len(asked) == 0 {
				t.Error("no request")
			}
		})
		if got := w.metric("avax_exporter_alertmanager_up"); !strings.Contains(got, "} 0") {
			t.Errorf("the redirecting Alertmanager counts as up:\n%s", got)
		}
		if log := w.logged(); !strings.Contains(log, "answers 302 Found: redirects are not followed: configure the final address") ||
			strings.Contains(log, "c4n4ry") {
			t.Errorf("log:\n%s", log)
		}
	})
}

// redirecting is an Alertmanager that redirects, and the target of the redirect.
type redirecting func(*http.Request)

func (f redirecting) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	if r.URL.Host != "pager:9093" {
		return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: http.NoBody, Request: r}, nil
	}
	header := http.Header{"Location": {"http://elsewhere.example.com/?token=c4n4ry"}}
	return &http.Response{StatusCode: http.StatusFound, Status: "302 Found", Header: header, Body: http.NoBody, Request: r}, nil
}

func TestRulesRunWithoutAnAlertmanager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(time.Minute))
		w.show(nodeDown)
		a, stop := w.start(func(o *Options) { o.Alertmanagers = nil })
		defer stop()
		time.Sleep(5 * time.Minute)
		if g := a.groups(); len(g) != 1 || g[0].Rules[0].State != Firing {
			t.Errorf("groups %+v", g)
		}
		if got := w.metric("avax_exporter_alerts"); !strings.Contains(got, `{state="firing"} 1`) {
			t.Errorf("metrics:\n%s", got)
		}
		if log := w.logged(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "level=WARN") || len(w.pages) > 0 {
			t.Errorf("sent: %v; log:\n%s", w.pages, log)
		}
	})
}

// The built-in notifications get the labels that an Alertmanager gets.
func TestNotificationsHaveExternalLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(time.Minute))
		w.show(nodeDown)
		var sent []model.Alert
		_, stop := w.start(func(o *Options) {
			o.ExternalLabels = map[string]string{"cluster": "home", "node": "external"}
			o.Notifier = receiver(func(alerts ...model.Alert) {
				w.set(func() { sent = append(sent, alerts...) })
			})
		})
		defer stop()
		time.Sleep(5 * time.Minute)
		begun, _ := w.paged("Down")
		w.set(func() {
			if len(sent) == 0 || len(begun) != 1 {
				t.Fatalf("notified of %v, sent %v", sent, begun)
			}
			got := map[string]string{}
			for name, value := range sent[0].Labels {
				got[string(name)] = string(value)
			}
			if diff := cmp.Diff(begun[0].Labels, got); diff != "" || got["cluster"] != "home" || got["node"] == "external" {
				t.Errorf("labels %v; Alertmanager (-) and notification (+):\n%s", got, diff)
			}
			if sent[0].GeneratorURL != "http://here:9865/alerts#Down" || !sent[0].StartsAt.Truncate(time.Millisecond).Equal(begun[0].StartsAt) {
				t.Errorf("%+v", sent[0])
			}
		})
	})
}

func TestAlertsFireWithAnUnwritableStateDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(5*time.Minute))
		w.state = "/proc" // no file can be created there
		w.show(nodeDown)
		_, stop := w.start()
		defer stop()
		time.Sleep(10 * time.Minute)
		if begun, _ := w.paged("Down"); len(begun) != 1 {
			t.Errorf("notifications: %v", begun)
		}
		if got := w.metric("avax_exporter_alerts_remembered"); !strings.Contains(got, "avax_exporter_alerts_remembered 0") {
			t.Errorf("metrics:\n%s", got)
		}
		if n := strings.Count(w.logged(), "alert state not saved"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, w.logged())
		}
	})
}

func TestInvalidRulesFilePreventsTheStart(t *testing.T) {
	w := newWorld(t, `groups: [{name: g, rules: [{alert: A, expr: 'up =='}]}]`)
	_, err := Start(t.Context(), Options{Config: Config{RulesFile: w.rules, Alertmanagers: []string{"http://pager"}}})
	if err == nil || !strings.Contains(err.Error(), w.rules) || !strings.Contains(err.Error(), "parse error") {
		t.Errorf("error %v", err)
	}
}

func TestInvalidReloadKeepsThePreviousRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(5*time.Minute))
		w.show(nodeDown, "late 1")
		a, stop := w.start()
		defer stop()
		time.Sleep(3 * time.Minute)
		w.write("groups: [{name: nodes, rules: [{alert: Down, expr: ')'}]}]")
		if err := a.Reload(); err == nil {
			t.Error("no error")
		}
		time.Sleep(time.Minute)
		if begun, _ := w.paged("Down"); len(begun) != 0 {
			t.Errorf("notifications: %v", begun)
		}
		// A valid file: the unchanged group continues.
		w.write(down(5*time.Minute) + `
  - name: more
    rules: [{alert: Late, expr: late == 1}]
`)
		if err := a.Reload(); err != nil {
			t.Error(err)
		}
		time.Sleep(150 * time.Second)
		for _, alert := range []string{"Down", "Late"} {
			if begun, _ := w.paged(alert); len(begun) != 1 {
				t.Errorf("notifications of %s: %v", alert, begun)
			}
		}
	})
}

func TestReloadEndsEachAlertThatNoRuleContinues(t *testing.T) {
	const other = `
      - {alert: Down, expr: absent(here), labels: {severity: page}}
`
	for name, c := range map[string]struct {
		before, after string
		ended         bool
	}{
		"the group is renamed":                  {"", strings.Replace(down(time.Hour), "name: nodes", "name: others", 1), true},
		"the rule is in another group":          {"", strings.Replace(down(time.Hour), "name: nodes", "name: others", 1) + "\n  - {name: nodes, rules: [{alert: A, expr: a}]}", true},
		"the rule is removed":                   {"", "groups: [{name: nodes, rules: [{alert: A, expr: a}]}]", true},
		"one of two rules with the same name":   {other, "groups: [{name: nodes, rules: [{alert: Down, expr: absent(here), labels: {severity: page}}]}]", true},
		"the expression of the rule is another": {"", strings.Replace(down(0), "up_node == 0", "up_node < 1", 1), false},
		"another rule is added":                 {"", down(0) + other, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, down(0)+c.before)
				w.show(nodeDown, "here 1")
				a, stop := w.start()
				defer stop()
				time.Sleep(3 * time.Minute)
				if begun, _ := w.paged("Down"); len(begun) != 1 {
					t.Fatalf("notifications: %v", begun)
				}
				w.write(c.after)
				must.Do(t, a.Reload())
				time.Sleep(2 * time.Minute)
				if _, ended := w.paged("Down"); len(ended) > 0 != c.ended {
					t.Errorf("resolved: %v", ended)
				}
			})
		})
	}
}

func TestFailingRuleIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, `groups: [{name: g, rules: [{alert: Mixed, expr: 'a == on (x) group_left () b'}]}]`)
		w.show(`a{x="1"} 1`, `b{x="1",y="1"} 1`, `b{x="1",y="2"} 1`)
		a, stop := w.start()
		defer stop()
		time.Sleep(3 * time.Minute)
		if n := strings.Count(w.logged(), "rule evaluation failed"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, w.logged())
		}
		if got := a.groups()[0].Rules[0]; got.Health != "err" || !strings.Contains(got.LastError, "many-to-many") {
			t.Errorf("group %+v", got)
		}
		w.show(`a{x="1"} 1`, `b{x="1",y="1"} 1`)
		time.Sleep(time.Minute)
		if !strings.Contains(w.logged(), "rule evaluation recovered") {
			t.Errorf("log:\n%s", w.logged())
		}
	})
}

// only answers requests to one host. Requests to other hosts fail.
type only struct {
	http.RoundTripper
	host string
}

func (o only) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != o.host {
		return nil, errors.New("connection refused")
	}
	return o.RoundTripper.RoundTrip(req)
}

// shift moves the saved samples into the future by this duration.
func shift(t *testing.T, path string, by time.Duration) {
	t.Helper()
	dir := must.Get(state.Open(path))(t)
	h, now := newHistory(dir, slog.New(slog.DiscardHandler), "history", partEvery), open(t)
	if err := h.load(now, time.Now()); err != nil || now.NumSeries() == 0 {
		t.Fatalf("%d series (%v)", now.NumSeries(), err)
	}
	later := must.Get(now.moved(slog.New(slog.DiscardHandler), time.Now(), by))(t)
	h.restart()
	must.Do(t, h.save(later, minHistory), now.Close(), later.Close())
	h.close()
}

// Prometheus' scrape manager may start a scrape loop after its Stop.
func TestNoScrapeLoopRunsAfterAnEarlyStop(t *testing.T) {
	w := newWorld(t, down(5*time.Minute))
	a, stop := w.startNow()
	defer stop()
	running := goleak.IgnoreCurrent()
	for range 100 {
		e := must.Get(a.newEngine(t.Context(), a.set, a.current().store))(t)
		cfg, err := a.scrapeConfig()
		if err == nil {
			err = e.sample(cfg)
		}
		e.close()
		if err != nil {
			t.Fatal(err)
		}
	}
	stop()
	goleak.VerifyNone(t, running)
}
