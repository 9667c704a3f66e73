package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var chainStatusFamily = metric.New("avax_chain_status",
	"1 for the current status of the chain on the node, 0 for every other status. Validating or Syncing: the node runs the chain. Created: the node does not "+
		"run the chain. Possible causes: the node does not track the chain, the chain's VM failed (avax_node_chain_start_failed), or the node has partial sync (X "+
		"and C). Absent for P, because nodes always report Syncing for P.",
	"node", "chain", "status")

var chainStatus = &collector.Spec{
	Name:     "chain_status",
	Help:     "Status of the chain on the node.",
	Calls:    []string{"platform.getBlockchainStatus", "GET /ext/health", "info.getBlockchainID"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{chainStatusFamily},
	Bind:     collector.Per(collector.Nodes, collectChainStatus),
}

func collectChainStatus(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	n := on.Node
	for _, c := range ups.AllChains() {
		if c.Ref == "P" {
			continue
		}
		is, err := n.PlatformBlockchainStatus(ctx, c.Ref)
		if err == nil && is == "Syncing" && omits(ctx, n, c) {
			// A node with partial sync wrongly answers Syncing if the request has an alias. If the request has the
			// blockchain ID, the node correctly answers Created.
			var id string
			if id, err = n.BlockchainID(scrape.MaxAge(ctx, collector.StaticAge), c.Ref); err == nil {
				is, err = n.PlatformBlockchainStatus(ctx, id)
			}
		}
		if err != nil {
			return collector.IfRejected(err, "AVAX_CHAINS")
		}
		for _, status := range []string{"Validating", "Created", "Preferred", "Syncing", "Unknown"} {
			out.SetBool(chainStatusFamily, is == status, n.Name(), c.Name, status)
		}
	}
	return nil
}
