package collectors

import (
	"context"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
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
	Bind:     collector.Per(collector.Nodes, collectACPs),
}

func collectACPs(ctx context.Context, _ *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	proposals, err := on.Node.ACPs(ctx)
	if err != nil {
		return err
	}
	for number, p := range proposals {
		acp := strconv.FormatUint(uint64(number), 10)
		out.Set(acpStake, p.SupportWeight.AVAX(), on.Node.Name(), acp, "support")
		out.Set(acpStake, p.ObjectWeight.AVAX(), on.Node.Name(), acp, "object")
		out.Set(acpStake, p.AbstainWeight.AVAX(), on.Node.Name(), acp, "abstain")
	}
	return nil
}
