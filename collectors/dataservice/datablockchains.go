package dataservice

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var dataBlockchainsFamily = metric.New("avax_data_blockchains",
	"Number of blockchains that the Data service lists, including those of the primary network.", "network")

var DataBlockchains = &collector.Spec{
	Name:     "data_blockchains",
	Help:     "Number of blockchains that the Data service lists.",
	Calls:    []string{data.ListBlockchains.Op(), "info.getNetworkID"},
	Every:    time.Hour,
	Families: []*metric.Family{dataBlockchainsFamily},
	Bind:     collector.PerWithData(collector.Service, collectDataBlockchains),
	Cost:     collector.Calls(data.ListBlockchains.Op(), blockchainPages),
}

// blockchainPages is the estimated number of pages of the list: the Data service lists about 2,000 chains.
const blockchainPages = 4

func collectDataBlockchains(ctx context.Context, ups *collector.Upstreams, _ collector.Subject, out *metric.Batch) error {
	count := 0
	for _, err := range collector.Readable(out, ups.Data.Blockchains(ctx, ups.Data.NetworkName())) {
		if err != nil {
			return err
		}
		count++
	}
	shown, err := ups.ConfirmedCount(ups.Data.Entry("blockchains", ups.Data.NetworkName()), count)
	out.Set(dataBlockchainsFamily, float64(shown), ups.Data.NetworkName())
	return err
}
