package alerting

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"google.golang.org/grpc/test/bufconn"

	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// receiver is a Notifier that takes every alert, and owes nothing.
type receiver func(alerts ...model.Alert)

func (r receiver) Put(_ context.Context, alerts ...model.Alert) error { r(alerts...); return nil }
func (receiver) Begin()                                               {}
func (receiver) Owes(model.LabelSet) bool                             { return false }

// phone is a webhook in memory, to which the notifier of this process sends.
type phone struct {
	w        *world
	listener *bufconn.Listener
	got      []string // "firing Alert" or "resolved Alert", in order
	at       []time.Time
}

func newPhone(w *world) *phone {
	p := &phone{w: w, listener: bufconn.Listen(1 << 16)}
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(p.listener) }()
	w.t.Cleanup(func() { _ = server.Close() })
	return p
}

func (p *phone) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var n struct {
		Alerts []struct {
			Status              string
			Labels, Annotations map[string]string
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
		p.w.t.Errorf("notification: %v", err)
	}
	p.w.set(func() {
		for _, a := range n.Alerts {
			p.got, p.at = append(p.got, strings.TrimSpace(a.Status+" "+a.Labels["alertname"]+" "+a.Labels["node"])), append(p.at, time.Now())
			if a.Labels["cluster"] != "home" {
				p.w.t.Errorf("labels %v", a.Labels)
			}
		}
	})
}

// want compares what was sent since the last call.
func (p *phone) want(after string, want ...string) {
	p.w.t.Helper()
	synctest.Wait()
	p.w.set(func() {
		if diff := cmp.Diff(want, p.got); diff != "" {
			p.w.t.Errorf("%s: (-want +sent):\n%s", after, diff)
		}
		p.got, p.at = nil, nil
	})
}

const routes = `
route: {receiver: phone, group_by: [%s], group_wait: 30s, group_interval: %s, repeat_interval: 12h}
receivers: [{name: phone, webhook_configs: [{url: "http://phone.sim"}]}]
inhibit_rules:
  - {source_matchers: [alertname="Cause"], target_matchers: [alertname=~"Effect.*"]}
`

// start runs alerting and the notifier that it feeds.
func (p *phone) start(config string) (stop func()) {
	p.w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	dir, err := state.Open(p.w.state)
	if err != nil {
		p.w.t.Fatal(err)
	}
	own := must.Get(notify.Start(ctx, notify.Options{
		Config: notify.Config{
			Text: []byte(config), StateDir: filepath.Join(p.w.state, "notify"),
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.listener.DialContext(ctx) },
		},
		State: dir, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(p.w, nil)), Held: true,
	}))(p.w.t)
	_, end := p.w.start(func(o *Options) { o.Notifier, o.Alertmanagers = own, nil })
	return func() {
		cancel()
		end()
		own.Wait()
	}
}

// restart stops the process, or kills it, and starts it later.
func (p *phone) restart(config string, stop func(), kill bool, off time.Duration) func() {
	p.w.t.Helper()
	if kill {
		before := p.w.state
		p.w.state = p.w.t.TempDir()
		must.Do(p.w.t, os.CopyFS(p.w.state, os.DirFS(before)))
	}
	stop()
	time.Sleep(off)
	return p.start(config)
}

// effects are groups of rules with one alert each, and that of their cause: some are evaluated before it, some after.
func effects() string {
	rules := "groups:\n"
	for i := range 8 {
		rules += fmt.Sprintf("  - {name: effect%d, rules: [{alert: Effect%d, expr: up_node == 0 or up_node == 3}]}\n", i, i)
	}
	return rules + `
  - {name: cause, rules: [{alert: Cause, expr: up_node == 0}]}
  - {name: digest, interval: 1h, rules: [{alert: Digest, expr: up_node == 7}]}
  - {name: other, rules: [{alert: Other, expr: up_node == 2}]}
`
}

// After a restart, an alert that its cause suppresses is not sent because it arrives before its cause.
func TestSuppressedAlertsAreNotSentByARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, effects())
		p, config := newPhone(w), fmt.Sprintf(routes, "alertname", "65s")
		w.show(nodeDown)
		stop := p.start(config)
		defer func() { stop() }()
		time.Sleep(5 * time.Minute)
		p.want("at first", "firing Cause alpha")
		for i, off := range []time.Duration{0, time.Second, time.Minute, 20 * time.Minute} {
			stop = p.restart(config, stop, i%2 == 0, off)
			time.Sleep(5 * time.Minute)
			p.want(fmt.Sprintf("after %s off", off))
		}
		stop()
		w.show(nodeDown, `up_node{node="bravo"} 2`)
		stop = p.start(config)
		time.Sleep(61 * time.Second) // an interval until the evaluation, group_wait, and an interval more because alerts continue
		p.want("an alert that is new", "firing Other bravo")
	})
}

// What ended before a stop, and was not yet sent as resolved, is sent as resolved once.
func TestAlertThatEndedShortlyBeforeAStopIsResolvedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		kill bool
		off  time.Duration
	}{
		"stopped": {false, time.Second}, "killed": {true, 0}, "off for 40 minutes": {false, 40 * time.Minute}, "off for five hours": {false, 5 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, down(time.Minute))
				p, config := newPhone(w), fmt.Sprintf(routes, "alertname", "30m")
				bravo := `up_node{node="bravo"} 0`
				w.show(nodeDown, bravo)
				stop := p.start(config)
				defer func() { stop() }()
				time.Sleep(5 * time.Minute)
				p.want("at first", "firing Down alpha", "firing Down bravo")
				w.show(nodeUp, bravo)
				time.Sleep(2 * time.Minute)
				p.want("before the stop")
				stop = p.restart(config, stop, test.kill, test.off)
				time.Sleep(time.Minute)
				p.want("after the start", "resolved Down alpha", "firing Down bravo")
				w.show(nodeUp, bravo, `up_node{node="carol"} 0`)
				time.Sleep(40 * time.Minute)
				p.want("a notification that follows", "firing Down bravo", "firing Down carol")
				stop = p.restart(config, stop, test.kill, test.off)
				time.Sleep(40 * time.Minute)
				p.want("after the next start")
			})
		})
	}
}

// An alert whose rule was removed or renamed while the exporter was off is resolved at the start.
func TestAlertWithoutItsRuleIsResolvedAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(time.Minute))
		p, config := newPhone(w), fmt.Sprintf(routes, "alertname", "65s")
		w.show(nodeDown)
		stop := p.start(config)
		defer func() { stop() }()
		time.Sleep(5 * time.Minute)
		p.want("at first", "firing Down alpha")
		w.write(strings.ReplaceAll(down(time.Minute), "alert: Down", "alert: Gone"))
		stop = p.restart(config, stop, false, time.Second)
		time.Sleep(5 * time.Minute)
		p.want("after the start", "resolved Down alpha", "firing Gone alpha")
		stop = p.restart(config, stop, false, time.Second)
		time.Sleep(5 * time.Minute)
		p.want("after the next start")
	})
}

// Only alerts that continue after a restart hold notifications back.
func TestStartWithoutAlertsDelaysNoNotification(t *testing.T) {
	for name, state := range map[string]bool{"an empty state": false, "a state without alerts": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, effects())
				p, config := newPhone(w), strings.Replace(fmt.Sprintf(routes, "alertname", "65s"), "group_wait: 30s", "group_wait: 0s", 1)
				w.show(nodeUp)
				if state {
					stop := p.start(config)
					time.Sleep(5 * time.Minute)
					stop()
					time.Sleep(time.Second)
				}
				w.show(`up_node{node="alpha"} 3`)
				defer p.start(config)()
				time.Sleep(time.Minute)
				w.set(func() {
					if len(p.at) != 8 || p.at[7].Sub(p.at[0]) < time.Second { // each follows the evaluation of its group
						t.Errorf("sent %v at %v", p.got, p.at)
					}
				})
			})
		})
	}
}
