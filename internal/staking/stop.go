package staking

// Member is a validator of a set.
type Member struct {
	ID     string
	Weight uint64
	Up     bool // whether the validator is active and connected
}

// Weights are sums over a set: Up is the weight that is active and connected, Total is all weight.
type Weights struct{ Up, Total uint64 }

// Without returns the share of all weight that stays up when member m stops. It is 0 for a set without weight.
func (w Weights) Without(m Member) float64 {
	if m.Up {
		w.Up -= m.Weight
	}
	return share(w.Up, w.Total)
}

// Isolated returns the nodes that are connected to less than half of the stake, if another one is connected to at least a Quorum: then they
// have a problem of their own, and what they report about others does not count.
func Isolated[N comparable](connected map[N]float64) map[N]bool {
	alone, well := map[N]bool{}, false
	for n, share := range connected {
		if share < 0.5 {
			alone[n] = true
		}
		well = well || share >= Quorum
	}
	if !well {
		return nil
	}
	return alone
}
