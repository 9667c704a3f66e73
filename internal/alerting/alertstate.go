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
	// rewrite is the number of evaluation intervals after which unchanged state is written again. If the process is killed,
	// the time since the last write counts as downtime. The `for` of an alert then takes up to rewrite intervals longer.
	rewrite = 4
)

// activeAlert is an active alert as it is saved.
type activeAlert struct {
	Labels map[string]string `json:"labels"`
	Since  int64             `json:"since"` // start of the active time, in Unix seconds
	Seen   int64             `json:"seen"`  // last evaluation, in Unix seconds
}

func (a activeAlert) same(b activeAlert) bool {
	return a.Since == b.Since && maps.Equal(a.Labels, b.Labels)
}

// alertState saves the state of alerts for the next process.
type alertState struct {
	dir   *state.Dir
	every time.Duration // the evaluation interval
	saved []activeAlert // alerts that were last written or read
	at    time.Time
	err   string // error of the last write
}

// load reads the alerts of the previous process.
func (s *alertState) load(now time.Time) error {
	saved, _, err := state.Load[[]activeAlert](s.dir, stateKey)
	for _, a := range saved {
		if age := now.Sub(time.Unix(a.Seen, 0)); age >= 0 && age <= outage { // otherwise a clock was wrong, or the state is too old
			s.saved = append(s.saved, a)
		}
	}
	return err
}

// update writes the active alerts if the alerts changed, if rewrite intervals have passed, or if last is true. It reports
// whether it wrote the alerts.
func (s *alertState) update(groups []*rules.Group, last bool) (wrote bool, err error) {
	var active []activeAlert
	waiting := map[string]bool{} // names of the rules that have not restored their alerts yet
	for _, g := range groups {
		seen := g.GetLastEvalTimestamp().Unix()
		for _, rule := range g.AlertingRules() {
			if rule.HoldDuration() == 0 {
				continue
			}
			if !rule.Restored() {
				waiting[rule.Name()] = true
				continue
			}
			for _, a := range rule.ActiveAlerts() {
				active = append(active, activeAlert{a.Labels.Map(), a.ActiveAt.Unix(), seen})
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
func (s *store) restore(active []activeAlert) error {
	app := s.Appender(context.Background())
	var errs []error
	for _, a := range active {
		series := labels.NewBuilder(labels.FromMap(a.Labels)).Set(model.MetricNameLabel, forState).Labels()
		_, err := app.Append(0, series, a.Seen*1000, float64(a.Since))
		errs = append(errs, err)
	}
	return errors.Join(append(errs, app.Commit())...)
}
