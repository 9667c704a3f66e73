package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"google.golang.org/grpc/test/bufconn"

	"github.com/avax-exporter/avax-exporter/internal/notify"
)

// memory is a webhook in memory that may be down.
type memory struct {
	*bufconn.Listener

	mu   sync.Mutex
	down bool
	sent []string // status and name of each alert
}

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return nil, errors.New("connection refused")
	}
	return m.DialContext(ctx)
}

func (m *memory) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var body struct {
		Alerts []struct {
			Status string
			Labels map[string]string
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range body.Alerts {
		m.sent = append(m.sent, a.Status+" "+a.Labels["alertname"])
	}
}

func (m *memory) set(down bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = down
}

func (m *memory) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.sent...)
}

const usualWaits = `
route: {receiver: phone, group_by: [alertname], group_wait: 30s, group_interval: 5m, repeat_interval: 12h}
receivers:
  - name: phone
    webhook_configs: [{url: "http://phone.sim"}]
`

// inMemory runs a notifier in synthetic time with a webhook in memory.
func inMemory(t *testing.T, config string, test func(n *notify.Notifier, phone *memory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		phone := &memory{Listener: bufconn.Listen(1 << 16)}
		server := &http.Server{Handler: phone}
		go func() { _ = server.Serve(phone) }()
		ctx, cancel := context.WithCancel(t.Context())
		n, err := notify.Start(ctx, notify.Options{
			Config:     notify.Config{Dial: phone.dial, Text: []byte(config)},
			Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		test(n, phone)
		cancel()
		n.Wait()
		_ = server.Close()
	})
}

// fire repeats an alert every minute, as the rule engine does, until it ends.
func fire(t *testing.T, n *notify.Notifier, name string, lasts time.Duration) {
	t.Helper()
	began := time.Now()
	go func() {
		for time.Since(began) < lasts {
			put(t, n, alertOf(name, began, time.Now().Add(4*time.Minute)))
			time.Sleep(time.Minute)
		}
		put(t, n, alertOf(name, began, time.Now()))
	}()
}

func alertOf(name string, began, ends time.Time) model.Alert {
	return model.Alert{Labels: model.LabelSet{"alertname": model.LabelValue(name)}, StartsAt: began, EndsAt: ends}
}

func TestNotificationIsRetriedUntilTheReceiverIsUp(t *testing.T) {
	inMemory(t, usualWaits, func(n *notify.Notifier, phone *memory) {
		phone.set(true)
		fire(t, n, "NodeDown", 30*time.Minute)
		time.Sleep(10 * time.Minute)
		if failing := n.Failing(); len(failing) != 1 {
			t.Errorf("failing: %v", failing)
		}
		phone.set(false)
		time.Sleep(2 * time.Minute)
		if sent := phone.all(); len(sent) != 1 || sent[0] != "firing NodeDown" {
			t.Errorf("two minutes after recovery: sent %v", sent)
		}
		if failing := n.Failing(); len(failing) != 0 {
			t.Errorf("failing: %v", failing)
		}
		time.Sleep(25 * time.Minute)
		if sent := phone.all(); len(sent) != 2 || sent[1] != "resolved NodeDown" {
			t.Errorf("sent %v", sent)
		}
	})
}

func TestAlertRepeatsAfterTheRepeatInterval(t *testing.T) {
	inMemory(t, usualWaits, func(n *notify.Notifier, phone *memory) {
		fire(t, n, "NodeDown", 25*time.Hour)
		time.Sleep(11 * time.Hour)
		if sent := phone.all(); len(sent) != 1 {
			t.Errorf("within 11 hours: sent %v", sent)
		}
		time.Sleep(2 * time.Hour)
		if sent := phone.all(); len(sent) != 2 || sent[1] != "firing NodeDown" {
			t.Errorf("within 13 hours: sent %v", sent)
		}
		time.Sleep(13 * time.Hour)
		if sent := phone.all(); len(sent) != 4 || sent[3] != "resolved NodeDown" {
			t.Errorf("sent %v", sent)
		}
	})
}

// A mail server that accepts connections and never answers must not delay other integrations of its receiver, or the next
// notifications of a group.
func TestHungMailServerDelaysNoOtherNotification(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	phone := newInbox(t)
	n, _ := start(t, notify.Config{Text: []byte(`
route: {receiver: phone, group_by: [node], group_wait: 1ms, group_interval: 1ms, repeat_interval: 1h}
receivers:
  - name: phone
    webhook_configs: [{url: "` + phone.url + `"}]
    email_configs: [{to: a@example.org, from: b@example.org, smarthost: "` + silent.Addr().String() + `"}]
`)})
	down := firing("NodeDown", "alpha")
	put(t, n, down)
	want(t, phone, "firing NodeDown alpha")
	down.EndsAt = time.Now()
	put(t, n, down)
	want(t, phone, "resolved NodeDown alpha") // after the ten seconds that a notification may take
	if failing := n.Failing(); !slices.Equal(failing, []string{"phone/email[0]"}) {
		t.Errorf("failing: %v", failing)
	}
}

func TestDigestIsSentOnMondays(t *testing.T) {
	example, err := notify.Example("webhook")
	if err != nil {
		t.Fatal(err)
	}
	config := strings.Replace(string(example), "url_file: /etc/avax-exporter/webhook.url", "url: http://phone.sim", 1)
	inMemory(t, config, func(n *notify.Notifier, phone *memory) {
		digest := alertOf("AvaxWeeklyDigest", time.Now(), time.Now().Add(30*24*time.Hour))
		digest.Labels["severity"], digest.Labels["digest"] = "none", "weekly"
		put(t, n, digest)
		sunday := time.Date(2000, 1, 2, 23, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(sunday))
		if sent := phone.all(); len(sent) != 0 {
			t.Errorf("until Sunday: sent %v", sent)
		}
		for weeks := 1; weeks <= 2; weeks++ {
			time.Sleep(7 * 24 * time.Hour)
			if sent := phone.all(); len(sent) != weeks {
				t.Errorf("after %d Mondays: sent %v", weeks, sent)
			}
		}
	})
}
