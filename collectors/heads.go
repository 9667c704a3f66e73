package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	chainHeight = metric.New("avax_chain_height",
		"Height of the newest block that the node has accepted and executed. The height does not change while the chain has no transactions, which is common on "+
			"the X-Chain.",
		"node", "chain")
	chainHeadTimestamp = metric.New("avax_chain_head_timestamp_seconds",
		"Time of the newest accepted block, in Unix seconds. For P: the time of the chain. Absent for X if the X-Chain has only its first block.",
		"node", "chain")
	agreedHeight = metric.New("avax_chain_agreed_height",
		"Height that most of the nodes and observers have reached on the chain: a single one that is ahead of several others does not count. Of two, the higher "+
			"one. Nodes that bootstrap the chain do not count. Each scrape computes it.", "chain")
	settledHeight = metric.New("avax_chain_settled_height",
		"Height of the newest block of the C-Chain whose execution is settled, from the node's newest block. It rises only with new blocks. Absent before "+
			"Helicon, and on other chains.",
		"node", "chain")
)

var heads = &collector.Spec{
	Name:     "heads",
	Critical: true,
	Help:     "Height and time of the newest block on each chain of the node.",
	Calls:    []string{"platform.getHeight", "platform.getTimestamp", "avm.getHeight", "avm.getBlockByHeight", "eth_getBlockByNumber", "info.isBootstrapped"},
	Every:    collector.HeadsEvery,
	Families: []*metric.Family{chainHeight, chainHeadTimestamp, settledHeight, agreedHeight},
	Bind:     collector.Per(collector.Pairs(collector.AllChains, collector.NodesAndObservers), collectHeads),
}

func collectHeads(ctx context.Context, _ *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	n, c := on.Node, on.Chain
	var height uint64
	var at time.Time
	var evm node.EthBlock
	read := func(ctx context.Context) (err error) {
		height, at, evm, err = head(ctx, n, c)
		return err
	}
	var err error
	if n.Observer || c.Ref == "P" || c.Ref == "X" {
		err = read(ctx)
	} else {
		err = n.CallChain(ctx, c.Ref, read)
	}
	n.NoteChain(c.Ref, scrape.Oldest(ctx), err)
	if err != nil {
		return err
	}
	out.Set(chainHeight, float64(height), n.Name(), c.Name)
	if !at.IsZero() {
		out.SetTime(chainHeadTimestamp, at, n.Name(), c.Name)
	}
	if evm.SettledHeight != nil {
		out.Set(settledHeight, float64(*evm.SettledHeight), n.Name(), c.Name)
	}
	return metric.WithSamples(evm.Incomplete("settledHeight"))
}

// head returns the height and the time of the newest block, and the whole block of an EVM chain. The time is zero if it is not known: an
// observer is several machines.
func head(ctx context.Context, n *nodes.Node, c nodes.Chain) (height uint64, at time.Time, evm node.EthBlock, err error) {
	recently, _ := scrape.Sharing(ctx, nodes.MaxAnswerAge(ctx)) // two runs use one answer
	switch c.Ref {
	case "P":
		if height, err = n.PlatformHeight(recently); err == nil {
			at, err = n.PlatformTimestamp(recently)
		}
	case "X": // which changes rarely
		ctx = recently
		height, err = n.AVMHeight(ctx, c.Ref)
		height, err = nodes.OptionalOf(ctx, n, c.Ref, height, err)
		if err == nil && height > 0 {
			at, err = blockTime(ctx, n, c, height)
			if n.Observer && scrape.OutcomeOf(err) == scrape.Rejected {
				err = nil // of its machines, the next one may not have the newest block yet
			}
		}
	default:
		evm, err = collector.NewestBlock(ctx, n, c)
		height, at = uint64(evm.Number), evm.Time()
	}
	return height, at, evm, err
}

// blockTime returns the time of an X-Chain block. A block's time never changes, so the answer may be as old as
// collector.StaticAge.
func blockTime(ctx context.Context, n *nodes.Node, c nodes.Chain, height uint64) (time.Time, error) {
	return n.AVMBlockTime(scrape.MaxAge(ctx, collector.StaticAge), c.Ref, height)
}
