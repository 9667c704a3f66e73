package metric

import "github.com/avax-exporter/avax-exporter/internal/staking"

// Facts are exact results of a run that no series can hold, for status pages. A nil field was not collected. They do not
// change after the run. Allow and deny lists do not apply to them.
type Facts struct {
	// L1 is the validator set of the run's chain.
	L1 *staking.L1
	// Unreachable are the names of the configured nodes that the run counted as not connected because they did not answer; nil if
	// the run did not check that.
	Unreachable *[]string
}
