package metric

import "github.com/avax-exporter/avax-exporter/internal/staking"

// Facts are what a run found that no series holds whole and exact, for the pages
// that need it. A nil field was not collected. What they point to is not changed
// once the run has ended, and no allow or deny list applies to it.
type Facts struct {
	// L1 is the validator set of the run's chain.
	L1 *staking.L1
	// Away are the names of the own nodes that the run counted as not connected because
	// they did not answer; nil where the run did not ask that.
	Away *[]string
}
