package dataservice

import (
	"context"
	"errors"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var addressCollectibles = metric.New("avax_address_collectibles",
	"ERC-721 (NFT) and ERC-1155 tokens that a monitored address holds. An ERC-1155 token counts once, whatever the amount.",
	"chain", "address", "type")

var Collectibles = &collector.Spec{
	Name:     "collectibles",
	Help:     "ERC-721 (NFT) and ERC-1155 tokens of the monitored EVM addresses.",
	Calls:    []string{data.ListCollectibles.Op(), "platform.getBlockchains", "platform.getTx", "info.getBlockchainID", "info.getNetworkID", "eth_chainId"},
	Every:    10 * time.Minute,
	Families: []*metric.Family{addressCollectibles},
	Bind:     collector.PerWithData(collector.Pairs(collector.Chains, collector.Items(collector.Watchlist.EVMItems)), collectCollectibles),
	Cost:     collector.Calls(data.ListCollectibles.Op(), 1),
}

func collectCollectibles(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	address := on.Item.Value
	held, err := collector.OfChain(ctx, ups, on.Chain, data.ListCollectibles.Op()+" "+address, func(chainID string) (map[string]int, error) {
		held, checked := map[string]int{data.ERC721: 0, data.ERC1155: 0}, map[string]bool{} // chains of the items
		for t, err := range collector.Readable(out, ups.Data.Collectibles(ctx, chainID, address, "")) {
			if err == nil && !checked[t.ChainID] {
				checked[t.ChainID] = true
				err = ups.CheckChain(ctx, data.ListCollectibles.Op(), on.Chain, t.ChainID)
			}
			if err != nil {
				return nil, err
			}
			held[collector.KindOrOther(held, t.ERCType)]++
		}
		return held, nil
	})
	for kind, count := range held {
		shown, saveErr := ups.ConfirmedCount(ups.Data.Entry("collectibles", on.Chain.Name, address, kind), count)
		err = errors.Join(err, saveErr)
		out.Set(addressCollectibles, float64(shown), on.Chain.Name, address, kind)
	}
	return err
}
