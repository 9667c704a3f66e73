package staking

import "time"

// Downtime is the downtime of a validator in one period, computed from successive measurements. The zero value has no
// measurement.
type Downtime struct {
	Start time.Time // start of the period
	At    time.Time // time of the last measurement
	// Used is the downtime. Within a period it decreases only if an earlier measurement was false. It may be too long, because
	// measurements may be rounded.
	Used time.Duration
	// Offset is needed when exact measurements follow a rounded one. It is the difference between Used and the first exact
	// measurement. It is added to all following exact measurements, so that Used rises by the same amount as they do.
	Offset time.Duration
	Exact  bool // the last measurement was exact
}

// Next returns the downtime after another measurement. A measurement in whole percents is not exact: it may be too long by one
// percent of the elapsed time. Because of this rounding, Used rises at most as fast as time passes. An earlier measurement was
// false if the new one is less than Used by more than this percent, or if it certainly rises faster than time passes. Then Used is
// the new measurement.
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
