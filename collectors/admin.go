package collectors

import (
	"context"
	"maps"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	nodeLogLevel = metric.New("avax_node_log_level",
		"Lowest level that a logger of the node writes to its file (log) or to the terminal (display); always 1. A chain's logger has the chain's name.",
		"node", "logger", "output", "level").AtMost(collector.MaxNamed)
	nodeChainAlias = metric.New("avax_node_chain_alias_info",
		"A name of P, X or a monitored chain on the node: an alias or the blockchain ID; always 1.", "node", "chain", "alias").AtMost(collector.MaxNamed)
)

var admin = &collector.Spec{
	Name:     "admin",
	Help:     "Log levels and chain aliases of the node. Off by default, because the admin API can change the node.",
	Calls:    []string{"admin.getLoggerLevel", "admin.getChainAliases", "info.getBlockchainID"},
	Every:    5 * time.Minute,
	Off:      true,
	Families: []*metric.Family{nodeLogLevel, nodeChainAlias},
	Bind:     collector.Per(collector.Nodes, collectAdmin),
}

func collectAdmin(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	n := on.Node
	levels, err := nodes.Optional(n.AdminLoggerLevels(ctx))
	if err != nil {
		return err
	}
	refs, err := ups.RefsOf(ctx, n, maps.Keys(levels))
	if err != nil {
		return err
	}
	for called, level := range levels {
		logger := ups.ChainName(refs[called])
		out.Set(nodeLogLevel, 1, n.Name(), logger, "log", level.LogLevel)
		out.Set(nodeLogLevel, 1, n.Name(), logger, "display", level.DisplayLevel)
	}
	for _, c := range ups.AllChains() {
		id, err := n.BlockchainID(scrape.MaxAge(ctx, collector.StaticAge), c.Ref)
		if node.IsNoSuchChain(err) {
			continue
		}
		if err != nil {
			return err
		}
		aliases, err := n.AdminChainAliases(ctx, id)
		if err != nil {
			return err
		}
		for _, alias := range aliases {
			out.Set(nodeChainAlias, 1, n.Name(), c.Name, alias)
		}
	}
	return nil
}
