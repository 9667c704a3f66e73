package schedule

import (
	"fmt"
	"hash/maphash"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// seed makes the phases of this process differ from those of its neighbours,
// so that several exporters do not ask one node at the same moment.
var seed = maphash.MakeSeed()

// Every is a schedule of one tick per period. Jobs of the same target and
// period tick together, so that they can share answers; different targets are
// spread over the period. Targets of one group tick together.
func Every(period time.Duration, target metric.Target) cron.Schedule {
	phase := time.Duration(maphash.Comparable(seed, target.Group())%phases) * period / phases
	return every{period, phase}
}

// phases is over how many moments of a period targets are spread: enough for no
// burst, and so few that the clock of a large fleet has few entries.
const phases = 128

type every struct{ period, phase time.Duration }

// Next implements cron.Schedule.
func (e every) Next(t time.Time) time.Time {
	since := time.Duration(t.UnixNano()) - e.phase
	return t.Add(e.period - (since%e.period+e.period)%e.period)
}

// Pace gives each target its schedule.
type Pace func(target metric.Target) cron.Schedule

// Parse reads a cron expression of five fields, or a descriptor such as
// "@hourly". "@every 30s" spreads the targets over the period as Every does.
func Parse(expression string) (Pace, error) {
	const write = `write five fields as in "*/5 * * * *", or "@every 30s"`
	if text, ok := strings.CutPrefix(expression, "@every "); ok {
		period, err := time.ParseDuration(strings.TrimSpace(text))
		if err != nil || period < time.Second {
			return nil, fmt.Errorf("%q: write a period of at least a second, as in \"@every 30s\"", expression)
		}
		return func(target metric.Target) cron.Schedule { return Every(period, target) }, nil
	}
	s, err := cron.ParseStandard(expression)
	if err != nil {
		return nil, fmt.Errorf("%q is no cron expression (%w): %s", expression, err, write)
	}
	if s.Next(time.Now()).IsZero() {
		return nil, fmt.Errorf("%q never comes: %s", expression, write)
	}
	return func(metric.Target) cron.Schedule { return unset{s} }, nil
}

// unset gives the ticks of a schedule on the clock that nobody sets: else, once
// the clock was set back an hour, there would be no tick for an hour.
type unset struct{ cron.Schedule }

// Next implements cron.Schedule.
func (u unset) Next(t time.Time) time.Time {
	next := u.Schedule.Next(t)
	if next.IsZero() {
		return next
	}
	return t.Add(next.Sub(t.Round(0)))
}

// period is the time between the two ticks that follow t.
func period(s cron.Schedule, t time.Time) time.Duration {
	next := s.Next(t)
	return s.Next(next).Sub(next)
}

// Deadline is how long a run that begins at t may take: half its period.
func Deadline(s cron.Schedule, t time.Time) time.Duration { return period(s, t) / 2 }

// until is when samples of a run that began at t have outlived it: three
// periods, or three ticks where the schedule is uneven.
func until(s cron.Schedule, t time.Time) time.Time {
	periods := t.Add(3 * period(s, t))
	ticks := s.Next(s.Next(s.Next(t)))
	if ticks.After(periods) {
		return ticks
	}
	return periods
}
