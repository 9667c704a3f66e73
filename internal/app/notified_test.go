package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc/test/bufconn"

	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

// phones are webhooks in memory, by the host of their address.
type phones struct {
	*bufconn.Listener
	server *http.Server

	mu   sync.Mutex
	sent map[string][]string // received notifications: time, receiver, group, status and labels of an alert
}

const (
	insidePhone, outsidePhone = "inside.sim", "outside.sim"
	externalHost              = "alertmanager.sim"
)

func newPhones() *phones {
	p := &phones{Listener: bufconn.Listen(1 << 16), sent: map[string][]string{}}
	p.server = &http.Server{Handler: p}
	go func() { _ = p.server.Serve(p) }()
	return p
}

func (p *phones) dial(ctx context.Context, _, _ string) (net.Conn, error) { return p.DialContext(ctx) }

// ServeHTTP accepts a notification.
func (p *phones) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var n struct {
		Receiver, GroupKey string
		Alerts             []struct {
			Status string
			Labels map[string]string
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&n)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range n.Alerts {
		p.sent[r.Host] = append(p.sent[r.Host], fmt.Sprint(time.Now().UTC().Format(time.DateTime), " ", n.Receiver, " ", n.GroupKey, " ", a.Status, " ", a.Labels))
	}
}

// external is an Alertmanager outside the exporter's process, connected over its API.
type external struct {
	http.RoundTripper
	api http.Handler
}

// RoundTrip implements http.RoundTripper.
func (e external) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != externalHost {
		return e.RoundTripper.RoundTrip(r)
	}
	w := httptest.NewRecorder()
	e.api.ServeHTTP(w, r)
	return w.Result(), nil
}

// both sends notifications from the exporter and from an external Alertmanager with the same configuration. The returned function
// compares them: the same alerts, at the same times.
func both(t *testing.T, ctx context.Context, c *config.Config) (compare func()) {
	t.Helper()
	p := newPhones()
	c.Notify = notify.Config{Text: shippedFile(t, insidePhone), Dial: p.dial, URL: c.Alerting.URL}
	outside, err := notify.Start(ctx, notify.Options{
		Config:     notify.Config{Text: shippedFile(t, outsidePhone), Dial: p.dial, URL: c.Alerting.URL},
		Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Transport = external{c.Transport, outside.Handler()}
	c.Alerting.Alertmanagers = append(c.Alerting.Alertmanagers, "http://"+externalHost)
	return func() {
		outside.Wait()
		_ = p.server.Close()
		for _, all := range p.sent {
			slices.Sort(all)
		}
		if diff := cmp.Diff(p.sent[outsidePhone], p.sent[insidePhone]); diff != "" || len(p.sent[insidePhone]) == 0 {
			t.Errorf("notifications of Alertmanager (-) and of the exporter (+), %d:\n%s", len(p.sent[insidePhone]), diff)
		}
	}
}

// betweenEvaluations is the group wait. It is not a multiple of the evaluation interval. With a multiple, a group would be notified at
// the instant at which an evaluation adds alerts to it, and these alerts would be in the notification or not, by chance.
const betweenEvaluations = every + every/2

// shippedFile is the shipped configuration with a webhook for each receiver, and with betweenEvaluations.
func shippedFile(t *testing.T, host string) []byte {
	t.Helper()
	file := map[string]any{}
	if err := yaml.Unmarshal(alertmanager.Config, &file); err != nil {
		t.Fatal(err)
	}
	for _, r := range file["receivers"].([]any) {
		r.(map[string]any)["webhook_configs"] = []any{map[string]any{"url": "http://" + host}}
	}
	file["route"].(map[string]any)["group_wait"] = betweenEvaluations.String()
	text, err := yaml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(text)
}
