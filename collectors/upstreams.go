package collectors

import "github.com/avax-exporter/avax-exporter/scrape/metrics"

// Upstreams is what collectors are bound to: nodes and chains, monitored subjects, and services.
type Upstreams struct {
	*Targets
	Watch Watchlist
	// Metrics is the Metrics service, or nil if it is not configured.
	Metrics *metrics.Client
	// Ledger stores what collectors of nodes have measured. Nil: each job starts without.
	Ledger *Ledger
	// Data is the Data service, or nil if it is not configured.
	Data *DataService
}
