package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
)

var forkDetected = metric.New("avax_chain_fork_detected",
	"1 if the node's block is not the block of the majority, 0 if it is. The majority is more than half of the nodes and observers that have the block. Blocks "+
		"are compared at the height of the node that is furthest behind. If there is no majority, all nodes have 1: with two nodes, the blocks differ, and it is "+
		"not known which node is on a fork. Only the nodes of this exporter are compared. Absent if fewer than two nodes and observers can be compared.", "node",
	"chain")

var forks = &collector.Spec{
	Name:     "forks",
	Critical: true,
	Help:     "Nodes that disagree about a block of an EVM chain.",
	Calls:    []string{"eth_getBlockByNumber"},
	Every:    90 * time.Second,
	Families: []*metric.Family{forkDetected},
	Bind:     collector.Per(collector.Chains, collectForks),
}

// maxObserverLag is the largest expected difference in height between two answers of an observer. There may be a
// difference, because different machines may have answered.
const maxObserverLag = 16

func collectForks(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	newest, err := collector.NewestBlocks(ctx, ups, on.Chain)
	if err != nil {
		return err
	}
	if len(newest) < 2 {
		return nil
	}
	var with []*nodes.Node
	newestOf := map[*nodes.Node]collector.NodeBlock{}
	height := newest[0].Number
	for _, b := range newest {
		with = append(with, b.Of)
		newestOf[b.Of] = b
		if b.Of.Observer {
			b.Number -= min(b.Number, maxObserverLag)
		}
		height = min(height, b.Number)
	}
	// Nodes that do not answer, or do not have the block, are not compared.
	same, err := nodes.Each(ctx, with, nodes.BasisBlock, func(ctx context.Context, n *nodes.Node) (collector.NodeBlock, error) {
		switch b := newestOf[n]; height { // accepted blocks do not change
		case b.Number:
			return b, nil
		case b.Number - 1:
			b.Hash = b.ParentHash
			return b, nil
		}
		b, err := n.EthBlockByNumber(ctx, on.Chain.Ref, (*uint64)(&height))
		return collector.NodeBlock{Of: n, EthBlock: b}, err
	})
	if err != nil {
		return err
	}
	if len(same) < 2 {
		return nil
	}
	votes := map[string]int{}
	for _, b := range same {
		votes[b.Hash]++
	}
	for _, b := range same {
		out.SetBool(forkDetected, 2*votes[b.Hash] <= len(same), b.Of.Name(), on.Chain.Name)
	}
	return nil
}
