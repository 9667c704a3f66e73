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

// Sum adds up a set.
func Sum(set []Member) (w Weights) {
	for _, m := range set {
		w.Total += m.Weight
		if m.Up {
			w.Up += m.Weight
		}
	}
	return w
}

// Without is the share of all weight that stays up once the member m stops. It
// is 0 for a set without weight.
func (w Weights) Without(m Member) float64 {
	if m.Up {
		w.Up -= m.Weight
	}
	return share(w.Up, w.Total)
}

// Without is the share of all weight of the set that stays up once the member
// with this ID stops; where there is none, the share that is up. It is 0 for a
// set without weight. To ask it of every member, take Sum once.
func Without(set []Member, id string) (share float64) {
	sum := Sum(set)
	for _, m := range set {
		if m.ID == id {
			return sum.Without(m)
		}
	}
	return sum.Without(Member{})
}
