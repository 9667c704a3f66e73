package simnet

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// The rules of AvalancheGo's proposervm: which validators may build the next block of a chain. A block records a P-Chain
// height. Only the validators at the height that the newest block recorded may build the next block.

const (
	// proposalDelay is the minimum age of the P-Chain block whose height a new block records.
	proposalDelay = 30 * time.Second
	// epochLength is the minimum length of an epoch. An epoch ends with a block.
	epochLength = 5 * time.Minute
	// inactiveID stands for the weight of all inactive validators of an L1.
	inactiveID = "NodeID-111111111111111111116DBWJs"
)

// validatorSet is the validator set of a subnet from a P-Chain height on.
type validatorSet struct {
	height   uint64
	weights  map[*member]uint64 // of validators that may build blocks
	inactive uint64             // weight of inactive validators
}

// recordSets stores the validator sets that have changed. The primary network has no history.
func (t *truth) recordSets(at time.Time) {
	for _, s := range t.subnets[1:] {
		set := validatorSet{height: t.pChain().heads.at(at).height, weights: map[*member]uint64{}}
		for _, v := range s.stakers {
			set.weights[v.member] += v.weight
		}
		for _, v := range s.l1 {
			if v.active() {
				set.weights[v.member] += v.weight
			} else {
				set.inactive += v.weight
			}
		}
		if len(s.sets) == 0 {
			set.height = 0
		} else if last := s.sets[len(s.sets)-1]; last.inactive == set.inactive && maps.Equal(last.weights, set.weights) {
			continue
		}
		s.sets = append(s.sets, set)
	}
}

// setAt returns the validator set of a subnet at a P-Chain height.
func (s *subnet) setAt(height uint64) validatorSet {
	i := len(s.sets) - 1
	for i > 0 && s.sets[i].height > height {
		i--
	}
	return s.sets[i]
}

// proposed returns the P-Chain height that a block of this time records.
func (t *truth) proposed(at time.Time) uint64 {
	return t.pChain().heads.at(at.Add(-proposalDelay)).height
}

// mayBuild reports whether the member may build the next block of a chain. If the recorded set is empty, anybody may.
func (t *truth) mayBuild(c *chain, m *member, now time.Time) bool {
	newest := c.heads.at(now)
	set := c.subnet.setAt(t.proposed(newest.time)).weights
	return newest.height == 0 || len(set) == 0 || set[m] > 0
}

// runs reports whether the member tracks the chain and is connected to others.
func (t *truth) runs(c *chain, m *member, now time.Time) bool {
	if !m.tracks(c.subnet) || m.away.covers(now) {
		return false
	}
	return m.node == nil || !m.node.stopped && m.node.chains[c].state == Running
}

// tracks reports whether the member tells its peers that it tracks the subnet.
func (m *member) tracks(s *subnet) bool {
	if !slices.Contains(m.subnets, s) {
		return false
	}
	return m.node == nil || !slices.ContainsFunc(s.chains, func(c *chain) bool { return m.node.chains[c].state == Untracked })
}

// reaches reports whether the node is connected to the member as one that tracks the subnet.
func (v *view) reaches(m *member, s *subnet) bool {
	return v.connected(m) && (s == v.primary || m.tracks(s))
}

// freeze stops the chains that nobody can extend, and resumes those that somebody can.
func (t *truth) freeze(now time.Time) {
	for _, c := range t.chains {
		if !c.isL1() {
			continue
		}
		alive := slices.ContainsFunc(t.members, func(m *member) bool { return t.runs(c, m, now) && t.mayBuild(c, m, now) })
		switch every := c.heads[len(c.heads)-1].every; {
		case !alive && every > 0:
			c.frozen = every
			c.heads.pace(now, 0)
		case alive && c.frozen > 0:
			c.heads.pace(now, c.frozen)
			c.frozen = 0
		}
	}
}

// SendTransaction sends a transaction to a node's RPC endpoint of a chain. If the node may build the next block, the chain
// accepts a block with the transaction.
func (n *Network) SendTransaction(chain, node string) (accepted bool) {
	n.change(func(now time.Time) {
		c, m := n.mustChain(chain), n.mustMember(node)
		if accepted = n.runs(c, m, now) && n.mayBuild(c, m, now); accepted {
			c.heads.add(now)
		}
	})
	return accepted
}

// proposerService is the service of a chain about the P-Chain heights of its blocks.
func proposerService(c *chain) service {
	return service{"proposervm", map[string]method{
		"getCurrentEpoch": on(func(v *view, _ noParams) (any, error) {
			newest := v.head(c).time
			if v.node.prefers[c] {
				newest = v.now
			}
			start := c.heads.at(newest.Truncate(epochLength).Add(-time.Nanosecond))
			start = head{start.height + 1, c.heads.timeOf(start.height + 1)}
			if start.time.After(newest) || start.time.Before(newest.Truncate(epochLength)) {
				start.time = newest
			}
			return struct {
				Number       string `json:"number"`
				StartTime    string `json:"startTime"`
				PChainHeight string `json:"pChainHeight"`
			}{u64(uint64(start.time.Sub(v.genesis) / epochLength)), unix(start.time), u64(v.proposed(start.time))}, nil
		}),
		"getProposedHeight": on(func(v *view, _ noParams) (any, error) {
			return heightResult{u64(v.proposed(v.chainTime(v.pChain())))}, nil
		}),
	}}
}

// platformValidatorsAt answers for the primary network with the present set.
func (v *view) platformValidatorsAt(p struct {
	Height   json.RawMessage
	SubnetID idParam
}) (any, error) {
	type validator struct {
		PublicKey *string `json:"publicKey"`
		Weight    string  `json:"weight"`
	}
	s := v.subnet(p.SubnetID)
	if s == nil {
		return map[string]validator{}, nil
	}
	tip := v.head(v.pChain()).height
	height := v.proposed(v.chainTime(v.pChain()))
	if text := string(p.Height); text != `"proposed"` {
		if unquoted, err := strconv.Unquote(text); err == nil {
			text = unquoted
		}
		var err error
		if height, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, errors.New("couldn't unmarshal an argument")
		}
	}
	if height > tip {
		return nil, fmt.Errorf("failed to get validator set at %d: failed to fetch validator set at unfinalized height: "+
			"current P-chain height (%d) < requested P-Chain height (%d)", height, tip, height)
	}
	list := map[string]validator{}
	if s == v.primary {
		for _, st := range s.stakers {
			list[st.member.id] = validator{&st.member.publicKey, u64(st.total())}
		}
		return list, nil
	}
	set := s.setAt(height)
	for m, weight := range set.weights {
		list[m.id] = validator{&m.publicKey, u64(weight)}
	}
	if set.inactive > 0 {
		list[inactiveID] = validator{nil, u64(set.inactive)}
	}
	return list, nil
}
