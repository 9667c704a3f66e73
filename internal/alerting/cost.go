package alerting

import "time"

const (
	// mostHistory is the maximum time for which samples are kept by default.
	mostHistory = 24 * time.Hour
	// historyBytes is the memory limit for samples beyond MinHistory by default.
	historyBytes = 64_000_000
)

// Memory of one sample and one series, measured by BenchmarkHistory and BenchmarkAlerting.
const (
	sampleBytes = 4
	seriesBytes = 1000
	seriesTime  = 20 * time.Microsecond // of CPU, at each evaluation
)

// history returns how long samples of this many series are kept, with one sample per interval.
func (c Config) history(series uint64) time.Duration {
	if c.History > 0 {
		return c.History
	}
	samples := historyBytes / sampleBytes / max(1, series)
	return max(MinHistory, min(time.Duration(samples)*c.Interval, mostHistory))
}

// Cost estimates the evaluation of the built-in rules over this many series: the share of a core, and bytes
// of heap once the history is full.
func (c Config) Cost(series int) (cores, bytes float64) {
	samples := c.history(uint64(series)).Seconds() / c.Interval.Seconds()
	return float64(series) * seriesTime.Seconds() / c.Interval.Seconds(), float64(series) * (seriesBytes + samples*sampleBytes)
}
