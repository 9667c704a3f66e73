package staking

import "time"

// Downtime is the downtime of a validator in one period, computed from successive measurements. The zero value has no
// measurement.
type Downtime struct {
	Start time.Time // start of the period
	At    time.Time // time of the last measurement
	// Used only decreases within a period when a false measurement is corrected. It may be too long by the rounding of a
	// measurement.
	Used time.Duration
	// Offset is the difference between Used and the first of consecutive exact measurements. It is added to each of these
	// measurements, so that Used rises as they rise.
	Offset time.Duration
	Exact  bool
}

// Next returns the downtime after another measurement. A measurement in whole percents is not exact: it may be too long by one
// percent of the elapsed time. Because of this rounding, Used rises at most as fast as time passes. If a measurement falls or
// rises by more than one percent and the passed time explain, an earlier measurement was false, and Used starts again.
func (d Downtime) Next(start, now time.Time, measured time.Duration, exact bool) Downtime {
	next := Downtime{Start: start, At: now, Used: measured, Exact: exact}
	percent, passed := max(now.Sub(start), 0)/100, max(now.Sub(d.At), 0)
	certain := measured
	switch {
	case !exact:
		certain -= percent
	case d.Exact:
		next.Offset = d.Offset
	default:
		next.Offset = max(d.Used-measured, 0)
	}
	if !d.Start.Equal(start) || measured < d.Used-percent || certain > d.Used+passed {
		next.Offset = 0
		return next
	}
	next.Used = max(d.Used, min(measured+next.Offset, d.Used+passed))
	return next
}
