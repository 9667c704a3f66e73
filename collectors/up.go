package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var (
	nodeUp = metric.New("avax_node_up",
		"1 if the node answered the last probe, 0 if not.", "node")
	nodeRejecting = metric.New("avax_node_rejecting",
		"1 if the node rejected the last probe: HTTP 401, 403 or 429, or it demanded a pause. 0 if it answered, or did not answer.", "node")
	nodeAnswered = metric.New("avax_node_answered_timestamp_seconds",
		"Time of the last answer of the node that was no error, in Unix seconds. Absent until the node has answered once. "+
			"With AVAX_STATE_DIR, it survives a restart of the exporter.", "node")
	nodeSilent = metric.New("avax_node_silent_timestamp_seconds",
		"When the node was last silent, restarted with another version, or changed its node ID, as the exporter saw it, in Unix seconds. A Prometheus that "+
			"scrapes less often than the exporter probes may see no sample of it. Absent if it was not.", "node")
	nodeRestart = metric.New("avax_node_longest_restart_seconds",
		"Longest time without an answer of the last 30 days, in seconds, of those up to four minutes: a restart. From one answered probe to the next. With "+
			"AVAX_STATE_DIR, it survives a restart of the exporter. Absent if there were less than three.", "node")
	nodeProbeDuration = metric.New("avax_node_probe_duration_seconds",
		"Time that the node took to answer the last probe, in seconds. Absent if it did not answer.", "node")
)

// up sets avax_node_up to 0 if the node does not answer. It fails only if the exporter's host lacks a
// resource for the call, or CPU. Then the previous sample stays until it expires.
var up = &collector.Spec{
	Name:     "up",
	Critical: true,
	Help:     "Whether the node answers.",
	Calls:    []string{"info.getNodeVersion"},
	Every:    15 * time.Second,
	Probe:    true,
	Families: []*metric.Family{nodeUp, nodeRejecting, nodeAnswered, nodeSilent, nodeRestart, nodeProbeDuration},
	Bind:     collector.Per(collector.Nodes, collectUp),
}

func collectUp(ctx context.Context, _ *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	outcome, took, err := on.Node.Probe(ctx)
	if err != nil {
		return err
	}
	out.SetBool(nodeUp, outcome == scrape.OK, on.Node.Name())
	out.SetBool(nodeRejecting, outcome.IsRejection(), on.Node.Name())
	out.Facts.Since = on.Node.Since()
	if silent := on.Node.Since(); !silent.IsZero() {
		out.SetTime(nodeSilent, silent, on.Node.Name())
	}
	past := on.Node.Past()
	if !past.Answered.IsZero() {
		out.SetTime(nodeAnswered, past.Answered, on.Node.Name())
	}
	if longest := past.Longest(); longest > 0 {
		out.Set(nodeRestart, longest.Seconds(), on.Node.Name())
	}
	if outcome == scrape.OK {
		out.Set(nodeProbeDuration, took.Seconds(), on.Node.Name())
	}
	return nil
}
