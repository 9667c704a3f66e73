package notify_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const usualWaits = `
route: {receiver: phone, group_by: [alertname], group_wait: 30s, group_interval: 5m, repeat_interval: 12h}
receivers:
  - name: phone
    webhook_configs: [{url: "http://phone.sim"}]
`

// inMemory runs a notifier in synthetic time with a webhook in memory, which refuses connections while down is true.
func inMemory(t *testing.T, config string, test func(n *notify.Notifier, phone *testworld.Receiver, down *atomic.Bool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		phone, down := testworld.Memory(t), &atomic.Bool{}
		ctx, cancel := context.WithCancel(t.Context())
		n, err := notify.Start(ctx, notify.Options{
			Config: notify.Config{Text: []byte(config), Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				if down.Load() {
					return nil, errors.New("connection refused")
				}
				return phone.Dial(ctx, network, address)
			}},
			Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		test(n, phone, down)
		cancel()
		n.Wait()
	})
}

// fire repeats an alert every minute, as the rule engine does, until it ends.
func fire(t *testing.T, n *notify.Notifier, name string, lasts time.Duration, labels ...string) {
	t.Helper()
	began := time.Now()
	go func() {
		for time.Since(began) < lasts {
			put(t, n, alertOf(name, began, time.Now().Add(4*time.Minute), labels...))
			time.Sleep(time.Minute)
		}
		put(t, n, alertOf(name, began, time.Now(), labels...))
	}()
}

// alertOf has the labels in pairs of name and value.
func alertOf(name string, began, ends time.Time, pairs ...string) model.Alert {
	labels := model.LabelSet{"alertname": model.LabelValue(name)}
	for pair := range slices.Chunk(pairs, 2) {
		labels[model.LabelName(pair[0])] = model.LabelValue(pair[1])
	}
	return model.Alert{Labels: labels, StartsAt: began, EndsAt: ends}
}

func TestNotificationIsRetriedUntilTheReceiverIsUp(t *testing.T) {
	inMemory(t, usualWaits, func(n *notify.Notifier, phone *testworld.Receiver, down *atomic.Bool) {
		down.Store(true)
		fire(t, n, "NodeDown", 30*time.Minute)
		time.Sleep(10 * time.Minute)
		if failing := n.Failing(); len(failing) != 1 {
			t.Errorf("failing: %v", failing)
		}
		down.Store(false)
		time.Sleep(2 * time.Minute)
		want(t, phone, "firing NodeDown")
		if failing := n.Failing(); len(failing) != 0 {
			t.Errorf("failing: %v", failing)
		}
		time.Sleep(25 * time.Minute)
		want(t, phone, "firing NodeDown", "resolved NodeDown")
	})
}

func TestFailureEndsWithTheAlertsThatWait(t *testing.T) {
	inMemory(t, usualWaits, func(n *notify.Notifier, phone *testworld.Receiver, down *atomic.Bool) {
		down.Store(true)
		fire(t, n, "NodeDown", 30*time.Minute)
		for range 25 { // also while Alertmanager makes no attempt for minutes
			time.Sleep(time.Minute)
			if failing := n.Failing(); len(failing) != 1 {
				t.Fatalf("failing: %v", failing)
			}
		}
		time.Sleep(20 * time.Minute)
		if failing := n.Failing(); len(failing) != 0 {
			t.Errorf("after the alert has ended: failing: %v", failing)
		}
		down.Store(false)
		time.Sleep(time.Hour)
		want(t, phone)
	})
}

// Silences that have ended do not prevent others: a rolling upgrade silences each node.
func TestRollingUpgradeSilencesEachNode(t *testing.T) {
	inMemory(t, usualWaits, func(n *notify.Notifier, _ *testworld.Receiver, _ *atomic.Bool) {
		for i := range 1500 {
			if err := n.Silence(context.Background(), notify.NodeMatchers(fmt.Sprint("node", i), fmt.Sprint("NodeID-", i)), 30*time.Minute, "me", "upgrade"); err != nil {
				t.Errorf("node %d: %v", i, err)
				break
			}
			time.Sleep(5*time.Minute + time.Second)
		}
		if active, err := n.Silences(context.Background()); err != nil || len(active) != 20 { // of five nodes
			t.Errorf("%d silences (%v)", len(active), err)
		}
	})
}

func TestDigestIsSentOnMondays(t *testing.T) {
	example := must.Get(notify.Example("webhook"))(t)
	config := strings.Replace(string(example), "url_file: /etc/avax-exporter/webhook.url", "url: http://phone.sim", 1)
	inMemory(t, config, func(n *notify.Notifier, phone *testworld.Receiver, _ *atomic.Bool) {
		digest := alertOf("AvaxWeeklyDigest", time.Now(), time.Now().Add(30*24*time.Hour))
		digest.Labels["severity"], digest.Labels["digest"] = "none", "weekly"
		put(t, n, digest)
		sunday := time.Date(2000, 1, 2, 23, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(sunday))
		if sent := phone.Alerts(); len(sent) != 0 {
			t.Errorf("until Sunday: sent %v", sent)
		}
		for weeks := 1; weeks <= 2; weeks++ {
			time.Sleep(7 * 24 * time.Hour)
			if sent := phone.Alerts(); len(sent) != weeks {
				t.Errorf("after %d Mondays: sent %v", weeks, sent)
			}
		}
	})
}

// Also in a group that has waited already, for the first node.
func TestWarningWaitsForThePageOfItsNode(t *testing.T) {
	const hook = "webhook_configs: [{url: http://phone.sim}]"
	shipped := strings.Replace(string(alertmanager.Config), "templates: [avax.tmpl]", "", 1)
	for _, receiver := range []string{"page", "warn"} {
		shipped = strings.Replace(shipped, "- name: "+receiver+"\n", "- name: "+receiver+"\n    "+hook+"\n", 1)
	}
	example := strings.Replace(string(must.Get(notify.Example("webhook"))(t)), "url_file: /etc/avax-exporter/webhook.url", "url: http://phone.sim", 1)
	example += shipped[strings.Index(shipped, "inhibit_rules:"):] // the exporter adds them
	for file, config := range map[string]string{"shipped": shipped, "example": example} {
		for later := 10 * time.Minute; later < 16*time.Minute; later += 30 * time.Second {
			t.Run(fmt.Sprint(file, " ", later), func(t *testing.T) {
				inMemory(t, config, func(n *notify.Notifier, phone *testworld.Receiver, _ *atomic.Bool) {
					began := time.Now()
					goesDown := func(node string) {
						fire(t, n, "AvaxNodeDown", time.Hour, "severity", "warn", "node", node)
						time.Sleep(3 * time.Minute)
						fire(t, n, "AvaxNodeDown", time.Hour, "severity", "page", "node", node)
					}
					goesDown("alpha")
					time.Sleep(time.Until(began.Add(later)))
					goesDown("bravo")
					time.Sleep(20 * time.Minute)
					want(t, phone, "firing AvaxNodeDown alpha", "firing AvaxNodeDown bravo")
					time.Sleep(time.Hour)
				})
			})
		}
	}
}
