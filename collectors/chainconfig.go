package collectors

import (
	"context"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var (
	chainConfigInfo = metric.New("avax_chain_config_info",
		"Hash of an EVM chain's configuration on the node, including upgrades; always 1. Nodes with the same configuration have the same hash. A node with a "+
			"different hash may fork.",
		"node", "chain", "evm_chain_id", "hash")
	chainUpgradeTimestamp = metric.New("avax_chain_upgrade_timestamp_seconds",
		"Activation time of an upgrade of the chain in Unix seconds, as configured on the node. Upgrades are network upgrades (etna), the activation of a "+
			"precompile (feeManagerConfig) and its deactivation (feeManagerConfig:disable), and state upgrades by their place in "+
			"upgrade.json (stateUpgrade1). If a precompile is activated several times, the last time counts. Absent "+
			"if the upgrade is not scheduled.",
		"node", "chain", "upgrade").AtMost(collector.MaxNamed)
)

var chainConfig = &collector.Spec{
	Name:     "chain_config",
	Help:     "Configuration and upgrades of an EVM chain on the node.",
	Calls:    []string{"eth_getChainConfig"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{chainConfigInfo, chainUpgradeTimestamp},
	Bind:     collector.Per(collector.Pairs(collector.Chains, collector.Nodes), collectChainConfig),
}

func collectChainConfig(ctx context.Context, _ *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	config, err := evmConfig(ctx, on.Node, on.Chain)
	if err != nil {
		return err
	}
	out.Set(chainConfigInfo, 1, on.Node.Name(), on.Chain.Name, strconv.FormatUint(config.ChainID, 10), shortHash(config.Canonical))
	for upgrade, at := range upgradeTimes(config) {
		out.SetTime(chainUpgradeTimestamp, at, on.Node.Name(), on.Chain.Name, upgrade)
	}
	return nil
}
