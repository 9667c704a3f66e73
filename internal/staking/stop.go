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
