package notify

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/common/model"
)

// TryResult is the result of a trial of one integration, such as telegram[0].
type TryResult struct {
	Receiver, Integration string
	Err                   error // nil: all is well
}

// Try tries every integration that a route uses, as far as nobody is notified. It reads the files of the integration, renders its texts for each kind of
// alert, connects to the address that a notification would use, and asks the service what is harmless to ask. With send, it tries only the integrations
// that pages reach, and then sends each a test page, and that it is over. No error contains a secret.
func Try(ctx context.Context, c Config, send bool) ([]TryResult, error) {
	conf, err := load(c)
	if err != nil {
		return nil, err
	}
	b, err := c.build(conf, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	pages := b.routes.Match(testAlert(time.Now()).Labels)
	var results []*TryResult
	var trying sync.WaitGroup
	for _, r := range b.receivers {
		i := slices.IndexFunc(pages, func(route *dispatch.Route) bool { return route.RouteOpts.Receiver == r.Name })
		if send && i < 0 {
			continue
		}
		fields := reflect.ValueOf(r.Receiver)
		for f := range fields.NumField() {
			kind, isConfigs := strings.CutSuffix(yamlName(fields.Type().Field(f)), "_configs")
			if !isConfigs {
				continue
			}
			for k := range fields.Field(f).Len() {
				result := &TryResult{Receiver: r.Name, Integration: fmt.Sprintf("%s[%d]", kind, k)}
				results = append(results, result)
				if result.Err = hide(r.err, r.Receiver); r.err != nil {
					continue
				}
				one := rehearsed{Config: c, receiver: r, kind: kind, index: k, config: fields.Field(f).Index(k), templates: b.templates}
				trying.Go(func() {
					err := one.probe(ctx, b.routes)
					if err == nil && send {
						err = one.send(ctx, pages[i])
					}
					result.Err = hide(err, r.Receiver)
				})
			}
		}
	}
	trying.Wait()
	all := make([]TryResult, len(results))
	for i, r := range results {
		all[i] = *r
	}
	return all, nil
}

// integration returns the integration as it would notify.
func (r rehearsed) integration() notify.Integration {
	all := r.receiver.integrations
	return all[slices.IndexFunc(all, func(i notify.Integration) bool { return i.Name() == r.kind && i.Index() == r.index })]
}

// send sends a test page, and then that it is over.
func (r rehearsed) send(ctx context.Context, route *dispatch.Route) error {
	i := r.integration()
	test := testAlert(time.Now())
	resolved := *test
	resolved.EndsAt = test.StartsAt
	for _, a := range []*alert.Alert{test, &resolved} {
		if a == &resolved && !i.SendResolved() {
			continue
		}
		one, cancel := context.WithTimeout(testContext(ctx, route, r.receiver.Name, test.StartsAt), notify.MinTimeout)
		_, err := guarded(one, i, a)
		cancel() // not before guarded has the outcome
		if err != nil {
			return err
		}
	}
	return nil
}

// testAlert returns a page that asks for nothing.
func testAlert(now time.Time) *alert.Alert {
	return &alert.Alert{
		Alert: model.Alert{
			Labels: model.LabelSet{"alertname": "AvaxTestNotification", "severity": "page"},
			Annotations: model.LabelSet{
				"summary":     "Test notification of avax-exporter",
				"description": "This is the result of the command avax-exporter notify test. No action is required.",
			},
			StartsAt: now, EndsAt: now.Add(time.Hour),
		},
		UpdatedAt: now,
	}
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
