package dataservice

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var addressDeployments = metric.NewCounter("avax_address_deployments_total",
	"Contracts that a monitored address has deployed.", "chain", "address")

var Deployments = &collector.Spec{
	Name:     "deployments",
	Help:     "Contracts that monitored addresses have deployed. Needs AVAX_WATCH_CONTRACTS.",
	Calls:    []string{data.ListDeployments.Op(), "platform.getBlockchains", "platform.getTx", "info.getBlockchainID", "info.getNetworkID"},
	Every:    15 * time.Minute,
	Families: []*metric.Family{addressDeployments},
	Bind:     collector.PerWithData(collector.Pairs(collector.Chains, collector.Items(collector.Watchlist.ContractItems)), collectDeployments),
	Cost:     collector.Calls(data.ListDeployments.Op(), 1),
}

func collectDeployments(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	address := on.Item.Value
	count, err := collector.OfChain(ctx, ups, on.Chain, data.ListDeployments.Op()+" "+address, func(chainID string) (count int, err error) {
		for _, err := range collector.Readable(out, ups.Data.Deployments(ctx, chainID, address)) {
			if err != nil {
				return 0, err
			}
			count++
		}
		return count, nil
	})
	if err != nil {
		return err
	}
	shown, err := ups.ConfirmedCount(ups.Data.Entry("deployments", on.Chain.Name, address), count)
	out.Set(addressDeployments, float64(shown), on.Chain.Name, address)
	return err
}
