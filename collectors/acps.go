package collectors

import (
	"context"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
)

var acpStake = metric.New("avax_acp_stake_avax",
	"Stake in AVAX by its position on an Avalanche Community Proposal (support, object, abstain), as reported by the node's peers. The node's own stake counts "+
		"as abstain.", "node", "acp", "position").AtMost(collector.MaxNamed)

var acps = &collector.Spec{
	Name:     "acps",
	Help:     "Stake of the node's peers, by position on community proposals.",
	Calls:    []string{"info.acps"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{acpStake},
	Bind:     collector.PerNode(collectACPs),
}

func collectACPs(ctx context.Context, _ *collector.Upstreams, n *nodes.Node, out *metric.Batch) error {
	proposals, err := n.ACPs(ctx)
	if err != nil {
		return err
	}
	for number, p := range proposals {
		acp := strconv.FormatUint(uint64(number), 10)
		out.Set(acpStake, p.SupportWeight.AVAX(), n.Name(), acp, "support")
		out.Set(acpStake, p.ObjectWeight.AVAX(), n.Name(), acp, "object")
		out.Set(acpStake, p.AbstainWeight.AVAX(), n.Name(), acp, "abstain")
	}
	return nil
}
