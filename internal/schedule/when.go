package schedule

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// seed gives each process different phases, so that several exporters do not call a node at the same time.
var seed = rand.Text()

// SetPhases gives this process the phases of a seed, before the first job: in synthetic time a test meets the same moments again.
func SetPhases(s string) { seed = s }

// Every returns a schedule with one tick per period. Jobs with the same period and the same target group tick together, so that
// they share answers. The ticks of different target groups are spread over the period.
func Every(period time.Duration, target metric.Target) cron.Schedule {
	hash := sha256.Sum256(fmt.Appendf(nil, "%s %+v", seed, target.Group()))
	return every{period, time.Duration(binary.BigEndian.Uint64(hash[:])%phases) * period / phases}
}

// phases is the number of different times in a period at which target groups tick. More phases avoid bursts. Fewer phases need
// fewer timers in a large fleet.
const phases = 128

type every struct{ period, phase time.Duration }

// Next implements cron.Schedule.
func (e every) Next(t time.Time) time.Time {
	since := time.Duration(t.UnixNano()) - e.phase
	return t.Add(e.period - (since%e.period+e.period)%e.period)
}

// Timetable returns the schedule of each target.
type Timetable func(target metric.Target) cron.Schedule

// Parse parses a cron expression of five fields, or a descriptor such as "@hourly". "@every 30s"
// spreads the targets over the period as Every does.
func Parse(expression string) (Timetable, error) {
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
		return nil, fmt.Errorf("%q is not a cron expression (%w): %s", expression, err, write)
	}
	if s.Next(time.Now()).IsZero() {
		return nil, fmt.Errorf("%q never matches: %s", expression, write)
	}
	return func(metric.Target) cron.Schedule { return monotonic{s} }, nil
}

// monotonic converts the ticks of a schedule to the monotonic clock. Without this conversion, there would be no tick for an
// hour after the wall clock was set back an hour.
type monotonic struct{ cron.Schedule }

// Next implements cron.Schedule.
func (m monotonic) Next(t time.Time) time.Time {
	next := m.Schedule.Next(t)
	if next.IsZero() {
		return next
	}
	return t.Add(next.Sub(t.Round(0)))
}

// period returns the time between the two ticks after t.
func period(s cron.Schedule, t time.Time) time.Duration {
	next := s.Next(t)
	return s.Next(next).Sub(next)
}

// Deadline returns the time limit of a run that begins at t: half its period.
func Deadline(s cron.Schedule, t time.Time) time.Duration { return period(s, t) / 2 }

// until returns when the samples of a run that began at t expire: after three periods, or after three ticks if that is later.
// The two times differ if the schedule is irregular.
func until(s cron.Schedule, t time.Time) time.Time {
	periods := t.Add(3 * period(s, t))
	ticks := s.Next(s.Next(s.Next(t)))
	if ticks.After(periods) {
		return ticks
	}
	return periods
}
