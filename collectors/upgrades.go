package collectors

import (
	"context"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var upgradeTimestamp = metric.New("avax_upgrade_timestamp_seconds",
	"Activation time of a network upgrade in Unix seconds, as the node reports it. Absent if the upgrade is not scheduled.", "node",
	"upgrade").AtMost(collector.MaxNamed)

var acpStake = metric.New("avax_acp_stake_avax",
	"Stake in AVAX by its position on an Avalanche Community Proposal (support, object, abstain), as reported by the node's peers. The node's own stake counts "+
		"as abstain. A node supports by itself what its release schedules: AvalancheGo 1.15.0, config.go.", "node", "acp", "position").AtMost(collector.MaxNamed)

var upgrades = &collector.Spec{
	Name:     "upgrades",
	Help:     "Network upgrades that the node knows, and stake of the node's peers by position on community proposals (ACPs).",
	Calls:    []string{"info.upgrades", "info.acps"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{upgradeTimestamp, acpStake},
	Bind:     collector.Per(collector.Nodes, collectUpgrades),
}

func collectUpgrades(ctx context.Context, _ *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	known, err := on.Node.Upgrades(ctx)
	if err != nil {
		return err
	}
	for upgrade, at := range known.Scheduled() {
		out.SetTime(upgradeTimestamp, at, on.Node.Name(), upgrade)
	}
	proposals, err := on.Node.ACPs(ctx)
	for number, p := range proposals {
		acp := strconv.FormatUint(uint64(number), 10)
		out.Set(acpStake, p.SupportWeight.AVAX(), on.Node.Name(), acp, "support")
		out.Set(acpStake, p.ObjectWeight.AVAX(), on.Node.Name(), acp, "object")
		out.Set(acpStake, p.AbstainWeight.AVAX(), on.Node.Name(), acp, "abstain")
	}
	return metric.WithSamples(err)
}
