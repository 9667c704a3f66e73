package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var dataBlockchainsFamily = metric.New("avax_data_blockchains",
	"Number of blockchains that the Data service lists, including those of the primary network.", "network")

var dataBlockchains = &Spec{
	Name:     "data_blockchains",
	Help:     "Number of blockchains that the Data service lists.",
	Calls:    []string{data.ListBlockchains.Op(), "info.getNetworkID"},
	Every:    time.Hour,
	Families: []*metric.Family{dataBlockchainsFamily},
	Bind:     withData(bindDataBlockchains),
	Cost:     calls(data.ListBlockchains.Op(), blockchainPages),
}

// blockchainPages is the estimated number of pages of the list: the Data service lists about 2,000 chains.
const blockchainPages = 4

func bindDataBlockchains(ups *Upstreams) []Job {
	return []Job{{metric.Target{Item: "data"}, func(ctx context.Context, out *metric.Batch) error {
		count := 0
		for _, err := range readable(out, ups.Data.Blockchains(ctx, ups.Data.networkName())) {
			if err != nil {
				return err
			}
			count++
		}
		out.Set(dataBlockchainsFamily, float64(count), ups.Data.networkName())
		return nil
	}}}
}
