package staking

// RunOut and RunOuts are exported for the comparison with a simulation.
type RunOut = runOut

var RunOuts = runOuts
