package alerting

import "time"

const (
	// maxHistory is how long samples are kept if memory allows it.
	maxHistory = 24 * time.Hour
	// historyBytes is the memory limit for samples. Samples younger than minHistory are kept even above this limit.
	historyBytes = 64_000_000
)

// The cost of a sample and of a series, measured by BenchmarkHistory and BenchmarkAlerting.
const (
	sampleBytes = 4                     // memory of a sample
	seriesBytes = 1000                  // memory of a series without its samples
	seriesTime  = 20 * time.Microsecond // CPU time per series and evaluation
)

// history returns how long samples of this many series are kept, with one sample per interval.
func (c Config) history(series uint64) time.Duration {
	samples := historyBytes / sampleBytes / max(1, series)
	return max(minHistory, min(time.Duration(samples)*c.Interval, maxHistory))
}

// Cost estimates the cost of evaluating the built-in rules over this many series. cores is the number of CPU cores. bytes is
// the heap memory after the whole history has passed.
func (c Config) Cost(series int) (cores, bytes float64) {
	samples := c.history(uint64(series)).Seconds() / c.Interval.Seconds()
	return float64(series) * seriesTime.Seconds() / c.Interval.Seconds(), float64(series) * (seriesBytes + samples*sampleBytes)
}
