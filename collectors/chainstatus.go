package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var chainStatusFamily = metric.New("avax_chain_status",
	"1 for the chain's status on the node as its P-Chain tells it, 0 for the others. Validating or Syncing: the node runs the chain. "+
		"Created: it does not, be it not tracked or its VM failed; avax_node_health_check_failing tells which. "+
		"P is left out: it says Syncing whatever the node does.",
	"node", "chain", "status")

var chainStatus = &Spec{
	Name:     "chain_status",
	Help:     "Does the node validate the chain?",
	Calls:    []string{"platform.getBlockchainStatus"},
	Every:    time.Minute,
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
		if err != nil {
			return hintRejected(err, "AVAX_CHAINS")
		}
		for _, status := range []string{"Validating", "Created", "Preferred", "Syncing", "Unknown"} {
			out.SetBool(chainStatusFamily, is == status, n.Name(), c.Name, status)
		}
	}
	return nil
}
