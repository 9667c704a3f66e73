package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var forkDetected = metric.New("avax_chain_fork_detected",
	"1 if the node's block differs from that of more than half of the nodes and observers, 0 if not. Blocks are compared at the height of the node that is furthest behind. Without a majority all nodes have 1. Absent if there are no two nodes to compare.", "node", "chain")

var forks = &Spec{
	Name:     "forks",
	Help:     "Nodes that disagree about a block of an EVM chain.",
	Calls:    []string{"eth_getBlockByNumber"},
	Every:    time.Minute,
	Families: []*metric.Family{forkDetected},
	Scope:    metric.ScopeChain,
	Bind:     perChain(collectForks),
}

// observedBehind is the maximum number of blocks between two answers of an observer, which may come from different machines.
const observedBehind = 16

func collectForks(ctx context.Context, t *Targets, c Chain, out *metric.Batch) error {
	newest, err := newestBlocks(ctx, t, c)
	if err != nil {
		return err
	}
	if len(newest) < 2 {
		return nil
	}
	var nodes []*Node
	newestOf := map[*Node]nodeBlock{}
	height := newest[0].Number
	for _, b := range newest {
		nodes = append(nodes, b.of)
		newestOf[b.of] = b
		if b.of.observer {
			b.Number -= min(b.Number, observedBehind)
		}
		height = min(height, b.Number)
	}
	// A node that no longer has the block, or does not answer, is not compared.
	same, err := each(ctx, nodes, func(ctx context.Context, n *Node) (nodeBlock, error) {
		if b := newestOf[n]; b.Number == height { // accepted blocks do not change
			return b, nil
		}
		b, err := n.EthBlockByNumber(ctx, c.Ref, (*uint64)(&height))
		return nodeBlock{n, b}, err
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
		out.SetBool(forkDetected, 2*votes[b.Hash] <= len(same), b.of.Name(), c.Name)
	}
	return nil
}
