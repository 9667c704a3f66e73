package collectors

import "github.com/avax-exporter/avax-exporter/scrape/metrics"

// Upstreams has everything that a collector's jobs call or monitor: nodes, chains, the watch list and services.
type Upstreams struct {
	*Targets
	Watch Watchlist
	// Metrics is the Metrics service, or nil if it is not configured.
	Metrics *metrics.Client
	// Ledger stores the measurements of collectors that call nodes. Nil: each job starts without earlier
	// measurements.
	Ledger *Ledger
	// Data is the Data service, or nil if it is not configured.
	Data *DataService
}
