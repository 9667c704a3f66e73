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
	Bind:     collector.Per(collector.Pairs(collector.Chains, collector.Nodes), collectTransactionPool),
}

func collectTransactionPool(ctx context.Context, _ *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	pool, err := nodes.Optional(on.Node.TxPoolStatus(ctx, on.Chain.Ref))
	if err != nil {
		return err
	}
	out.Set(poolTransactions, float64(pool.Pending), on.Node.Name(), on.Chain.Name, "pending")
	out.Set(poolTransactions, float64(pool.Queued), on.Node.Name(), on.Chain.Name, "queued")
	return nil
}
