package collectors

import (
	"context"
	"fmt"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var (
	nodeUp = metric.New("avax_node_up",
		"1 if the node answered the last probe, 0 if not.", "node")
	nodeProbeDuration = metric.New("avax_node_probe_duration_seconds",
		"Time that the node took to answer the last probe, in seconds. Absent if it did not answer.", "node")
)

// up sets avax_node_up to 0 if the node does not answer. It fails only if the exporter's host lacks a resource for the
// call, or CPU: it notices the end of the call more than a second late. Then the previous sample stays until it expires.
var up = &Spec{
	Name:     "up",
	Paged:    true,
	Help:     "Whether the node answers.",
	Calls:    []string{"info.getNodeVersion"},
	Every:    15 * time.Second,
	Probe:    true,
	Families: []*metric.Family{nodeUp, nodeProbeDuration},
	Bind:     perNode(collectUp),
}

func collectUp(ctx context.Context, _ *Upstreams, n *nodes.Node, out *metric.Batch) error {
	began := time.Now()
	_, err := n.NodeVersion(scrape.MaxAge(ctx, time.Millisecond)) // never uses an older answer, but shares the new one
	if scrape.OutcomeOf(err) == scrape.LocalLimit {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && err != nil && time.Since(deadline) > time.Second {
		return fmt.Errorf("the exporter has too little CPU to wait for the answer: %w", err)
	}
	n.SetProbed(err == nil)
	out.SetBool(nodeUp, err == nil, n.Name())
	if err == nil {
		out.Set(nodeProbeDuration, time.Since(began).Seconds(), n.Name())
	}
	return nil
}
