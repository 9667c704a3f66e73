package fleet

import (
	"crypto/sha256"
	"encoding/binary"
)

// Part is one of several processes that share a fleet. The zero value is the only process.
type Part struct {
	Shard int // zero-based
	Of    int // number of shards
}

// Holds reports whether this shard monitors the node with this name. Rendezvous hashing gives every process the same
// result, and an additional shard takes over only its fair share.
func (p Part) Holds(name string) bool {
	best, most := 0, uint64(0)
	for shard := range p.Of {
		sum := sha256.Sum256(binary.BigEndian.AppendUint32([]byte(name), uint32(shard)))
		if score := binary.BigEndian.Uint64(sum[:]); score > most {
			best, most = shard, score
		}
	}
	return best == p.Shard
}

// SpeaksForTheNetwork reports whether this shard runs the collectors about the network and chains. Only one shard does.
func (p Part) SpeaksForTheNetwork() bool { return p.Shard == 0 }
