package collectors

import (
	"context"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var (
	chainConfigInfo = metric.New("avax_chain_config_info",
		"The configuration of an EVM chain as the node has it, its upgrades included; always 1. Nodes that agree have the same hash; one that does not is about to fork.",
		"node", "chain", "evm_chain_id", "hash")
	chainUpgradeTimestamp = metric.New("avax_chain_upgrade_timestamp_seconds",
		"When an upgrade of the chain activates, or did, as the node's configuration has it, in Unix seconds: a network upgrade (etna), "+
			"a precompile's (feeManagerConfig), or the end of one (feeManagerConfig:disable). Of several the last counts; absent while it is not scheduled.",
		"node", "chain", "upgrade").AtMost(mostNamed)
)

var chainConfig = &Spec{
	Name:     "chain_config",
	Help:     "How is an EVM chain configured on the node, and which upgrades does it know?",
	Calls:    []string{"eth_getChainConfig"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{chainConfigInfo, chainUpgradeTimestamp},
	Scope:    metric.ScopeNodeChain,
	Bind:     perNodeAndChain((*Targets).Chains, collectChainConfig),
}

func collectChainConfig(ctx context.Context, _ *Targets, n *Node, c Chain, out *metric.Batch) error {
	config, err := evmConfig(ctx, n, c)
	if err != nil {
		return err
	}
	out.Set(chainConfigInfo, 1, n.Name(), c.Name, strconv.FormatUint(config.ChainID, 10), configHash(config))
	for upgrade, at := range upgradeTimes(config) {
		out.SetTime(chainUpgradeTimestamp, at, n.Name(), c.Name, upgrade)
	}
	return nil
}
