package app

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

// inhibition holds the inhibit rules in force.
type inhibition struct {
	mu    sync.Mutex
	rules notify.Inhibition
	err   error // of the last request to the Alertmanagers
}

// inhibition returns a function that returns the inhibit rules in force: those of the notifier, else those of the first Alertmanager
// that answers. Without an Alertmanager, and until one has answered, they are the shipped rules.
func (a *App) inhibition(ctx context.Context, alertmanagers http.RoundTripper) (func() (notify.Inhibition, error), error) {
	if a.notifier != nil {
		return func() (notify.Inhibition, error) { return a.notifier.Inhibition(), nil }, nil
	}
	rules, err := notify.ParseInhibition(alertmanager.Config)
	in := &inhibition{rules: rules}
	if err != nil || !a.cfg.Alerting.Notifies() {
		return in.latest, err
	}
	read, err := alerting.AlertmanagerConfig(a.cfg.Alerting, alertmanagers)
	if err == nil {
		go in.follow(ctx, a.cfg.Alerting.Interval, read, a.log)
	}
	return in.latest, err
}

func (in *inhibition) latest() (notify.Inhibition, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.rules, in.err
}

// follow reads the rules until ctx ends.
func (in *inhibition) follow(ctx context.Context, every time.Duration, read func(context.Context) (string, error), log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		var rules notify.Inhibition
		config, err := read(ctx)
		if err == nil {
			rules, err = notify.ParseInhibition([]byte(config))
		}
		in.mu.Lock()
		failed := in.err != nil
		in.err = err
		if err == nil {
			in.rules = rules
		}
		in.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failed:
			log.Warn("inhibit rules not read", "err", err, "effect", "the pages use the previous or the shipped rules")
		case err == nil && failed:
			log.Info("inhibit rules read again")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
