package notify

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/common/model"
)

// ProbeResult is the result of a test for one integration: a page and its resolved notification.
type ProbeResult struct {
	Receiver, Integration string
	Err                   error // nil: both accepted
}

// SendTest sends a test page, and then its resolved notification, to every receiver to which the configuration routes pages.
func SendTest(ctx context.Context, o Options) ([]ProbeResult, error) {
	conf, err := load(o.Config)
	if err != nil {
		return nil, err
	}
	b, err := o.build(conf, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	test := &alert.Alert{
		Alert: model.Alert{
			Labels: model.LabelSet{"alertname": "AvaxTestNotification", "severity": "page"},
			Annotations: model.LabelSet{
				"summary":     "Test notification of avax-exporter",
				"description": "This is the result of the command avax-exporter notify test. No action is required.",
			},
			StartsAt: now, EndsAt: now.Add(time.Hour), GeneratorURL: o.URL,
		},
		UpdatedAt: now,
	}
	resolved := *test
	resolved.EndsAt = now

	var trials []ProbeResult
	for _, r := range b.routes.Match(test.Labels) {
		for _, rcv := range b.receivers {
			if rcv.Name != r.RouteOpts.Receiver {
				continue
			}
			if rcv.err != nil {
				return nil, fmt.Errorf("receiver %s: %w", rcv.Name, hide(rcv.err, rcv.Receiver))
			}
			for _, i := range rcv.integrations {
				t := ProbeResult{Receiver: rcv.Name, Integration: i.Name()}
				for _, a := range []*alert.Alert{test, &resolved} {
					if a == &resolved && !i.SendResolved() {
						continue
					}
					one, cancel := context.WithTimeout(testContext(ctx, r, rcv.Name, now), notify.MinTimeout)
					_, err := guarded(one, i, a)
					cancel() // not before guarded has the outcome
					if err != nil {
						t.Err = hide(err, rcv.Receiver)
						break
					}
				}
				trials = append(trials, t)
			}
		}
	}
	return trials, nil
}

// testContext returns the context that a dispatcher passes to an integration.
func testContext(ctx context.Context, r *dispatch.Route, receiver string, now time.Time) context.Context {
	ctx = notify.WithGroupKey(ctx, r.Key()+":test")
	ctx = notify.WithGroupLabels(ctx, model.LabelSet{"alertname": "AvaxTestNotification"})
	ctx = notify.WithReceiverName(ctx, receiver)
	ctx = notify.WithRepeatInterval(ctx, r.RouteOpts.RepeatInterval)
	ctx = notify.WithRouteID(ctx, r.ID())
	return notify.WithNow(ctx, now)
}
