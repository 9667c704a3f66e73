package alerting

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/internal/state"
)

// stateKey is the name of the alert state in the state directory.
const stateKey = "alerts"

const (
	forState = "ALERTS_FOR_STATE"
	// outage is the maximum age of saved alert state, as in Prometheus.
	outage = time.Hour
	// notified is the maximum age of saved alert state of which receivers are told that it is over, as long as Alertmanager's log of
	// notifications.
	notified = 120 * time.Hour
	// rewrite is the number of evaluation intervals after which unchanged state is written again. If the process is killed,
	// the time since the last write counts as downtime. The `for` of an alert then takes up to rewrite intervals longer.
	rewrite = 4
)

// activeAlert is an active alert as it is saved.
type activeAlert struct {
	Labels map[string]string `json:"labels"`
	Since  int64             `json:"since"` // start of the active time, in Unix seconds
	Seen   int64             `json:"seen"`  // last evaluation, in Unix seconds
	// Annotations are those of a firing alert: receivers were probably notified of it.
	Annotations map[string]string `json:"annotations,omitempty"`
	Firing      bool              `json:"firing,omitempty"`
}

func (a activeAlert) same(b activeAlert) bool {
	return a.Since == b.Since && a.Firing == b.Firing && maps.Equal(a.Labels, b.Labels)
}

// alertState saves the state of alerts for the next process.
type alertState struct {
	dir   *state.Dir
	every time.Duration // the evaluation interval
	saved []activeAlert // alerts that were last written or read
	fired []activeAlert // alerts that fired when the previous process ended, until ended has returned
	at    time.Time
	err   string // error of the last write
}

// load reads the alerts of the previous process.
func (s *alertState) load(now time.Time) {
	saved, _ := state.Load[[]activeAlert](s.dir, stateKey)
	for _, a := range saved {
		age := now.Sub(time.Unix(a.Seen, 0)) // below zero: a clock was wrong
		if age >= 0 && age <= outage {
			s.saved = append(s.saved, a)
		}
		if age >= 0 && age <= notified && a.Firing {
			s.fired = append(s.fired, a)
		}
	}
}

// ended returns the alerts that fired when the previous process ended and do not fire any more, once. Before that, it returns none until
// all other alerts that fired have been sent again: otherwise a receiver would take the rest of their group for resolved.
func (s *alertState) ended(groups []*rules.Group) (gone []activeAlert) {
	if len(s.fired) == 0 {
		return nil
	}
	active := map[string]*rules.Alert{}
	for _, g := range groups {
		for _, rule := range g.AlertingRules() {
			if !rule.Restored() {
				return nil
			}
			for _, a := range rule.ActiveAlerts() {
				active[a.Labels.String()] = a
			}
		}
	}
	for _, a := range s.fired {
		switch now := active[labels.FromMap(a.Labels).String()]; {
		case now == nil:
			gone = append(gone, a)
		case now.LastSentAt.IsZero():
			return nil
		}
	}
	s.fired = nil
	return gone
}

// update writes the active alerts if the alerts changed, if rewrite intervals have passed, or if last is true. It reports
// whether it wrote the alerts.
func (s *alertState) update(groups []*rules.Group, last bool) (wrote bool, err error) {
	var active []activeAlert
	waiting := map[string]bool{} // names of the rules that have not restored their alerts yet
	for _, g := range groups {
		seen := g.GetLastEvalTimestamp().Unix()
		for _, rule := range g.AlertingRules() {
			if !rule.Restored() {
				waiting[rule.Name()] = true
				continue
			}
			for _, a := range rule.ActiveAlerts() {
				one := activeAlert{Labels: a.Labels.Map(), Since: a.ActiveAt.Unix(), Seen: seen}
				if a.State == rules.StateFiring {
					one.Firing, one.Annotations = true, a.Annotations.Map()
				}
				active = append(active, one)
			}
		}
	}
	for _, a := range s.saved {
		if waiting[a.Labels[labels.AlertName]] {
			active = append(active, a)
		}
	}
	slices.SortFunc(active, func(a, b activeAlert) int {
		return slices.Compare(labels.FromMap(a.Labels).Bytes(nil), labels.FromMap(b.Labels).Bytes(nil))
	})
	now := time.Now()
	if !last && slices.EqualFunc(active, s.saved, activeAlert.same) && now.Sub(s.at) < rewrite*s.every {
		return false, nil
	}
	s.saved, s.at = active, now
	return true, s.dir.Save(stateKey, active)
}

// asOf returns the alerts after a step of the wall clock. Seen becomes now, and Since moves by the same time, so the active
// duration does not change.
func asOf(now time.Time, alerts []activeAlert) []activeAlert {
	moved := slices.Clone(alerts)
	for i, a := range moved {
		moved[i].Since, moved[i].Seen = now.Unix()-(a.Seen-a.Since), now.Unix()
	}
	return moved
}

// restore writes samples of ALERTS_FOR_STATE for the previously active alerts into the store. From these samples,
// Prometheus' rule manager restores the alerts.
func (s *Store) restore(active []activeAlert) error {
	app := s.Appender(context.Background())
	var errs []error
	for _, a := range active {
		series := labels.NewBuilder(labels.FromMap(a.Labels)).Set(model.MetricNameLabel, forState).Labels()
		_, err := app.Append(0, series, a.Seen*1000, float64(a.Since))
		errs = append(errs, err)
	}
	return errors.Join(append(errs, app.Commit())...)
}
