package fleet

import (
	"crypto/sha256"
	"encoding/binary"
)

// Part is one of several processes that share a fleet. Its zero value is the
// only one.
type Part struct {
	Shard int // from 0
	Of    int // how many there are
}

// Holds reports whether the node of that name is this part's: by rendezvous
// hashing, so that one part more takes only what it needs from the others, and
// every process comes to the same result.
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

// SpeaksForTheNetwork reports whether this shard runs the collectors that are
// about the network or a chain and not about a node: one part does.
func (p Part) SpeaksForTheNetwork() bool { return p.Shard == 0 }
