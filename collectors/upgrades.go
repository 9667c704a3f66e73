package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var upgradeTimestamp = metric.New("avax_upgrade_timestamp_seconds",
	"Activation time of a network upgrade in Unix seconds, as the node reports it. Absent if the upgrade is not scheduled.", "node",
	"upgrade").AtMost(collector.MaxNamed)

var upgrades = &collector.Spec{
	Name:     "upgrades",
	Help:     "Network upgrades that the node knows.",
	Calls:    []string{"info.upgrades"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{upgradeTimestamp},
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
	return nil
}
