package staking_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/staking"
)

func TestDowntimeDoesNotFallByRounding(t *testing.T) {
	type step struct {
		after, measured time.Duration
		exact           bool
		want            time.Duration
	}
	const s = time.Second
	for name, steps := range map[string][]step{ // after 30,000 s, so one percent is 300 s
		"the node goes down, and others saw it more exactly": {
			{0, 281 * s, false, 281 * s}, {60 * s, 38 * s, true, 281 * s}, {60 * s, 98 * s, true, 341 * s}, {60 * s, 158 * s, true, 401 * s},
			{60 * s, 290 * s, false, 401 * s}, {60 * s, 403 * s, false, 403 * s}, {60 * s, 160 * s, true, 403 * s}, {60 * s, 220 * s, true, 463 * s},
		},
		"a false report of a minute": {{0, 10 * s, true, 10 * s}, {60 * s, 9999 * s, false, 9999 * s}, {60 * s, 10 * s, true, 10 * s}},
		"a percent more, and less": {{0, 100 * s, false, 100 * s}, {30 * s, 400 * s, false, 130 * s}, {30 * s, 101 * s, false, 130 * s},
			{30 * s, 131 * s, false, 131 * s}},
		"exact measurements that waver": {{0, 10 * s, true, 10 * s}, {60 * s, 11 * s, true, 11 * s}, {60 * s, 10 * s, true, 11 * s},
			{60 * s, 11 * s, true, 11 * s}},
		"a long time without a measurement":   {{0, 10 * s, false, 10 * s}, {3600 * s, 3610 * s, true, 3610 * s}},
		"the clock is set back":               {{0, 10 * s, false, 10 * s}, {-60 * s, 20 * s, false, 10 * s}, {60 * s, 20 * s, false, 20 * s}},
		"what exact measurements say is used": {{0, 10 * s, false, 10 * s}, {60 * s, 200 * s, true, 200 * s}},
	} {
		var d staking.Downtime
		now := at(30_000)
		for i, step := range steps {
			now = now.Add(step.after)
			if d = d.Next(day0, now, step.measured, step.exact); d.Used != step.want {
				t.Errorf("%s, step %d: %v, want %v", name, i, d.Used, step.want)
			}
		}
		if d = d.Next(day0.Add(time.Hour), now, 5*s, false); d.Used != 5*s {
			t.Errorf("%s: the next period begins with %v", name, d.Used)
		}
	}
}

// A validator is up and down, and measured exactly or in whole percents.
func TestDowntimeIsExactPlusRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d staking.Downtime
		var down, excess time.Duration
		now := day0
		for range rapid.IntRange(1, 60).Draw(t, "measurements") {
			passed := time.Duration(rapid.IntRange(1, 5000).Draw(t, "passed")) * time.Second
			now = now.Add(passed)
			down += time.Duration(rapid.Float64Range(0, 1).Draw(t, "down") * float64(passed))
			elapsed := now.Sub(day0)
			measured, exact := down, rapid.Bool().Draw(t, "exact")
			if !exact {
				uptime := math.Floor(100*(1-float64(down)/float64(elapsed))) / 100
				measured = min(time.Duration((1-uptime)*float64(elapsed)), down+elapsed/100)
			}
			excess = max(excess, measured-down)
			before := d.Used
			d = d.Next(day0, now, measured, exact)
			const rounded = time.Microsecond
			if d.Used < before || d.Used < down-rounded || d.Used > down+excess+rounded || d.Used > elapsed {
				t.Fatalf("%v, was %v: the truth is %v of %v, and no measurement was more than %v above it", d.Used, before, down, elapsed, excess)
			}
		}
	})
}
