package alerting

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// inbox records the requests to each Alertmanager, and passes them on.
type inbox struct {
	http.RoundTripper
	refuses func(host string) bool

	mu       sync.Mutex
	requests map[string][]string // by host: the names of the alerts in order, of those that end with a minus
	at       map[string][]time.Time
}

func (i *inbox) RoundTrip(r *http.Request) (*http.Response, error) {
	var batch []post
	body, err := r.GetBody()
	if err == nil {
		err = json.NewDecoder(body).Decode(&batch)
	}
	if err != nil {
		return nil, err
	}
	if i.refuses != nil && i.refuses(r.URL.Host) {
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Status: "503", Body: http.NoBody, Request: r}, nil
	}
	var names []string
	for _, a := range batch {
		name := a.Labels["alertname"]
		if !a.EndsAt.After(time.Now()) {
			name += "-"
		}
		names = append(names, name)
	}
	i.mu.Lock()
	i.requests[r.URL.Host] = append(i.requests[r.URL.Host], strings.Join(names, " "))
	i.at[r.URL.Host] = append(i.at[r.URL.Host], time.Now())
	i.mu.Unlock()
	return i.RoundTripper.RoundTrip(r)
}

// sent returns the requests since the last call.
func (i *inbox) sent(host string) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	sent := i.requests[host]
	delete(i.requests, host)
	return sent
}

func newInbox(w *world) *inbox {
	return &inbox{RoundTripper: w, requests: map[string][]string{}, at: map[string][]time.Time{}}
}

const causeAndEffect = `
groups:
  - name: first
    rules:
      - {alert: Effect, expr: effect == 1}
  - name: second
    rules:
      - {alert: Cause, expr: cause == 1}
      - {alert: Watchdog, expr: vector(1)}
`

// causes inhibit effects.
func causes(alerts []map[string]string) []int {
	by := make([]int, len(alerts))
	for i := range alerts {
		by[i] = -1
		if alerts[i]["alertname"] == "Effect" {
			by[i] = slices.IndexFunc(alerts, func(a map[string]string) bool { return a["alertname"] == "Cause" })
		}
	}
	return by
}

// An Alertmanager that was restarted knows nothing. It does not wait before it notifies of an alert that began long ago: whatever it gets first must
// come with its cause.
func TestEachRequestHasAllFiringAlertsAndCausesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, causeAndEffect)
		in := newInbox(w)
		w.show("cause 1", "effect 0")
		_, stop := w.start(func(o *Options) { o.Transport, o.Inhibitors = in, causes })
		defer stop()
		time.Sleep(3 * time.Minute)
		w.show("cause 1", "effect 1")
		time.Sleep(time.Minute)
		in.sent("pager:9093")
		time.Sleep(10 * time.Minute)
		sent := in.sent("pager:9093")
		if len(sent) != 20 {
			t.Errorf("%d requests in ten minutes: %q", len(sent), sent)
		}
		for i, names := range sent {
			if names != []string{"Cause Watchdog", "Cause Watchdog Effect"}[i%2] {
				t.Errorf("sent %q", names)
			}
		}
		w.show("cause 0", "effect 0")
		time.Sleep(30 * time.Second)
		if sent := strings.Join(in.sent("pager:9093"), " "); !strings.Contains(sent, "Effect-") || !strings.Contains(sent, "Cause-") {
			t.Errorf("sent %q", sent)
		}
	})
}

func TestAlertsAreSentAtOnceWhenAnAlertmanagerIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, causeAndEffect)
		in := newInbox(w)
		var back, refused time.Time
		in.refuses = func(string) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			if back.IsZero() {
				refused = time.Now()
			}
			return back.IsZero()
		}
		w.show("cause 1", "effect 1")
		_, stop := w.start(func(o *Options) { o.Transport, o.Inhibitors = in, causes })
		defer stop()
		time.Sleep(20 * time.Minute)
		for back.IsZero() { // between the request with the causes and that with all, it could only get all
			time.Sleep(gather)
			w.set(func() {
				if time.Since(refused) > causesFirst {
					back = time.Now()
				}
			})
		}
		time.Sleep(time.Minute)
		if late := in.at["pager:9093"][0].Sub(back); late > 2*retryEvery {
			t.Errorf("sent %v after the Alertmanager was back", late)
		}
		if sent := in.sent("pager:9093"); sent[0] != "Cause Watchdog" || sent[1] != "Cause Watchdog Effect" || len(sent) > 4 {
			t.Errorf("sent %q", sent)
		}
	})
}

// Two exporters may disagree. If one said "resolved" again and again, and the other that the alert fires, Alertmanager would notify of both in turn.
func TestResolvedIsSentToEachAlertmanagerUntilItIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, causeAndEffect)
		in, back := newInbox(w), time.Now().Add(10*time.Minute)
		in.refuses = func(host string) bool {
			return host == "second:9093" && time.Now().After(back.Add(-5*time.Minute)) && time.Now().Before(back)
		}
		w.show("cause 1", "effect 0")
		_, stop := w.start(func(o *Options) {
			o.Transport, o.Alertmanagers = in, []string{"http://first:9093", "http://second:9093"}
		})
		defer stop()
		time.Sleep(6 * time.Minute)
		w.show("cause 0", "effect 0")
		time.Sleep(14 * time.Minute)
		for _, host := range []string{"first:9093", "second:9093"} {
			if sent := strings.Join(in.sent(host), " "); strings.Count(sent, "Cause-") != 1 {
				t.Errorf("sent to %s: %q", host, sent)
			}
		}
		w.show("cause 1", "effect 0")
		time.Sleep(time.Minute)
		w.show("cause 0", "effect 0")
		time.Sleep(14 * time.Minute)
		if sent := strings.Join(in.sent("first:9093"), " "); strings.Count(sent, "Cause-") != 1 {
			t.Errorf("sent when it ended again: %q", sent)
		}
	})
}

// The end of an alert that kept firing is earlier than the message about it. An Alertmanager that is away then gets the message when it is back.
func TestEndOfAnAlertThatKeptFiringIsSentLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, strings.Replace(causeAndEffect, "expr: cause == 1}", "expr: cause == 1, keep_firing_for: 10m}", 1))
		in, over := newInbox(w), time.Now().Add(3*time.Minute)
		in.refuses = func(string) bool {
			return time.Now().After(over.Add(9*time.Minute)) && time.Now().Before(over.Add(20*time.Minute))
		}
		w.show("cause 1", "effect 0")
		_, stop := w.start(func(o *Options) { o.Transport = in })
		defer stop()
		time.Sleep(time.Until(over))
		w.show("cause 0", "effect 0")
		time.Sleep(40 * time.Minute)
		if sent := strings.Join(in.sent("pager:9093"), " "); strings.Count(sent, "Cause-") != 1 {
			t.Errorf("sent %q", sent)
		}
	})
}
