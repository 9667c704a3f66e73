package collectors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// maxViews is the maximum number of configured nodes whose views of the monitored validators are requested. A view is
// what a node observed: uptime and connection of each validator. Each answer lists all monitored validators. Without
// this limit, every node of a large fleet would list the whole fleet.
const maxViews = 25

// monitoredIDs returns the node IDs of the monitored validators of the primary network. If all validators are monitored,
// it returns no IDs, and all is true.
func monitoredIDs(ctx context.Context, ups *collector.Upstreams) (ids []string, all bool, err error) {
	w := ups.Watched().Validators
	if w.All || len(w.IDs) > 0 {
		return w.IDs, w.All, nil
	}
	known, err := ups.Identified(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, n := range known {
		ids = append(ids, n.KnownID())
	}
	slices.Sort(ids)
	return slices.Compact(ids), false, nil
}

// entriesOf requests the P-Chain's entries of the monitored validators, and of the validators moreIDs. If all
// validators are monitored, it requests the whole set.
func entriesOf(ctx context.Context, ups *collector.Upstreams, n *nodes.Node, moreIDs ...string) ([]node.Validator, error) {
	ids, all, err := monitoredIDs(ctx, ups)
	if err != nil {
		return nil, err
	}
	if all {
		return primarySetOf(ctx, n)
	}
	ids = slices.Concat(ids, moreIDs)
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) < 2 {
		// If the request has a single ID, a node also returns all delegators of the validator, which may be thousands.
		// A second ID prevents that. Without an ID, a node returns the whole set.
		ids = append(ids, unusedNodeID)
	}
	return n.PlatformCurrentValidators(ctx, node.PrimaryNetworkID, ids...)
}

// reported is a list of validators as a node reports it. by is the ID of this node, if it is known; empty for an observer.
type reported struct {
	entries []node.Validator
	by      string
}

func (r reported) same(o reported) bool { return sameValidators(r.entries, o.entries) }

// monitoredEntries requests the P-Chain's entries of the monitored validators. The nodes must agree. reporter is the ID of the node that
// answered, if it is known; empty for an observer.
func monitoredEntries(ctx context.Context, ups *collector.Upstreams, moreIDs ...string) (entries []node.Validator, reporter string, err error) {
	r, err := nodes.Agreed(ctx, ups.Pool, nodes.FactValidators, reported.same, func(ctx context.Context, n *nodes.Node) (reported, error) {
		found, err := entriesOf(ctx, ups, n, moreIDs...)
		return reported{found, n.KnownID()}, err
	})
	return r.entries, r.by, err
}

// unusedNodeID is the node ID of twenty zero bytes, which no node has.
const unusedNodeID = "NodeID-111111111111111111116DBWJs"

// subnetSet requests the validators of a subnet. The nodes must agree.
func subnetSet(ctx context.Context, ups *collector.Upstreams, subnetID string) ([]node.Validator, error) {
	return nodes.Agreed(ctx, ups.Pool, nodes.FactValidators, sameValidators, func(ctx context.Context, n *nodes.Node) ([]node.Validator, error) {
		return n.PlatformCurrentValidators(ctx, subnetID)
	})
}

// primarySets requests the primary network's validators. The nodes must agree, up to 1 % of all stake. It returns the sets of those that do.
func primarySets(ctx context.Context, ups *collector.Upstreams) ([][]node.Validator, error) {
	return nodes.Agreeing(ctx, ups.Pool, nodes.FactStake, similarStake, primarySetOf)
}

// observedSetEvery is the minimum time between two requests to an observer for a whole validator set. It is long,
// because an observer may belong to another operator.
const observedSetEvery = 30 * time.Minute

// primarySetOf requests the primary network's validators from this node.
func primarySetOf(ctx context.Context, n *nodes.Node) ([]node.Validator, error) {
	if n.Observer {
		ctx = scrape.MaxAge(ctx, observedSetEvery)
	}
	return n.PlatformValidatorSet(ctx, node.PrimaryNetworkID)
}

// primaryStake returns the stake of every primary-network validator in nAVAX, including delegations, and the sum. The
// answers of the nodes may be as old as collector.FullSetEvery.
func primaryStake(ctx context.Context, ups *collector.Upstreams) (byNode map[string]uint64, all uint64, err error) {
	sets, err := primarySets(scrape.MaxAge(ctx, collector.FullSetEvery), ups)
	if err != nil {
		return nil, 0, err
	}
	byNode, all = medianStake(sets)
	return byNode, all, nil
}

// reach holds the primary-network stake that a node is connected to.
type reach struct {
	self           string // the node's ID
	peers          []node.Peer
	stake          map[string]uint64 // by node ID
	connected, all uint64            // connected includes the node itself, which info.peers does not list
}

// primaryReach returns a reach without stake (all is 0) if the node does not weigh its peers by stake.
func primaryReach(ctx context.Context, ups *collector.Upstreams, n *nodes.Node) (r reach, err error) {
	if err := n.Belongs(ctx); err != nil {
		return r, err
	}
	if r.self, err = n.ID(ctx); err != nil {
		return r, err
	}
	answer, err := n.Peers(ctx)
	if err != nil {
		return r, err
	}
	r.peers = answer.Peers
	if r.stake, r.all, err = primaryStake(ctx, ups); err != nil {
		return r, err
	}
	if _, staked := r.stake[r.self]; !staked {
		// Without sybil protection, as in development, a node takes itself for the only validator. Then it has an uptime (1.14) or no start time (1.15).
		if _, err := n.Uptime(scrape.MaxAge(ctx, time.Minute)); err == nil || node.IsStartTimeNotFound(err) {
			return reach{}, nil
		}
	}
	r.connected = r.stake[r.self]
	for _, p := range r.peers {
		r.connected += r.stake[p.NodeID]
	}
	return r, err
}

// stakeOf returns the voting stake of a validator: its own stake plus the stake of its delegators.
func stakeOf(v node.Validator) uint64 {
	s := uint64(v.Weight)
	if v.DelegatorWeight != nil {
		s += uint64(*v.DelegatorWeight)
	}
	return s
}

// chainSet requests the validators of a chain's subnet from a node that runs the chain. The C-Chain does not offer
// this method.
func chainSet(ctx context.Context, n *nodes.Node, c nodes.Chain) ([]node.ChainValidator, error) {
	set, err := n.ValidatorsCurrentValidators(ctx, c.Ref)
	return nodes.OptionalOf(ctx, n, c.Ref, set, err)
}

// l1Validator converts the P-Chain's entry of a validator of a monitored chain. The result has no burn rate.
func l1Validator(c nodes.Chain, found node.Validator) (v staking.Validator, err error) {
	v = staking.Validator{ID: found.ValidationID, NodeID: found.NodeID, Weight: uint64(found.Weight)}
	if found.EndTime != nil {
		v.End = found.EndTime.Time
	}
	switch {
	case found.ValidationID == "" && found.TxID == "":
		return v, fmt.Errorf("the P-Chain's answer has neither validationID nor txID of validator %s of %s", v.NodeID, c.Name)
	case found.ValidationID == "":
		v.ID, v.Legacy = found.TxID, true
	case found.Balance == nil:
		return v, fmt.Errorf("the P-Chain's answer has no balance of validator %s of %s", v.NodeID, c.Name)
	default:
		v.Balance = uint64(*found.Balance)
	}
	return v, nil
}

func periodOf(v node.Validator) staking.Period {
	p := staking.Period{Start: v.StartTime.Time}
	if v.EndTime != nil {
		p.End = v.EndTime.Time
	}
	return p
}

var errNoHelicon error = &scrape.Error{Op: "info.upgrades", Outcome: scrape.Malformed, Err: errors.New("heliconTime is missing")}

// isBeforeHelicon reports whether the release of the node does not know Helicon yet.
func isBeforeHelicon(ctx context.Context, n *nodes.Node) bool {
	var major, minor int
	v, err := n.NodeVersion(ctx)
	_, release, _ := strings.Cut(v.Version, "/")
	_, parseErr := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return err == nil && parseErr == nil && major <= 1 && minor < 15
}

// heliconTime returns the activation time of Helicon, or nil if no node knows it. If the nodes report different
// times, it returns the earliest, because a node with a later time is out of date. If no node or observer tells the time, it returns
// the time of the network.
func heliconTime(ctx context.Context, ups *collector.Upstreams) (at *time.Time, err error) {
	own, observers := ups.OfNetwork()
	var missing atomic.Bool
	known, err := nodes.Each(scrape.MaxAge(ctx, collector.StaticAge), nodes.Reachable(slices.Concat(own, observers), 0), nodes.BasisUpgrade,
		func(ctx context.Context, n *nodes.Node) (node.Upgrades, error) {
			u, err := n.Upgrades(ctx)
			if _, has := u.Times["helicon"]; err == nil && !has && !isBeforeHelicon(ctx, n) {
				err = errNoHelicon
				missing.Store(true)
			}
			return u, err
		})
	if missing.Load() && err == nil { // what nodes of old releases say decides nothing then
		err = errNoHelicon
	}
	for _, k := range known {
		if t, scheduled := k.Scheduled()["helicon"]; scheduled && (at == nil || t.Before(*at)) {
			at = &t
		}
	}
	if at != nil {
		return at, nil
	}
	if err != nil {
		if network, unknown := ups.Network(ctx); unknown == nil {
			if t, scheduled := staking.HeliconTimes[network]; scheduled {
				return &t, nil
			}
		}
	}
	return at, err
}
