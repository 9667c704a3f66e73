package collectors

import "github.com/avax-exporter/avax-exporter/scrape/metrics"

// Upstreams is what collectors are bound to: the nodes and chains, what is watched
// of them, and the services.
type Upstreams struct {
	*Targets
	Watch Watchlist
	// Metrics is the Metrics service; nil where it is not configured.
	Metrics *metrics.Client
	// Data is the Data service; nil where it is not configured.
	Data *DataService
}
