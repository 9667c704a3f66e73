package app

import (
	"errors"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

func TestGroupIsOverdueOnlyAfterItsInterval(t *testing.T) {
	const interval = time.Hour
	now := time.Now()
	evaluated := func(ago time.Duration) []alerting.Group {
		return []alerting.Group{{Name: "digest", Interval: alerting.Seconds(interval.Seconds()), Evaluated: now.Add(-ago)}}
	}
	never := []alerting.Group{{Name: "digest", Interval: alerting.Seconds(interval.Seconds())}}
	for name, c := range map[string]struct {
		groups []alerting.Group
		loaded time.Duration
		late   bool
	}{
		"never, since a start":                {never, interval, false},
		"never, for too long":                 {never, interval + staleAfter + time.Second, true},
		"regularly":                           {evaluated(interval), 24 * time.Hour, false},
		"no longer":                           {evaluated(interval + staleAfter + time.Second), 24 * time.Hour, true},
		"no rules yet, after an interruption": {nil, time.Minute, false},
		"no rules, for too long":              {nil, staleAfter + time.Second, true},
	} {
		if err := overdue(c.groups, now.Add(-c.loaded), now); (err != nil) != c.late {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := overdue(nil, time.Time{}, now); !errors.Is(err, notify.ErrStarting) {
		t.Errorf("before the first rules: %v", err)
	}
}
