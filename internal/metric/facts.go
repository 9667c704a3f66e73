package metric

import "github.com/avax-exporter/avax-exporter/internal/staking"

// Facts are exact results of a run that series cannot represent, for status pages. A nil field was not collected. Facts do not
// change after the run. Allow and deny lists do not apply to them.
type Facts struct {
	// L1 is the validator set of the run's chain.
	L1 *staking.L1
	// Unreachable lists the configured nodes that the run counted as not connected, because they did not answer. It is nil if the run
	// did not check for such nodes.
	Unreachable *[]string
}
