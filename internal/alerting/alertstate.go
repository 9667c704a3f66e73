//go:build !noalerting

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

// stateKey is the name of alert state in the state directory.
const stateKey = "alerts"

const (
	forState = "ALERTS_FOR_STATE"
	// outage is the maximum age of saved alert state, as in Prometheus.
	outage = time.Hour
	// rewrite is the number of intervals after which unchanged state is written again. A killed process loses
	// at most that much of a `for`.
	rewrite = 4
)

// activeAlert is an alert that was active: since when, and its last evaluation.
type activeAlert struct {
	Labels map[string]string `json:"labels"`
	Since  int64             `json:"since"` // Unix seconds
	Seen   int64             `json:"seen"`
}

func (a activeAlert) same(b activeAlert) bool {
	return a.Since == b.Since && maps.Equal(a.Labels, b.Labels)
}

// alertState saves the state of alerts for the next process.
type alertState struct {
	dir   *state.Dir
	every time.Duration // the evaluation interval
	saved []activeAlert // as they were last written, or read
	at    time.Time
	err   string // of the last write
}

// load reads the alerts of the previous process.
func (s *alertState) load(now time.Time) error {
	saved, _, err := state.Load[[]activeAlert](s.dir, stateKey)
	for _, a := range saved {
		if age := now.Sub(time.Unix(a.Seen, 0)); age >= 0 && age <= outage { // else a clock was wrong, or it is too long ago
			s.saved = append(s.saved, a)
		}
	}
	return err
}

// update stores the active alerts and writes them if they changed, or if this is the last call. It reports
// whether it wrote.
func (s *alertState) update(groups []*rules.Group, last bool) (wrote bool, err error) {
	var active []activeAlert
	waiting := map[string]bool{} // alerts whose rule has not restored them yet
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

// asOf moves the times of these alerts so that each was last seen now and keeps its active duration. It is needed because
// the wall clock was set since.
func asOf(now time.Time, alerts []activeAlert) []activeAlert {
	moved := slices.Clone(alerts)
	for i, a := range moved {
		moved[i].Since, moved[i].Seen = now.Unix()-(a.Seen-a.Since), now.Unix()
	}
	return moved
}

// restore adds the previously active alerts to the store, as the samples from which Prometheus' rule
// manager restores them.
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
