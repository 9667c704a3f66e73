package config

import (
	"crypto/sha256"
	"encoding/binary"
)

// Part identifies one of several processes that share a fleet. The zero value stands for a single process.
type Part struct {
	Shard int // zero-based
	Of    int // number of shards
}

// Holds reports whether this shard monitors the node with this name. It uses rendezvous hashing: every process gets the same
// result, and if a shard is added, only the nodes of the new shard move.
func (p Part) Holds(name string) bool {
	best, highest := 0, uint64(0)
	for shard := range p.Of {
		sum := sha256.Sum256(binary.BigEndian.AppendUint32([]byte(name), uint32(shard)))
		if score := binary.BigEndian.Uint64(sum[:]); score > highest {
			best, highest = shard, score
		}
	}
	return best == p.Shard
}
