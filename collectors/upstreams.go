package collectors

import (
	"context"
	"net"
	"slices"
	"sync"

	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
)

// Upstreams has everything that a collector's jobs call or monitor: nodes, chains, the watch list and services.
type Upstreams struct {
	*nodes.Pool
	Watch Watchlist
	// Metrics is the Metrics service, or nil if it is not configured.
	Metrics *metrics.Client
	// Ledger stores the measurements of collectors that call nodes. Nil: they are in memory.
	Ledger *Ledger
	// Data is the Data service, or nil if it is not configured.
	Data *DataService
	// Dial opens the connections of the collector staking_port. Nil: those of the operating system.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu        sync.Mutex
	reporters map[string]string // see isReporter; by fact
}

// ledger returns the ledger of collectors that call nodes.
func (ups *Upstreams) ledger() *Ledger {
	ups.mu.Lock()
	defer ups.mu.Unlock()
	if ups.Ledger == nil {
		ups.Ledger = new(Ledger)
	}
	return ups.Ledger
}

// isReporter returns whether the jobs of a node or chain, by name, set the series of a fact. Two nodes may have the same
// fact, such as the rewards of their common node ID. Only the first of them sets the series. If present returns false
// for the first one, the other replaces it.
func (ups *Upstreams) isReporter(fact, name string, present func(name string) bool) bool {
	ups.mu.Lock()
	defer ups.mu.Unlock()
	if first, known := ups.reporters[fact]; known && first != name && present(first) {
		return false
	}
	if ups.reporters == nil {
		ups.reporters = map[string]string{}
	}
	ups.reporters[fact] = name
	return true
}

// nodeReports returns whether the jobs of this node set the series of a fact. Two nodes with the same ID have the same
// fact.
func (ups *Upstreams) nodeReports(n *nodes.Node, fact string) bool {
	return ups.isReporter(fact, n.Name(), func(name string) bool {
		return slices.ContainsFunc(ups.Nodes(), func(other *nodes.Node) bool { return other.Name() == name })
	})
}

// chainReports returns whether the jobs of this chain set the series of a fact. Two monitored chains of the same subnet
// have the same fact.
func (ups *Upstreams) chainReports(c nodes.Chain, fact string) bool {
	return ups.isReporter(fact, c.Name, func(name string) bool {
		return slices.ContainsFunc(ups.Chains(), func(other nodes.Chain) bool { return other.Name == name })
	})
}
