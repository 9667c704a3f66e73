package staking

// Member is a validator of a set.
type Member struct {
	ID     string
	Weight uint64
	Up     bool // active and connected
}

// Weights are sums over a set, from which Without computes the result of stopping one member.
type Weights struct{ Up, Total uint64 }

// Without returns the share of all weight that stays up after member m stops. It is 0 for a set without weight.
func (w Weights) Without(m Member) float64 {
	if m.Up {
		w.Up -= m.Weight
	}
	return share(w.Up, w.Total)
}
