package staking

import "time"

// Downtime is the downtime of a validator in one period, after a sequence of measurements. The zero value has no measurement.
type Downtime struct {
	Start time.Time // of the period
	At    time.Time // of the last measurement
	// Used does not fall within a period, but to correct a false measurement. It may be too long by the rounding of a measurement.
	Used time.Duration
	// Offset is the difference of Used and the first of consecutive exact measurements. It is added to them, so that Used
	// rises as they do.
	Offset time.Duration
	Exact  bool
}

// Next returns the downtime after another measurement. A measurement in whole percents is not exact: it may be too long by a
// percent of the elapsed time. That percent raises Used only as fast as time passes. A fall or rise that neither a percent nor
// the time that passed explains shows that an earlier measurement was false, and Used starts again.
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
