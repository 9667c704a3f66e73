package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

// heartbeat returns the heartbeat of this exporter, which is sent while working returns nil.
func (a *App) heartbeat() *notify.Heartbeat {
	h := heartbeatOf(a.cfg, a.log)
	h.Healthy = a.working
	return h
}

// staleAfter is the maximum age of the latest run of any collector, and of the last evaluation of each rule group.
const staleAfter = 5 * time.Minute

// working returns an error if collectors, rules or notifications do not work.
func (a *App) working() error {
	if ran, of := a.Progress(); ran < of || of == 0 {
		return fmt.Errorf("%w: not every collector has run yet", notify.ErrStarting)
	}
	newest := time.Time{}
	for _, j := range a.store.Jobs() {
		if j.Last.At.After(newest) {
			newest = j.Last.At
		}
	}
	if ago := time.Since(newest); ago > staleAfter {
		return fmt.Errorf("no collector has run for %s", ago.Round(time.Second))
	}
	if a.alerting != nil {
		groups, err := a.alerting.Groups(context.Background())
		if err != nil {
			return err
		}
		if err := overdue(groups, a.alerting.Loaded(), time.Now()); err != nil {
			return err
		}
		for _, r := range a.alerting.Receivers() {
			if r.Notified && !r.Up {
				return fmt.Errorf("alerts not accepted by Alertmanager %s", r.Name)
			}
		}
	}
	if a.notifier != nil {
		if failing := a.notifier.Failing(); len(failing) > 0 {
			return fmt.Errorf("receivers do not accept notifications: %s", strings.Join(failing, ", "))
		}
	}
	return nil
}

// overdue returns an error if a group of rules should have been evaluated since it was loaded, or since its last evaluation.
func overdue(groups []alerting.Group, loaded, now time.Time) error {
	if loaded.IsZero() {
		return fmt.Errorf("%w: the evaluation of rules has not begun", notify.ErrStarting)
	}
	if ago := now.Sub(loaded); len(groups) == 0 && ago > staleAfter {
		return fmt.Errorf("no rules have been evaluated for %s", ago.Round(time.Second))
	}
	for _, g := range groups {
		last := g.Evaluated
		if last.IsZero() {
			last = loaded
		}
		if ago := now.Sub(last); ago > staleAfter+g.Interval.Duration() {
			return fmt.Errorf("the rules of group %s have not been evaluated for %s", g.Name, ago.Round(time.Second))
		}
	}
	return nil
}
