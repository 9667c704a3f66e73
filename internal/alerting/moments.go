package alerting

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/state"
)

// Moment is when an alert fired or ended, with what explained it then. The samples from which it was computed are kept for hours only.
type Moment struct {
	At         time.Time
	Since      time.Time // the first sign of the fault
	Ended      bool
	Labels     map[string]string // of the alert
	Chains     []string          `json:",omitempty"` // for which it stands, without a label of each
	State, Why string            // see explain.Explanation
}

const (
	// maxMoments is the maximum number of moments that are kept, and maxWhy that of bytes of each Why: three MB in all.
	maxMoments = 500
	maxWhy     = 6 << 10
	// maxJoint is how many alerts of one name that fired or ended in one interval are explained: one fault explains the others. One that stands for several
	// chains always is.
	maxJoint = 5
	// momentsEntry is the key of the moments in the state directory.
	momentsEntry = "moments"
)

// moments explains alerts when they fire and when they end, and keeps this.
type moments struct {
	dir     *state.Dir
	explain func(ctx context.Context, source Source, labels map[string]string, at time.Time) (state, why string, err error)

	mu    sync.Mutex
	fires map[string]bool // by labels: whether it was noted that an alert fires. False: it fires, but is not kept
	due   []Moment        // that are not explained yet
	all   []Moment        // oldest first
	saved bool            // whether all are saved
}

func newMoments(o Options) *moments {
	m := &moments{dir: o.State, explain: o.Explain, fires: map[string]bool{}, saved: true}
	m.all, _ = state.Load[[]Moment](o.State, momentsEntry)
	for _, one := range m.all {
		m.fires[keyOfAlert(one.Labels)] = true
		if one.Ended {
			delete(m.fires, keyOfAlert(one.Labels))
		}
	}
	return m
}

// note notes that alerts fire or have ended. The rules repeat each alert every minute.
func (m *moments) note(all []*rules.Alert) {
	if m.explain == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range all {
		labels := a.Labels.Map()
		if labels["severity"] == "none" {
			continue
		}
		key, one := keyOfAlert(labels), Moment{At: a.FiredAt, Labels: labels, Ended: !a.ResolvedAt.IsZero()}
		one.Chains = slices.Compact(strings.Fields(a.Annotations.Get(alerts.Chains)))
		one.Since = alerts.SinceOf(a.Annotations.Get(alerts.Since), a.ActiveAt)
		kept, fires := m.fires[key]
		switch {
		case one.Ended:
			one.At = a.ResolvedAt
			delete(m.fires, key)
			if !kept {
				continue
			}
		case fires:
			continue
		case time.Since(one.At) > Lookback: // it continues after a restart that forgot the moments
			m.fires[key] = false
			continue
		default:
			joint := 0
			for _, other := range m.due {
				if other.Labels["alertname"] == labels["alertname"] && !other.Ended {
					joint++
				}
			}
			m.fires[key] = joint < maxJoint || len(one.Chains) > 0
			if !m.fires[key] {
				continue
			}
		}
		m.due = append(m.due, one)
	}
}

// keep explains what was noted, and saves it. Moments older than the quarter go.
func (m *moments) keep(ctx context.Context, source Source, now time.Time) error {
	m.mu.Lock()
	due := m.due
	m.due = nil
	m.mu.Unlock()
	if len(due) == 0 {
		return nil
	}
	slices.SortStableFunc(due, func(a, b Moment) int { return a.At.Compare(b.At) })
	var errs []error
	var explained []Moment
	for _, one := range due {
		var err error
		if one.State, one.Why, err = m.explain(ctx, source, one.Labels, one.At); err != nil {
			errs = append(errs, err)
			continue
		}
		if len(one.Why) > maxWhy {
			one.Why = strings.ToValidUTF8(one.Why[:maxWhy], "") + "…\n"
		}
		explained = append(explained, one)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(slices.DeleteFunc(m.all, func(o Moment) bool { return now.Sub(o.At) > QuarterHistory }), explained...)
	m.all, m.saved = m.all[max(0, len(m.all)-maxMoments):], false
	return errors.Join(errs...)
}

// save writes the moments, unless they are saved.
func (m *moments) save() error {
	m.mu.Lock()
	saved, all := m.saved, slices.Clone(m.all)
	m.saved = true
	m.mu.Unlock()
	if saved {
		return nil
	}
	err := m.dir.Save(momentsEntry, all)
	if err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.saved = false // the next save tries again
	}
	return err
}

func (m *moments) list() []Moment {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all)
}

// Moments returns when alerts fired and ended in the last 90 days, and what explained them, oldest first.
func (a *Alerting) Moments() []Moment { return a.saver.moments.list() }
