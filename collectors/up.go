package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var nodeUp = metric.New("avax_node_up",
	"1 if the node answered the last probe, 0 if not.", "node")

// up sets 0 for a node that does not answer, while the samples of other collectors expire. It fails only if the
// exporter's host lacks a resource for the call. Then the previous sample stays until it expires.
var up = &Spec{
	Name:     "up",
	Help:     "Whether the node answers.",
	Calls:    []string{"info.getNodeVersion"},
	Every:    15 * time.Second,
	Probe:    true,
	Families: []*metric.Family{nodeUp},
	Scope:    metric.ScopeNode,
	Bind:     perNode(collectUp),
}

func collectUp(ctx context.Context, _ *Targets, n *Node, out *metric.Batch) error {
	_, err := n.NodeVersion(scrape.MaxAge(ctx, time.Millisecond)) // uses no older answer, but shares its own
	if scrape.OutcomeOf(err) == scrape.LocalLimit {
		return err
	}
	n.setProbed(err == nil)
	out.SetBool(nodeUp, err == nil, n.Name())
	return nil
}
