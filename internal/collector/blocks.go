package collector

import (
	"context"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// HeadsEvery is the period of requests for the newest blocks.
const HeadsEvery = 30 * time.Second

// NewestBlock requests the newest block of an EVM chain from a node.
func NewestBlock(ctx context.Context, n *nodes.Node, c nodes.Chain) (node.EthBlock, error) {
	return nodes.Optional(n.EthBlockByNumber(ctx, c.Ref, nil))
}

// NodeBlock is a block as one node reports it.
type NodeBlock struct {
	Of *nodes.Node
	node.EthBlock
}

// NewestBlocks returns the newest block of each node and observer that answers. It shares answers with the
// collector named heads.
func NewestBlocks(ctx context.Context, ups *Upstreams, c nodes.Chain) ([]NodeBlock, error) {
	ctx, _ = scrape.Sharing(ctx, HeadsEvery)
	own, observers := ups.OfNetwork()
	return nodes.Each(ctx, slices.Concat(own, observers), nodes.BasisHeight, func(ctx context.Context, n *nodes.Node) (NodeBlock, error) {
		b, err := NewestBlock(ctx, n, c)
		return NodeBlock{n, b}, err
	})
}

// NewestHeight returns the height of the newest block that most nodes and observers have reached.
func NewestHeight(ctx context.Context, ups *Upstreams, c nodes.Chain) (height uint64, err error) {
	found, err := NewestBlocks(ctx, ups, c)
	if err != nil {
		return 0, err
	}
	var heights []float64
	for _, b := range found {
		heights = append(heights, float64(b.Number))
	}
	return uint64(nodes.Reached(heights)), nil
}

// EVMChainID requests the EVM chain ID from any node that runs the chain. If none answers, it returns the ID that one reported before.
func EVMChainID(ctx context.Context, ups *Upstreams, c nodes.Chain) (uint64, error) {
	if ups.Data != nil && ups.IsEmpty() {
		return ups.listedEVMChainID(ctx, c)
	}
	ctx = scrape.MaxAge(ctx, StaticAge)
	id, err := nodes.First(ctx, ups.Pool, nodes.BasisRules, func(ctx context.Context, n *nodes.Node) (uint64, error) {
		id, err := n.EthChainID(ctx, c.Ref)
		return nodes.OptionalOf(ctx, n, c.Ref, id, err)
	})
	entry := "EVM chain ID " + c.Ref
	if err == nil {
		return id, ups.Memory.Save(entry, id)
	}
	if before, known := state.Load[uint64](&ups.Memory, entry); known {
		return before, nil
	}
	return 0, err
}
