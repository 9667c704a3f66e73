package dataservice

import (
	"context"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
)

var (
	chainAvgTPS = metric.New("avax_chain_avg_tps",
		"Transactions per second over the newest complete day, from the Metrics service.", "chain")
	chainAvgTPSTimestamp = metric.New("avax_chain_avg_tps_timestamp_seconds",
		"Start of the newest complete day of avax_chain_avg_tps, in Unix seconds.", "chain")
	metricsServiceLastRun = metric.New("avax_metrics_service_last_run_timestamp_seconds",
		"Time at which the Metrics service last updated the chain's data, in Unix seconds.", "chain")
)

var TPS = &collector.Spec{
	Name:        "tps",
	Help:        "Transactions per second of the chain, from the Metrics service. Needs AVAX_METRICS_URL.",
	Calls:       []string{metrics.AvgTPS.Op(), "info.isBootstrapped", "eth_chainId"},
	NeedsNoNode: true,
	Every:       10 * time.Minute,
	Families:    []*metric.Family{chainAvgTPS, chainAvgTPSTimestamp, metricsServiceLastRun},
	Bind: func(ups *collector.Upstreams) []collector.Job {
		if ups.Metrics == nil {
			return nil
		}
		return collector.Per(collector.Chains, collectTPS)(ups)
	},
}

func collectTPS(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	id, err := collector.EVMChainID(ctx, ups, on.Chain)
	if err != nil {
		return err
	}
	answer, err := ups.Metrics.AverageTPS(ctx, strconv.FormatUint(id, 10))
	if err != nil {
		return err
	}
	if answer.Point != nil {
		out.Set(chainAvgTPS, float64(answer.Point.Value), on.Chain.Name)
		out.SetTime(chainAvgTPSTimestamp, answer.Point.Timestamp.Time, on.Chain.Name)
	}
	if answer.LastRun != nil {
		out.SetTime(metricsServiceLastRun, *answer.LastRun, on.Chain.Name)
	}
	return nil
}
