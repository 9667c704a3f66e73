package collectors

import (
	"context"
	"maps"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	precompileActive = metric.New("avax_chain_precompile_active",
		"1 if the precompiled contract is active in the newest block, 0 if it is scheduled or disabled.",
		"chain", "precompile").AtMost(collector.MaxNamed)
	ruleActive = metric.New("avax_chain_rule_active",
		"1 if the rule, such as IsEtna, is active in the newest block, 0 if not.", "chain", "rule").AtMost(collector.MaxNamed)
)

var chainRules = &collector.Spec{
	Name:     "chain_rules",
	Help:     "Active rules and precompiles of a Subnet-EVM chain.",
	Calls:    []string{"eth_getActiveRulesAt", "eth_getChainConfig"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{precompileActive, ruleActive},
	Bind:     collector.Per(collector.SubnetChains, collectChainRules),
}

func collectChainRules(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	rules, err := nodes.First(ctx, ups.Pool, nodes.BasisRules, func(ctx context.Context, n *nodes.Node) (node.Rules, error) { return evmRules(ctx, n, on.Chain) })
	if err != nil {
		return err
	}
	config, err := nodes.First(ctx, ups.Pool, nodes.BasisRules, func(ctx context.Context, n *nodes.Node) (node.ChainConfig, error) {
		return evmConfig(ctx, n, on.Chain)
	})
	if err != nil {
		return err
	}
	for name, active := range precompileStates(config, rules) {
		out.SetBool(precompileActive, active, on.Chain.Name, name)
	}
	holds := maps.Clone(rules.EthRules)
	maps.Copy(holds, rules.AvalancheRules)
	for rule, active := range holds {
		out.SetBool(ruleActive, active, on.Chain.Name, rule)
	}
	return nil
}
