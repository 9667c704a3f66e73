package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var chainStatusFamily = metric.New("avax_chain_status",
	"1 for the current status of the chain on the node, 0 for the others. Validating or Syncing: the node runs the chain. Created: it does not, because it does not track it, its VM failed (avax_node_chain_start_failed), or it runs with partial sync (X and C). P is left out, because nodes always report Syncing for it.",
	"node", "chain", "status")

var chainStatus = &Spec{
	Name:     "chain_status",
	Help:     "Status of the chain on the node.",
	Calls:    []string{"platform.getBlockchainStatus", "GET /ext/health", "info.getBlockchainID"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{chainStatusFamily},
	Scope:    metric.ScopeNode,
	Bind:     perNode(collectChainStatus),
}

func collectChainStatus(ctx context.Context, t *Targets, n *Node, out *metric.Batch) error {
	for _, c := range t.allChains() {
		if c.Ref == "P" {
			continue
		}
		is, err := n.PlatformBlockchainStatus(ctx, c.Ref)
		if err == nil && is == "Syncing" && n.leavesOut(ctx, c) {
			// Created is the answer for the alias of a chain that the node does not run. The answer for the ID is correct.
			var id string
			if id, err = n.BlockchainID(scrape.MaxAge(ctx, slowFacts), c.Ref); err == nil {
				is, err = n.PlatformBlockchainStatus(ctx, id)
			}
		}
		if err != nil {
			return ifRejected(err, SettingChains)
		}
		for _, status := range []string{"Validating", "Created", "Preferred", "Syncing", "Unknown"} {
			out.SetBool(chainStatusFamily, is == status, n.Name(), c.Name, status)
		}
	}
	return nil
}
