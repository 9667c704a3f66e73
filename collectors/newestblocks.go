package collectors

import (
	"context"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// headsEvery is the period of requests for the newest blocks.
const headsEvery = 30 * time.Second

// newestBlock requests the newest block of an EVM chain from a node.
func newestBlock(ctx context.Context, n *nodes.Node, c nodes.Chain) (node.EthBlock, error) {
	return nodes.Optional(n.EthBlockByNumber(ctx, c.Ref, nil))
}

// nodeBlock is a block as one node reports it.
type nodeBlock struct {
	of *nodes.Node
	node.EthBlock
}

// newestBlocks returns the newest block of each node and observer that answers. It shares answers with the
// collector named heads.
func newestBlocks(ctx context.Context, ups *Upstreams, c nodes.Chain) ([]nodeBlock, error) {
	ctx, _ = scrape.Sharing(ctx, headsEvery)
	own, observers := ups.OfNetwork()
	return nodes.Each(ctx, slices.Concat(own, observers), func(ctx context.Context, n *nodes.Node) (nodeBlock, error) {
		b, err := newestBlock(ctx, n, c)
		return nodeBlock{n, b}, err
	})
}

// newestHeight returns the height of the newest block that any node or observer has.
func newestHeight(ctx context.Context, ups *Upstreams, c nodes.Chain) (height uint64, err error) {
	found, err := newestBlocks(ctx, ups, c)
	for _, b := range found {
		height = max(height, uint64(b.Number))
	}
	return height, err
}
