package collectors

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
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
	Calls:    []string{"platform.getBlockchainStatus", "GET /ext/health", "platform.getBlockchains", "platform.getTx", "info.getBlockchainID"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{chainStatusFamily},
	Bind:     collector.Per(collector.Nodes, collectChainStatus),
}

func collectChainStatus(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	var failed error
	for _, c := range ups.AllChains() {
		if c.Ref == "P" {
			continue
		}
		is, err := chainStatusOf(ctx, ups, on.Node, c)
		if scrape.OutcomeOf(err) == scrape.Rejected { // this chain; the node answers about the others
			failed = errors.Join(failed, collector.IfRejected(err, "AVAX_CHAINS"))
			continue
		}
		if err != nil {
			return err
		}
		for _, status := range []string{"Validating", "Created", "Preferred", "Syncing", "Unknown"} {
			out.SetBool(chainStatusFamily, is == status, on.Node.Name(), c.Name, status)
		}
	}
	return metric.WithSamples(failed)
}

func chainStatusOf(ctx context.Context, ups *collector.Upstreams, n *nodes.Node, c nodes.Chain) (string, error) {
	status, err := n.PlatformBlockchainStatus(ctx, c.Ref)
	noAlias := scrape.OutcomeOf(err) == scrape.Rejected
	if !noAlias && (err != nil || status != "Syncing" || !omits(ctx, n, c)) {
		return status, err
	}
	// The node does not know the alias, or has partial sync, and then wrongly answers Syncing if the request has an alias.
	b, unknown := ups.KnownBlockchain(ctx, c)
	if unknown != nil {
		return "", cmp.Or(err, unknown)
	}
	return n.PlatformBlockchainStatus(ctx, b.ID)
}
