package alerting

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/notifier"

	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/internal/secret"
)

// delivery sends the requests of Prometheus' notifier. Each request contains a batch of alerts. delivery records whether each
// Alertmanager accepts the alerts.
type delivery struct {
	metrics   *Metrics
	log       *slog.Logger
	transport http.RoundTripper // nil: the notifier's own transport
	stopping  context.Context   // when it ends, requests in progress are cancelled
	outbox    *outbox

	mu        sync.Mutex
	requests  int // in progress
	receivers map[string]Receiver
	// accepted holds the alerts that at least one Alertmanager has accepted. unsent holds the alerts that no Alertmanager has
	// accepted. The key is the labels as JSON, the value is EndsAt of the last notification.
	accepted, unsent map[string]time.Time
}

func newDelivery(o Options, m *Metrics, stopping context.Context) *delivery {
	d := &delivery{
		metrics: m, log: o.Log, transport: o.Transport, stopping: stopping,
		receivers: map[string]Receiver{}, accepted: map[string]time.Time{}, unsent: map[string]time.Time{},
	}
	d.outbox = newOutbox(o, d)
	return d
}

// sender sends alerts. It first replaces the link of each alert with a link to this exporter's page /alerts.
type sender struct {
	alertmanagers *outbox  // nil: none
	own           Notifier // nil: none
	external      labels.Labels
	url           string
}

// reach is how long an Alertmanager keeps a firing alert that is not sent again, because this process is paused or restarts. Prometheus' rule
// manager has four minutes.
const reach = 15 * time.Minute

// Send implements rules.Sender.
func (s sender) Send(alerts ...*notifier.Alert) {
	now := time.Now()
	firing := func(a *notifier.Alert) bool { return a.EndsAt.After(now) }
	for _, a := range alerts {
		a.GeneratorURL = s.url + "/alerts#" + url.PathEscape(a.Name())
	}
	if s.own != nil {
		own := make([]model.Alert, 0, len(alerts))
		for _, a := range alerts {
			one := model.Alert{
				Labels: labelSet(s.withExternal(a.Labels)), Annotations: labelSet(a.Annotations), StartsAt: a.StartsAt, GeneratorURL: a.GeneratorURL,
			}
			if !firing(a) { // a firing alert ends when this process says so: after a pause or a step of the clock, any time would be over
				one.EndsAt = a.EndsAt
			}
			own = append(own, one)
		}
		_ = s.own.Put(context.Background(), own...) // it logs the error
	}
	if s.alertmanagers != nil {
		for _, a := range alerts {
			a.Labels = s.withExternal(a.Labels)
		}
		s.alertmanagers.put(alerts...)
	}
}

// withExternal adds the external labels, as Prometheus' notifier does.
func (s sender) withExternal(l labels.Labels) labels.Labels {
	b := labels.NewBuilder(l)
	s.external.Range(func(e labels.Label) {
		if !l.Has(e.Name) {
			b.Set(e.Name, e.Value)
		}
	})
	return b.Labels()
}

func labelSet(l labels.Labels) model.LabelSet {
	set := model.LabelSet{}
	l.Range(func(e labels.Label) { set[model.LabelName(e.Name)] = model.LabelValue(e.Value) })
	return set
}

// post is an alert in the format of Alertmanager's API.
type post struct {
	Labels   map[string]string `json:"labels"`
	StartsAt time.Time         `json:"startsAt"`
	EndsAt   time.Time         `json:"endsAt"`
}

// do sends one batch for the notifier and records the result.
func (d *delivery) do(ctx context.Context, client *http.Client, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(d.stopping, cancel)()
	if d.transport != nil {
		own := *client
		own.Transport, client = d.transport, &own
	}
	batch, err := d.withoutAccepted(req)
	switch {
	case err != nil:
		d.log.Error("notification not decoded", "err", err)
	case len(batch) == 0:
		return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: http.NoBody, Request: req}, nil
	}
	d.inProgress(1)
	defer d.inProgress(-1)
	resp, err := client.Do(req.WithContext(ctx))
	err = secret.Values{}.Wrap(err)
	trouble := err
	switch {
	case err != nil:
	case resp.StatusCode/100 == 3:
		trouble = fmt.Errorf("answers %s: redirects are not followed: configure the final address", resp.Status)
	case resp.StatusCode/100 != 2:
		trouble = fmt.Errorf("answers %s", resp.Status)
	default:
		trouble = refused(resp)
	}
	d.note(req.URL.Host, batch, trouble, time.Now())
	if err == nil { // the notifier reads the body to its end
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err //nolint:bodyclose // the notifier closes it
}

// refused returns an error if an answer with a status of success is none of an Alertmanager, such as a form to log in. It leaves the body readable.
func refused(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return nil // the status was read
	}
	if err := remedy.Refusal("", body); err != nil {
		return fmt.Errorf("answers %s with %w", resp.Status, err)
	}
	return nil
}

// withoutAccepted removes the resolved alerts from a request that its Alertmanager has accepted before, and returns the others.
func (d *delivery) withoutAccepted(req *http.Request) (batch []post, err error) {
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	var all, left []json.RawMessage
	if err := json.NewDecoder(body).Decode(&all); err != nil {
		return nil, err
	}
	for _, raw := range all {
		var a post
		if err := json.Unmarshal(raw, &a); err != nil {
			return nil, err
		}
		if resolved := !a.EndsAt.After(time.Now()); !resolved || !d.outbox.accepted(req.URL.Host, keyOfAlert(a.Labels)) {
			batch, left = append(batch, a), append(left, raw)
		}
	}
	if len(left) == len(all) {
		return batch, nil
	}
	text, err := json.Marshal(left)
	if err != nil {
		return nil, err
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return batch, nil
}

func (d *delivery) inProgress(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests += n
}

// retry reports whether an Alertmanager did not accept the last request, and no request is in progress.
func (d *delivery) retry() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.receivers {
		if !r.Up {
			return d.requests == 0
		}
	}
	return false
}

// maxAnswer is the maximum number of bytes that the notifier reads of an Alertmanager's answer. The answer is not used.
const maxAnswer = 64 << 10

// note records the result of a batch for an Alertmanager.
func (d *delivery) note(name string, batch []post, err error, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.receivers[name]
	after := Receiver{Name: name, Notified: true, Up: err == nil, Since: before.Since}
	if !before.Notified || before.Up != after.Up {
		after.Since = now
	}
	if err != nil {
		after.Err = err.Error()
	}
	d.receivers[name] = after
	switch {
	case err != nil && (!before.Notified || before.Up):
		d.log.Error("notifications to Alertmanager failed", "alertmanager", name, "err", err)
	case err == nil && before.Notified && !before.Up:
		d.log.Info("notifications to Alertmanager recovered", "alertmanager", name, "after", now.Sub(before.Since).Round(time.Second).String())
	}

	outcome, up := delivered, 1.0
	if err != nil {
		outcome, up = failed, 0
	}
	d.metrics.up.WithLabelValues(name).Set(up)
	d.metrics.notifications.WithLabelValues(outcome).Add(float64(len(batch)))
	for _, a := range batch {
		d.follow(a, err == nil, now)
		if err == nil && !a.EndsAt.After(now) {
			d.outbox.accepts(name, keyOfAlert(a.Labels))
		}
	}
	outdated := func(_ string, until time.Time) bool { return now.Sub(until) > time.Hour } // such as an alert of a deleted rule
	maps.DeleteFunc(d.accepted, outdated)
	maps.DeleteFunc(d.unsent, outdated)
}

// follow updates accepted and unsent for one alert. taken is true if the Alertmanager accepted the notification. If an alert
// ended before any Alertmanager accepted it, the alert counts as missed.
func (d *delivery) follow(a post, taken bool, now time.Time) {
	key := keyOfAlert(a.Labels)
	_, accepted := d.accepted[key]
	_, unsent := d.unsent[key]
	switch resolved := !a.EndsAt.After(now); {
	case resolved && unsent:
		delete(d.unsent, key)
		d.metrics.notifications.WithLabelValues(missed).Inc()
		d.log.Warn("alert ended without a notification",
			"alert", a.Labels["alertname"], "labels", text(a.Labels), "from", a.StartsAt, "to", a.EndsAt)
	case resolved && taken:
		delete(d.accepted, key)
	case resolved:
	case taken:
		delete(d.unsent, key)
		d.accepted[key] = a.EndsAt
	case !accepted:
		d.unsent[key] = a.EndsAt
	}
}

func (d *delivery) all() []Receiver {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.SortedFunc(maps.Values(d.receivers), func(a, b Receiver) int { return strings.Compare(a.Name, b.Name) })
}

// text formats labels as Prometheus does, without the label alertname.
func text(labels map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if name != "alertname" {
			pairs = append(pairs, fmt.Sprintf("%s=%q", name, labels[name]))
		}
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}
