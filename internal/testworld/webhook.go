package testworld

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/test/bufconn"
)

// Alert is one alert of a notification in the format of Alertmanager's webhook.
type Alert struct {
	Status       string // firing or resolved
	Labels       map[string]string
	Annotations  map[string]string
	StartsAt     time.Time
	EndsAt       time.Time // zero while firing
	GeneratorURL string
	Fingerprint  string

	Receiver     string // receiver of the notification
	Group        string // key of the notification's group
	Notification int    // number of the notification, from 0
	At           time.Time
}

// Receiver is a webhook that records alerts.
type Receiver struct {
	URL  string
	Dial func(ctx context.Context, network, address string) (net.Conn, error) // of Memory; nil for Webhook

	t        testing.TB
	mu       sync.Mutex
	alerts   []Alert
	taken    int           // number of notifications
	received chan struct{} // closed and replaced at each notification
}

// Webhook starts a webhook that listens until the test ends.
func Webhook(t testing.TB) *Receiver {
	t.Helper()
	receiver := &Receiver{t: t, received: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(receiver.receive))
	t.Cleanup(server.Close)
	receiver.URL = server.URL
	return receiver
}

// Memory starts a webhook in memory, for synthetic time: its client uses Dial.
func Memory(t testing.TB) *Receiver {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	receiver := &Receiver{URL: "http://receiver.sim", t: t, received: make(chan struct{})}
	receiver.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.DialContext(ctx) }
	server := &http.Server{Handler: http.HandlerFunc(receiver.receive)}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return receiver
}

func (r *Receiver) receive(w http.ResponseWriter, request *http.Request) {
	var notification struct {
		Receiver, GroupKey string
		Alerts             []Alert
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender was stopped while it sent: it has notified of nothing
	}
	if err := json.Unmarshal(body, &notification); err != nil {
		r.t.Errorf("webhook: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range notification.Alerts {
		a.Receiver, a.Group, a.Notification, a.At = notification.Receiver, notification.GroupKey, r.taken, time.Now()
		r.alerts = append(r.alerts, a)
	}
	r.taken++
	close(r.received)
	r.received = make(chan struct{})
}

// Alerts returns every alert received so far, oldest first.
func (r *Receiver) Alerts() []Alert {
	alerts, _ := r.now()
	return alerts
}

func (r *Receiver) now() ([]Alert, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.alerts), r.received
}

// Wait returns the first matching alert, already received or later. At the Deadline it fails the test with the received alerts.
func (r *Receiver) Wait(match func(Alert) bool) Alert {
	r.t.Helper()
	timedOut := TimedOut(r.t)
	for {
		alerts, received := r.now()
		if i := slices.IndexFunc(alerts, match); i >= 0 {
			return alerts[i]
		}
		select {
		case <-received:
		case <-timedOut:
			r.t.Fatalf("no such notification; received: %+v", alerts)
		}
	}
}

// Firing matches the firing alert with this name and labels, each name=value.
func Firing(name string, labels ...string) func(Alert) bool { return status("firing", name, labels) }

// Resolved matches the resolved alert with this name and labels, each name=value.
func Resolved(name string, labels ...string) func(Alert) bool {
	return status("resolved", name, labels)
}

func status(status, name string, labels []string) func(Alert) bool {
	return func(a Alert) bool {
		return a.Status == status && a.Labels["alertname"] == name && !slices.ContainsFunc(labels, func(l string) bool {
			label, value, _ := strings.Cut(l, "=")
			return a.Labels[label] != value
		})
	}
}
