package alerting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func firingAlert(name, node string, at time.Time) *rules.Alert {
	return &rules.Alert{Labels: labels.FromStrings(labels.AlertName, name, "node", node, "severity", "page"), FiredAt: at}
}

// Each alert is explained when it fires and when it ends, once, however often the rules repeat it, also over a restart.
func TestMomentsAreKeptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := must.Get(state.Open(t.TempDir()))(t)
		start := func() *moments {
			return newMoments(Options{State: dir, Explain: func(_ context.Context, _ Source, l map[string]string, at time.Time) (string, string, error) {
				return l["node"] + " at " + at.UTC().Format(time.TimeOnly), strings.Repeat("a", 2*maxWhy), nil
			}})
		}
		m := start()
		down := firingAlert("Down", "a", time.Now())
		for range 3 {
			m.note([]*rules.Alert{down})
			must.Do(t, m.keep(t.Context(), nil, time.Now()))
			must.Do(t, m.save())
			m = start()
			time.Sleep(10 * time.Minute)
		}
		down.ResolvedAt = time.Now()
		for range 3 {
			m.note([]*rules.Alert{down})
			must.Do(t, m.keep(t.Context(), nil, time.Now()))
			time.Sleep(time.Minute)
		}
		all := m.list()
		if len(all) != 2 || all[0].State != "a at 00:00:00" || all[0].Ended || all[1].State != "a at 00:30:00" || !all[1].Ended {
			t.Fatalf("%d moments: %.300v", len(all), all)
		}
		must.Do(t, m.save())
		m = start()
		m.note([]*rules.Alert{firingAlert("Down", "a", time.Now())})
		must.Do(t, m.keep(t.Context(), nil, time.Now()))
		if n := len(m.list()); n != 3 {
			t.Errorf("%d moments after it fires again", n)
		}
		if n := len(all[0].Why); n > maxWhy+5 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

// A joint fault and a storm of alerts keep little.
func TestMomentsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		explained := 0
		m := newMoments(Options{State: &state.Dir{}, Explain: func(context.Context, Source, map[string]string, time.Time) (string, string, error) {
			explained++
			return "", "", nil
		}})
		var joint []*rules.Alert
		for i := range 1000 {
			joint = append(joint, firingAlert("Down", fmt.Sprint(i), time.Now()))
		}
		m.note(joint)
		must.Do(t, m.keep(t.Context(), nil, time.Now()))
		if explained != maxJoint {
			t.Errorf("%d of 1,000 equal alerts are explained, want %d", explained, maxJoint)
		}
		for _, a := range joint {
			a.ResolvedAt = time.Now()
		}
		m.note(joint)
		must.Do(t, m.keep(t.Context(), nil, time.Now()))
		if explained != 2*maxJoint || len(m.fires) > 0 {
			t.Errorf("%d explained, %d remembered after the end", explained, len(m.fires))
		}
		for i := range 2 * maxMoments {
			m.note([]*rules.Alert{firingAlert("Down", fmt.Sprint("again", i), time.Now())})
			must.Do(t, m.keep(t.Context(), nil, time.Now()))
			time.Sleep(time.Second)
		}
		all := m.list()
		if len(all) != maxMoments || all[len(all)-1].Labels["node"] != fmt.Sprint("again", 2*maxMoments-1) {
			t.Errorf("%d moments", len(all))
		}
		time.Sleep(QuarterHistory)
		m.note([]*rules.Alert{firingAlert("Down", "last", time.Now())})
		must.Do(t, m.keep(t.Context(), nil, time.Now()))
		if n := len(m.list()); n != 1 {
			t.Errorf("%d moments after 90 days", n)
		}
	})
}

// An alert that cannot be explained, and one that fired long before the start, are not kept.
func TestUnexplainedMomentsAreLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("no samples")
		m := newMoments(Options{State: &state.Dir{}, Explain: func(context.Context, Source, map[string]string, time.Time) (string, string, error) {
			return "", "", failed
		}})
		m.note([]*rules.Alert{firingAlert("Down", "old", time.Now().Add(-time.Hour))})
		must.Do(t, m.keep(t.Context(), nil, time.Now()))
		m.note([]*rules.Alert{firingAlert("Down", "new", time.Now())})
		if err := m.keep(t.Context(), nil, time.Now()); !errors.Is(err, failed) || len(m.list()) > 0 {
			t.Errorf("%v, %v", err, m.list())
		}
	})
}
