package collectors

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// mostViews is how many nodes are asked what they see of the watched validators. Each
// answer lists all of these: of a large fleet each node would have to list the whole fleet.
const mostViews = 25

// watched is the set of watched validators of the primary network.
type watched struct {
	*Targets
	Validators
}

func (ups *Upstreams) watched() watched { return watched{ups.Targets, ups.Watch.Validators} }

// ids returns the IDs of the watched validators, or true for all validators.
func (w watched) ids(ctx context.Context) (ids []string, all bool, err error) {
	if w.All || len(w.IDs) > 0 {
		return w.IDs, w.All, nil
	}
	nodes, err := w.identified(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, n := range nodes {
		ids = append(ids, n.knownID())
	}
	slices.Sort(ids)
	return slices.Compact(ids), false, nil
}

// entries asks a node for the entries of the watched validators and of other
// validators by ID, or for the whole set.
func (w watched) entries(ctx context.Context, n *Node, others ...string) (iter.Seq[node.Validator], error) {
	ids, all, err := w.ids(ctx)
	if err != nil {
		return nil, err
	}
	if all {
		set, err := n.primarySet(ctx)
		if err != nil {
			return nil, err
		}
		return set.All(), nil
	}
	ids = slices.Concat(ids, others)
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 1 {
		// A node adds the delegators, which may be thousands, to a single entry. An ID
		// that does not exist makes it two.
		ids = append(ids, unusedNodeID)
	}
	entries, err := n.PlatformCurrentValidators(ctx, node.PrimaryNetworkID, ids...)
	return slices.Values(entries), err
}

// unusedNodeID is the node ID of twenty zero bytes.
const unusedNodeID = "NodeID-111111111111111111116DBWJs"

// subnetSet asks any node for the validators of a subnet.
func subnetSet(ctx context.Context, t *Targets, subnetID string) ([]node.Validator, error) {
	return first(ctx, t, func(ctx context.Context, n *Node) ([]node.Validator, error) {
		return n.PlatformCurrentValidators(ctx, subnetID)
	})
}

// primarySet asks any node for the primary network's validators.
func primarySet(ctx context.Context, t *Targets) (*node.ValidatorSet, error) {
	return first(ctx, t, func(ctx context.Context, n *Node) (*node.ValidatorSet, error) { return n.primarySet(ctx) })
}

// observedSetEvery is how often an observer is asked for a whole validator set: it may be
// anybody's.
const observedSetEvery = 30 * time.Minute

// primarySet asks for the primary network's validators.
func (n *Node) primarySet(ctx context.Context) (*node.ValidatorSet, error) {
	if n.observer {
		ctx = scrape.MaxAge(ctx, observedSetEvery)
	}
	return n.PlatformValidatorSet(ctx, node.PrimaryNetworkID)
}

// primaryStake returns the stake of every primary-network validator in nAVAX,
// its delegators' included, and the sum. Any node is asked, at the pace of
// full sets.
func primaryStake(ctx context.Context, t *Targets) (byNode map[string]uint64, all uint64, err error) {
	set, err := primarySet(scrape.MaxAge(ctx, fullSetEvery), t)
	if err != nil {
		return nil, 0, err
	}
	byNode = make(map[string]uint64, set.Len())
	for v := range set.All() {
		s := stakeOf(v)
		byNode[v.NodeID] += s
		all += s
	}
	return byNode, all, nil
}

// reach is what a node is connected to of the primary network's stake.
type reach struct {
	self           string // the node's ID
	peers          []node.Peer
	stake          map[string]uint64 // by node ID
	connected, all uint64            // the node itself included, which info.peers does not list
}

func primaryReach(ctx context.Context, t *Targets, n *Node) (r reach, err error) {
	if n.otherNetwork.Load() {
		return r, fmt.Errorf("%w: the node belongs to another network than the others: run an exporter of its own for it", ErrNotOffered)
	}
	if r.self, err = n.ID(ctx); err != nil {
		return r, err
	}
	answer, err := n.Peers(ctx)
	if err != nil {
		return r, err
	}
	r.peers = answer.Peers
	r.stake, r.all, err = primaryStake(ctx, t)
	r.connected = r.stake[r.self]
	for _, p := range r.peers {
		r.connected += r.stake[p.NodeID]
	}
	return r, err
}

// stakeOf is what the validator votes with: its own stake and its delegators'.
func stakeOf(v node.Validator) uint64 {
	s := uint64(v.Weight)
	if v.DelegatorWeight != nil {
		s += uint64(*v.DelegatorWeight)
	}
	return s
}

// chainSet asks a node for the validators of a subnet's chain. The C-Chain has
// no such list.
func chainSet(ctx context.Context, n *Node, c Chain) ([]node.ChainValidator, error) {
	return ask(n, "validators.getCurrentValidators "+c.Ref, func() ([]node.ChainValidator, error) {
		return n.ValidatorsCurrentValidators(ctx, c.Ref)
	})
}

// l1Validator is what the P-Chain tells of an L1's validator, but for what it burns.
func l1Validator(c Chain, found node.Validator) (v staking.Validator, err error) {
	v = staking.Validator{ID: found.ValidationID, NodeID: found.NodeID, Weight: uint64(found.Weight)}
	if found.EndTime != nil {
		v.End = found.EndTime.Time
	}
	switch {
	case found.ValidationID == "":
		v.ID, v.Legacy = found.TxID, true
	case found.Balance == nil:
		return v, fmt.Errorf("validator %s of %s has no balance in the P-Chain's answer", v.NodeID, c.Name)
	default:
		v.Balance = uint64(*found.Balance)
	}
	return v, nil
}
