package collectors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/node"
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
	config, err := configOf(ctx, n, c)
	if err != nil {
		return err
	}
	out.Set(chainConfigInfo, 1, n.Name(), c.Name, strconv.FormatUint(config.ChainID, 10), hashOf(config))
	for upgrade, at := range upgradesOf(config) {
		out.SetTime(chainUpgradeTimestamp, at, n.Name(), c.Name, upgrade)
	}
	return nil
}

func configOf(ctx context.Context, n *Node, c Chain) (node.ChainConfig, error) {
	return ask(n, "eth_getChainConfig "+c.Ref, func() (node.ChainConfig, error) { return n.EthChainConfig(ctx, c.Ref) })
}

// hashOf tells configurations apart.
func hashOf(config node.ChainConfig) string {
	hash := sha256.Sum256([]byte(config.Canonical))
	return hex.EncodeToString(hash[:8])
}

// upgradesOf returns the last time of every upgrade that has one.
func upgradesOf(config node.ChainConfig) map[string]time.Time {
	last := map[string]time.Time{}
	add := func(upgrade string, at time.Time) {
		// Not scheduled is written as the year 9999.
		if known, ok := last[upgrade]; at.Year() < 9999 && (!ok || at.After(known)) {
			last[upgrade] = at
		}
	}
	for member, at := range config.Times {
		name := member
		// etnaTimestamp, cancunTime, and on the C-Chain durangoBlockTimestamp.
		for _, end := range []string{"Timestamp", "Time", "Block"} {
			name = strings.TrimSuffix(name, end)
		}
		add(name, at)
	}
	precompile := func(name string, p node.Precompile) {
		if p.Disable {
			name += ":disable"
		}
		if p.BlockTimestamp != nil {
			add(name, p.BlockTimestamp.Time)
		}
	}
	for name, p := range config.Precompiles {
		precompile(name, p)
	}
	for _, upgrade := range config.PrecompileUpgrades {
		for name, p := range upgrade {
			precompile(name, p)
		}
	}
	return last
}
