package collectors

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	l1ProposerCount = metric.New("avax_l1_proposers",
		"Number of validators that may build the next block of the chain. Each block records a P-Chain height, and only the validators at that height (the "+
			"recorded view) may build the next block. The height is avax_l1_proposer_view_height if the newest block started the epoch. Otherwise it is not known "+
			"exactly: it is at least avax_l1_proposer_view_height, and at most the height of the P-Chain when the block came. If at most half of the weight at the "+
			"lower height is left, the validators at the upper height count if more of them are left. An exporter that started after the block knows only the "+
			"lower height.", "chain")
	l1ProposersLeft = metric.New("avax_l1_proposers_left",
		"Number of validators of avax_l1_proposers that can build the next block now: they run the chain and are connected, even if they are no longer "+
			"validators. A configured node that does not answer the exporter counts while another one is connected to it. 0 means that nobody can ever extend the "+
			"chain until one of them runs it again.", "chain")
	l1ProposersLeftRatio = metric.New("avax_l1_proposers_left_ratio",
		"Share (0 to 1) of the weight of avax_l1_proposers that the validators of avax_l1_proposers_left have.", "chain")
	l1ProposerViewHeight = metric.New("avax_l1_proposer_view_height",
		"P-Chain height of the chain's current epoch: a lower bound of the height that the newest block recorded. It is exact if the newest block started the "+
			"epoch.", "chain")
	l1ProposerViewTimestamp = metric.New("avax_l1_proposer_view_timestamp_seconds",
		"Start of the chain's current epoch, in Unix seconds. An epoch ends only with a block.", "chain")
	l1ProposerCanBuild = metric.New("avax_l1_proposer_can_build",
		"1 if the validator of avax_l1_proposers can build the next block now, 0 if it does not run the chain or is not connected.", "chain",
		"node_id").AtMost(collector.MaxNamed)
)

var l1Proposers = &collector.Spec{
	Name: "l1_proposers",
	Help: "Who may build the next block of an L1 or a permissioned subnet, and who of them still can.",
	Calls: []string{
		"proposervm.getCurrentEpoch", "platform.getHeight", "platform.getValidatorsAt", "eth_getBlockByNumber",
		"info.peers", "info.getNodeID", "info.isBootstrapped", "platform.getBlockchains", "platform.getTx",
	},
	Every:    collector.HeadsEvery / 2, // its calls are shared; a frozen chain pages within four minutes
	OnChange: true,
	Families: []*metric.Family{l1ProposerCount, l1ProposersLeft, l1ProposersLeftRatio, l1ProposerViewHeight, l1ProposerViewTimestamp, l1ProposerCanBuild},
	Bind: collector.PerBegin(collector.SubnetChains, func() collector.Collect {
		return (&proposerView{sets: map[uint64]map[string]uint64{}}).collect
	}),
}

// proposerView holds what a run needs to know from earlier runs.
type proposerView struct {
	sets    map[uint64]map[string]uint64 // weights by node ID, by P-Chain height; they never change
	heights []heightAt                   // of the P-Chain, oldest first
}

// heightAt is a height of the P-Chain, and when it was requested.
type heightAt struct {
	at     time.Time
	height uint64
}

// seenBlock is the stored value for the newest block of a chain.
type seenBlock struct {
	Height  uint64
	PHeight uint64 // upper bound of the height that the block recorded; 0: the block was older than maxUnseen
}

// proposers are the validators that may build the next block.
type proposers struct {
	weights map[string]uint64 // by node ID
	left    map[string]bool   // those that can build
	ratio   float64           // share of the weight of left
}

func (v *proposerView) collect(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	c := on.Chain
	if len(ups.Nodes()) == 0 {
		return nil // observers do not list their peers
	}
	b, err := ups.KnownBlockchain(ctx, c)
	if err != nil || b.SubnetID == node.PrimaryNetworkID {
		return err
	}
	type answer struct {
		block   node.EthBlock
		epoch   node.Epoch
		pHeight heightAt
	}
	// A node reports the epoch of the block that it prefers, which on a slow chain is not the same on all nodes.
	earlier := func(a, b answer) int {
		return cmp.Or(cmp.Compare(a.epoch.Number, b.epoch.Number), cmp.Compare(a.epoch.PChainHeight, b.epoch.PChainHeight),
			a.epoch.StartTime.Compare(b.epoch.StartTime.Time), cmp.Compare(a.block.Number, b.block.Number))
	}
	a, err := nodes.ReachedBy(ctx, ups.Pool, nodes.BasisHeight, earlier, func(ctx context.Context, n *nodes.Node) (a answer, err error) {
		if a.block, err = collector.NewestBlock(scrape.MaxAge(ctx, collector.HeadsEvery), n, c); err != nil {
			return a, err
		}
		epoch, err := n.ProposerVMCurrentEpoch(scrape.MaxAge(ctx, epochAge), c.Ref)
		if a.epoch, err = nodes.OptionalOf(ctx, n, c.Ref, epoch, err); err != nil {
			return a, err
		}
		ctx, requested := scrape.Sharing(ctx, collector.HeadsEvery)
		a.pHeight.height, err = n.PlatformHeight(ctx)
		a.pHeight.at = requested()
		return a, err
	})
	switch {
	case err != nil:
		return err
	case a.epoch.Number == 0:
		return fmt.Errorf("%w: the chain has no epochs before the upgrade Granite", metric.ErrNotOffered)
	case a.block.Number == 0:
		return nil // anybody may build the first block
	}
	upper := v.upperBound(ups, c, a.block, a.pHeight, out)
	lower, err := v.at(ctx, ups, b.SubnetID, uint64(a.epoch.PChainHeight))
	if err != nil || len(lower) == 0 {
		return err // without validators, anybody may build the next block
	}
	running, err := running(ctx, ups, c, b.SubnetID)
	if err != nil || running == nil {
		return err
	}
	view := proposersOf(lower, running)
	if exact := a.epoch.StartTime.Equal(a.block.Time()); !exact && upper > uint64(a.epoch.PChainHeight) && view.ratio <= 0.5 {
		weights, err := v.at(ctx, ups, b.SubnetID, upper)
		if err != nil {
			return err
		}
		if newer := proposersOf(weights, running); newer.ratio > view.ratio {
			view = newer
		}
	}
	out.Set(l1ProposerCount, float64(len(view.weights)), c.Name)
	out.Set(l1ProposersLeft, float64(len(view.left)), c.Name)
	out.Set(l1ProposersLeftRatio, view.ratio, c.Name)
	out.Set(l1ProposerViewHeight, float64(a.epoch.PChainHeight), c.Name)
	out.SetTime(l1ProposerViewTimestamp, a.epoch.StartTime.Time, c.Name)
	for id := range view.weights {
		out.SetBool(l1ProposerCanBuild, view.left[id], c.Name, id)
	}
	return nil
}

// proposalDelay is less than the age of the P-Chain block that a new block records. So the P-Chain's height this long before a block
// is an upper bound of the height that the block recorded.
const proposalDelay = 25 * time.Second

// epochAge is the maximum age of an epoch. An older epoch is a lower bound too.
const epochAge = 3 * time.Minute

// maxUnseen is the maximum time from a block to the request of a P-Chain height that bounds the height that the block recorded.
const maxUnseen = time.Minute

// upperBound returns an upper bound of the P-Chain height that the newest block recorded: the first height of the P-Chain that was
// requested after proposalDelay before the block. It is 0 if the exporter requested none within maxUnseen: the validators may have
// changed since then, and the present ones would hide a frozen chain.
func (v *proposerView) upperBound(ups *collector.Upstreams, c nodes.Chain, block node.EthBlock, pHeight heightAt, out *metric.Batch) uint64 {
	const name = "proposers "
	v.heights = slices.DeleteFunc(append(v.heights, pHeight), func(h heightAt) bool { return time.Since(h.at) > 2*maxUnseen })
	seen := collector.Load[seenBlock](ups, name+c.Ref)
	if seen.Height != uint64(block.Number) {
		seen = seenBlock{Height: uint64(block.Number)}
		for _, h := range v.heights {
			if since := h.at.Sub(block.Time()); since >= -proposalDelay && since <= maxUnseen {
				seen.PHeight = h.height
				break
			}
		}
		ups.Save(out, name+c.Ref, seen)
	}
	return seen.PHeight
}

// at returns the weights of the validators at a P-Chain height, by node ID.
func (v *proposerView) at(ctx context.Context, ups *collector.Upstreams, subnetID string, height uint64) (map[string]uint64, error) {
	weights, known := v.sets[height]
	if !known {
		var err error
		weights, err = nodes.Agreed(ctx, ups.Pool, nodes.FactValidators, maps.Equal, func(ctx context.Context, n *nodes.Node) (map[string]uint64, error) {
			return nodes.Optional(n.PlatformValidatorsAt(ctx, height, subnetID))
		})
		if err != nil || len(weights) == 0 {
			return nil, err
		}
		weights = maps.Clone(weights)
		delete(weights, unusedNodeID) // the weight of all inactive validators
		if len(v.sets) > 1 {          // keep the lower height, which changes only with the epoch
			delete(v.sets, slices.Max(slices.Collect(maps.Keys(v.sets))))
		}
		v.sets[height] = weights
	}
	return weights, nil
}

func proposersOf(weights map[string]uint64, running map[string]bool) proposers {
	p := proposers{weights: weights, left: map[string]bool{}}
	var left, all uint64
	for id, weight := range weights {
		all += weight
		if running[id] {
			p.left[id] = true
			left += weight
		}
	}
	p.ratio = staking.Share(left, all)
	return p
}

// running returns the IDs of the nodes that run the chain and are connected: your nodes that run it, and their peers that
// track the subnet. A node that does not track the subnet may not know who else does, so its peers do not count. A node of
// yours that does not answer counts if its peers report it; one that answers and does not run the
// chain does not. The result is nil if the nodes report no peers, or not which subnets their peers track.
func running(ctx context.Context, ups *collector.Upstreams, c nodes.Chain, subnetID string) (map[string]bool, error) {
	maxAge := nodes.MaxAnswerAge(ctx)
	known, err := ups.Identified(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	without := map[*nodes.Node]bool{} // nodes that answered that they do not run the chain
	trackers, err := nodes.Each(ctx, nodes.Reachable(known, maxAge), nodes.BasisChains, func(ctx context.Context, n *nodes.Node) (*nodes.Node, error) {
		_, err := collector.NewestBlock(scrape.MaxAge(ctx, collector.HeadsEvery), n, c)
		lacks := scrape.OutcomeOf(err) == scrape.Bootstrapping
		if scrape.OutcomeOf(err) == scrape.NotFound { // of the node, or of a proxy in front of it
			_, unknown := n.IsBootstrapped(scrape.MaxAge(ctx, 2*collector.HeadsEvery), c.Ref)
			lacks = node.IsNoSuchChain(unknown)
		}
		if lacks {
			mu.Lock()
			defer mu.Unlock()
			without[n] = true
		}
		return n, err
	})
	if err != nil {
		return nil, err
	}
	lists, err := nodes.Each(ctx, trackers[:min(len(trackers), maxViews)], nodes.BasisConnected, func(ctx context.Context, n *nodes.Node) ([]node.Peer, error) {
		answer, err := n.Peers(scrape.MaxAge(ctx, time.Minute)) // as often as other collectors ask
		return answer.Peers, err
	})
	if err != nil {
		return nil, err
	}
	found, reported := map[string]bool{}, false
	for _, n := range trackers {
		found[n.KnownID()] = true
	}
	for _, peers := range lists {
		for _, p := range peers {
			reported = reported || p.TrackedSubnets != nil
			if slices.Contains(p.TrackedSubnets, subnetID) {
				found[p.NodeID] = true
			}
		}
	}
	if !reported {
		return nil, nil
	}
	// Peers list a node as long as it announces the subnet, also if its chain has ended.
	stopped := nodes.IDsOf(known, func(n *nodes.Node) bool { return without[n] || n.ChainStopped(c.Ref) })
	maps.DeleteFunc(found, func(id string, _ bool) bool { return stopped[id] })
	return found, nil
}
