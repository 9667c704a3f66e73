//go:build !noalerting

package alerting

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/internal/state"
)

// stateKey is what alerting is remembered under.
const stateKey = "alerts"

const (
	forState = "ALERTS_FOR_STATE"
	// outage is how old a remembered alert may be: Prometheus' own tolerance.
	outage = time.Hour
	// rewrite is after how many intervals the same alerts are written again: a
	// process that is killed forgets no more of a `for` than that.
	rewrite = 4
)

// active is an alert that was active: since when, and when it was last seen so.
type active struct {
	Labels map[string]string `json:"labels"`
	Since  int64             `json:"since"` // Unix seconds
	Seen   int64             `json:"seen"`
}

func (a active) same(b active) bool { return a.Since == b.Since && maps.Equal(a.Labels, b.Labels) }

// remembered keeps for how long alerts have been active, over a restart.
type remembered struct {
	dir   *state.Dir
	every time.Duration // the interval of alerting
	known []active      // as they were last written, or read
	at    time.Time
	err   string // of the last write
}

// recall gives the store the alerts that the last process saw, as the samples
// from which Prometheus' rules go on.
func (r *remembered) recall(s *store, now time.Time) error {
	known, _, err := state.Load[[]active](r.dir, stateKey)
	if err != nil {
		return err
	}
	app := s.Appender(context.Background())
	for _, a := range known {
		age := now.Sub(time.Unix(a.Seen, 0))
		if age < 0 || age > outage {
			continue // of another time, or of a clock that was wrong
		}
		series := labels.NewBuilder(labels.FromMap(a.Labels)).Set(model.MetricNameLabel, forState).Labels()
		if _, err := app.Append(0, series, a.Seen*1000, float64(a.Since)); err == nil {
			r.known = append(r.known, a)
		}
	}
	return app.Commit()
}

// note writes down what is active now, if that is news, and tells whether it did.
func (r *remembered) note(groups []*rules.Group, c clock, last bool) (wrote bool, err error) {
	now := time.Now()
	var seen []active
	carried := map[string]bool{} // alerts whose rule has not been told of the past yet
	for _, g := range groups {
		for _, rule := range g.AlertingRules() {
			if rule.HoldDuration() == 0 {
				continue
			}
			if !rule.Restored() {
				carried[rule.Name()] = true
				continue
			}
			for _, a := range rule.ActiveAlerts() {
				seen = append(seen, active{a.Labels.Map(), c.wall(a.ActiveAt).Unix(), now.Unix()})
			}
		}
	}
	for _, a := range r.known {
		if carried[a.Labels[labels.AlertName]] {
			seen = append(seen, a)
		}
	}
	slices.SortFunc(seen, func(a, b active) int {
		return slices.Compare(labels.FromMap(a.Labels).Bytes(nil), labels.FromMap(b.Labels).Bytes(nil))
	})
	if !last && slices.EqualFunc(seen, r.known, active.same) && now.Sub(r.at) < rewrite*r.every {
		return false, nil
	}
	r.known, r.at = seen, now
	return true, r.dir.Save(stateKey, seen)
}
