package alerting

import "time"

const (
	// mostHistory is for how long samples are kept at most where nobody asks for more.
	mostHistory = 24 * time.Hour
	// historyBytes is what the samples beyond MinHistory may bring their memory to, where
	// nobody asks for more.
	historyBytes = 64_000_000
)

// What one sample and one series take, as BenchmarkHistory and BenchmarkAlerting measure it.
const (
	sampleBytes = 4
	seriesBytes = 1000
	seriesTime  = 20 * time.Microsecond // of CPU, at each evaluation
)

// history is for how long samples of so many series are kept, one each interval.
func (c Config) history(series uint64) time.Duration {
	if c.History > 0 {
		return c.History
	}
	samples := historyBytes / sampleBytes / max(1, series)
	return max(MinHistory, min(time.Duration(samples)*c.Interval, mostHistory))
}

// Cost is about what it takes to evaluate the built-in rules over so many series: the
// share of a core, and bytes of heap once the history is full.
func (c Config) Cost(series int) (cores, bytes float64) {
	samples := c.history(uint64(series)).Seconds() / c.Interval.Seconds()
	return float64(series) * seriesTime.Seconds() / c.Interval.Seconds(), float64(series) * (seriesBytes + samples*sampleBytes)
}
