package staking

// RunOut and RunOuts are what tests hold to a simulation.
type RunOut = runOut

var RunOuts = runOuts
