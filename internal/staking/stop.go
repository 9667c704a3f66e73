package staking

// Member is a validator of a set.
type Member struct {
	ID     string
	Weight uint64
	Up     bool // whether the validator is active and connected
}

// Weights holds sums over a set. From these, Without computes the effect of stopping one member.
type Weights struct{ Up, Total uint64 }

// Without returns the share of all weight that stays up after member m stops. It is 0 for a set without weight.
func (w Weights) Without(m Member) float64 {
	if m.Up {
		w.Up -= m.Weight
	}
	return share(w.Up, w.Total)
}
