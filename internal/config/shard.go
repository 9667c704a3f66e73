package config

import (
	"crypto/sha256"
	"encoding/binary"
)

// Holds reports whether a shard, of this number of shards, monitors the node with this name. It uses rendezvous hashing: every process
// gets the same result, and if a shard is added, only the nodes of the new shard move.
func Holds(shard Index, shards Count, name string) bool {
	best, highest := 0, uint64(0)
	for i := range int(shards) {
		sum := sha256.Sum256(binary.BigEndian.AppendUint32([]byte(name), uint32(i)))
		if score := binary.BigEndian.Uint64(sum[:]); score > highest {
			best, highest = i, score
		}
	}
	return best == int(shard)
}
