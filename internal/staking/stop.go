package staking

// Member is a validator of a set, as far as stopping matters.
type Member struct {
	ID     string
	Weight uint64
	Up     bool // active and connected
}

// Weights are the sums over a set that tell, for each member, what stopping it
// leaves.
type Weights struct{ Up, Total uint64 }

// Without is the share of all weight that stays up once the member m stops. It
// is 0 for a set without weight.
func (w Weights) Without(m Member) float64 {
	if m.Up {
		w.Up -= m.Weight
	}
	return share(w.Up, w.Total)
}
