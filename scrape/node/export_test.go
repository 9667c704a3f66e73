package node

// Room returns for how many validators the set has allocated memory.
func (s *ValidatorSet) Room() int {
	n := 0
	for _, p := range s.pieces {
		n += cap(p)
	}
	return n
}
