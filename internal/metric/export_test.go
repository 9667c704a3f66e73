package metric

// InBlocks makes a store compress pages of any size in blocks.
func InBlocks(s *Store) { s.whole = -1 }
