package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
)

var poolTransactions = metric.New("avax_node_pool_transactions",
	"Transactions in the node's pool. state is pending or queued. A queued transaction waits for another one of its sender. Absent if the chain does not offer "+
		"txpool_status.",
	"node", "chain", "state")

var transactionPool = &collector.Spec{
	Name:     "transaction_pool",
	Help:     "Transactions that wait on a node for a block.",
	Calls:    []string{"txpool_status"},
	Every:    2 * time.Minute,
	Families: []*metric.Family{poolTransactions},
	Bind:     collector.PerNodeAndChain((*nodes.Pool).Chains, collectTransactionPool),
}

func collectTransactionPool(ctx context.Context, _ *collector.Upstreams, n *nodes.Node, c nodes.Chain, out *metric.Batch) error {
	pool, err := nodes.Optional(n.TxPoolStatus(ctx, c.Ref))
	if err != nil {
		return err
	}
	out.Set(poolTransactions, float64(pool.Pending), n.Name(), c.Name, "pending")
	out.Set(poolTransactions, float64(pool.Queued), n.Name(), c.Name, "queued")
	return nil
}
