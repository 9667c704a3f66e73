package notify

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/common/model"
)

// Send sends one notification about alerts to every receiver to which the configuration routes the first of them.
func Send(ctx context.Context, o Options, alerts ...model.Alert) error {
	conf, err := load(o.Config)
	if err != nil {
		return err
	}
	b, err := o.build(conf, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	var all []*alert.Alert
	for _, a := range alerts {
		all = append(all, &alert.Alert{Alert: a, UpdatedAt: time.Now()})
	}
	for _, r := range b.routes.Match(alerts[0].Labels) {
		for _, rcv := range b.receivers {
			if rcv.Name == r.RouteOpts.Receiver {
				for _, i := range rcv.integrations {
					_, one := guarded(testContext(ctx, r, rcv.Name, time.Now()), i, all...)
					err = errors.Join(err, one)
				}
			}
		}
	}
	return err
}

// ReadsAnswers returns the kinds of integrations of a configuration, and whether their answers are read.
func ReadsAnswers(text string) (map[string]bool, error) {
	c := Config{Text: []byte(text)}
	conf, err := load(c)
	if err != nil {
		return nil, err
	}
	b, err := c.build(conf, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	kinds := map[string]bool{}
	for _, r := range b.receivers {
		err = errors.Join(err, r.err)
		for _, i := range r.integrations {
			kinds[i.Name()] = readsAnswers(&i)
		}
	}
	return kinds, err
}
