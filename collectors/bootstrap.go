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
	chainBootstrapped = metric.New("avax_node_chain_bootstrapped",
		"1 if the chain is bootstrapped on the node, 0 if the chain is bootstrapping. Absent if the node does not run the chain, and for X and C if "+
			"avax_node_partial_sync is 1.",
		"node", "chain")
	chainPresent = metric.New("avax_node_chain_present",
		"1 if the node runs the chain. 0 if not: the node does not track the chain, has not created the chain yet, or the chain's VM did not start. Absent for X "+
			"and C if avax_node_partial_sync is 1.",
		"node", "chain")
)

var bootstrap = &collector.Spec{
	Name:     "bootstrap",
	Critical: true,
	Help:     "Whether P, X and the monitored chains are bootstrapped on the node.",
	Calls:    []string{"info.isBootstrapped", "GET /ext/health"},
	Every:    time.Minute,
	Families: []*metric.Family{chainBootstrapped, chainPresent},
	Bind:     collector.Per(collector.Nodes, collectBootstrap),
}

// justBack is how long a node that has answered again is asked more often. What it lacks after that, others may have caused.
const justBack = 10 * time.Minute

// soonAfterReturn makes a job of a node that has answered again run again soon, unless nothing is missing.
func soonAfterReturn(n *nodes.Node, complete bool, out *metric.Batch) {
	soonUnless(complete || time.Since(n.Since()) > justBack, out)
}

// soonUnless makes a job run again after eight seconds, so that the verdicts know it within fifteen seconds if what is missing is there.
func soonUnless(complete bool, out *metric.Batch) {
	if !complete {
		out.Facts.Again = 8 * time.Second
	}
}

func collectBootstrap(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	n := on.Node
	for _, c := range ups.AllChains() {
		done, err := true, error(nil)
		if answered, _ := scrape.Sharing(ctx, 3*collector.HeadsEvery); !n.ChainAnswered(answered, c.Ref) { // as long as its samples of heads are served
			done, err = n.IsBootstrapped(ctx, c.Ref)
		}
		switch {
		case node.IsNoSuchChain(err):
			out.Set(chainPresent, 0, n.Name(), c.Name)
		case err != nil:
			return err
		case !done && omits(ctx, n, c): // with partial sync, the node never bootstraps X and C
		default:
			out.Set(chainPresent, 1, n.Name(), c.Name)
			out.SetBool(chainBootstrapped, done, n.Name(), c.Name)
			soonUnless(done, out)
		}
	}
	return nil
}
