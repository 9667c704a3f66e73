package collectors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// evmConfig requests the configuration of an EVM chain from a node.
func evmConfig(ctx context.Context, n *nodes.Node, c nodes.Chain) (node.ChainConfig, error) {
	return nodes.Optional(n.EthChainConfig(ctx, c.Ref))
}

// shortHash returns a short hash of a text.
func shortHash(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:8])
}

// upgradeTimes returns the activation time of each scheduled upgrade, by name. If a precompile is enabled several
// times, the last time counts.
func upgradeTimes(config node.ChainConfig) map[string]time.Time {
	last := map[string]time.Time{}
	add := func(upgrade string, at time.Time) {
		// Year 9999 means not scheduled.
		if known, ok := last[upgrade]; at.Year() < 9999 && (!ok || at.After(known)) {
			last[upgrade] = at
		}
	}
	for member, at := range config.Times {
		name := member
		// Examples of members: etnaTimestamp, cancunTime, and on the C-Chain durangoBlockTimestamp.
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
	for i, s := range config.StateUpgrades {
		if s.BlockTimestamp != nil {
			add(stateUpgradeName(i), s.BlockTimestamp.Time)
		}
	}
	return last
}

// stateUpgradeName names a state upgrade by its place in the list of all, because it has no name.
func stateUpgradeName(i int) string { return fmt.Sprintf("stateUpgrade%d", i+1) }

// evmRules returns the rules and precompiles that are active in the newest block.
func evmRules(ctx context.Context, n *nodes.Node, c nodes.Chain) (node.Rules, error) {
	return nodes.Optional(n.EthActiveRulesAt(ctx, c.Ref))
}

// precompileStates returns whether each precompile of a chain is active, by name.
func precompileStates(config node.ChainConfig, rules node.Rules) map[string]bool {
	active := map[string]bool{}
	for name := range config.Precompiles {
		active[name] = false
	}
	for _, upgrade := range config.PrecompileUpgrades {
		for name := range upgrade {
			active[name] = false
		}
	}
	for name := range rules.Precompiles {
		active[name] = true
	}
	return active
}
