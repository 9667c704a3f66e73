package dataservice

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var (
	nftTimestamp = metric.New("avax_nft_metadata_timestamp_seconds",
		"Time at which the Data service last read the token's metadata, in Unix seconds. Absent if the service has never read the metadata, or if no monitored "+
			"address holds the token.",
		"chain", "contract", "token")
	nftIndexed = metric.New("avax_nft_metadata_indexed",
		"1 if the Data service has a valid copy of the token's metadata, 0 if not. Absent if no monitored address holds the token.", "chain", "contract", "token")
)

var NFTMetadata = &collector.Spec{
	Name: "nft_metadata",
	Help: "Metadata of NFTs in the Data service. Needs AVAX_WATCH_TOKENS. The holder of each token must be in AVAX_WATCH_ADDRESSES.",
	Calls: []string{data.ListCollectibles.Op(), data.PostReindex.Op(), "platform.getBlockchains",
		"platform.getTx", "info.getBlockchainID", "info.getNetworkID"},
	Every:    10 * time.Minute,
	Families: []*metric.Family{nftTimestamp, nftIndexed},
	Bind:     collector.PerWithData(monitoredTokens, collectNFTMetadata),
	Cost: func(w collector.Watchlist, jobs int) map[string]int {
		reindexed := 0
		for _, t := range w.Tokens {
			if t.Reindex {
				reindexed++
			}
		}
		return map[string]int{data.ListCollectibles.Op(): jobs * len(w.EVM), data.PostReindex.Op(): min(jobs, reindexed)}
	},
}

// monitoredTokens are the tokens whose chain is monitored. With AVAX_CHAINS=auto, the chain of another one may be discovered later.
func monitoredTokens(ups *collector.Upstreams) (all []collector.Subject) {
	for _, on := range collector.Chains(ups) {
		for _, t := range ups.Watched().Tokens {
			if t.Chain == on.Chain.Name {
				on.Item = collector.Item{Name: t.Title()}
				all = append(all, on)
			}
		}
	}
	return all
}

func collectNFTMetadata(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	tokens := ups.Watched().Tokens
	i := slices.IndexFunc(tokens, func(t collector.Token) bool { return t.Chain == on.Chain.Name && t.Title() == on.Item.Name })
	if i < 0 { // a reload has removed it
		return nil
	}
	t := tokens[i]
	_, err := collector.OfChain(ctx, ups, on.Chain, data.ListCollectibles.Op()+" "+t.Contract+" "+t.ID, func(chainID string) (none struct{}, err error) {
		found, err := findToken(ctx, ups, chainID, t, out)
		if err != nil {
			return none, err
		}
		if found == nil {
			out.Note("no monitored address holds token %s of %s on %s: add the holder to the monitored addresses", t.ID, t.Contract, t.Chain)
			return none, nil
		}
		out.SetBool(nftIndexed, found.Metadata.Indexed(), t.Chain, t.Contract, t.ID)
		if m := found.Metadata; m != nil && m.MetadataLastUpdatedTimestamp != nil {
			out.SetTime(nftTimestamp, m.MetadataLastUpdatedTimestamp.Time, t.Chain, t.Contract, t.ID)
		}
		if t.Reindex && !found.Metadata.Indexed() {
			reindex(ctx, ups, chainID, t, out)
		}
		return none, nil
	})
	return err
}

// findToken searches for a token among the tokens of the monitored addresses. It starts with the address that held
// the token last. It returns nil if no monitored address holds the token.
func findToken(ctx context.Context, ups *collector.Upstreams, chainID string, t collector.Token, out *metric.Batch) (*data.Collectible, error) {
	name := ups.Data.Entry("holder", chainID, strings.ToLower(t.Contract), t.ID)
	last, _ := state.Load[string](&ups.Memory, name)
	order := collector.Values(ups.Watched().EVM)
	slices.SortStableFunc(order, func(a, b string) int {
		switch last {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	readings := 1
	if last != "" { // a page may be missing: two readings must agree
		readings = 2
	}
	for range readings {
		for _, address := range order {
			for held, err := range collector.Readable(out, ups.Data.Collectibles(ctx, chainID, address, t.Contract)) {
				if err != nil {
					return nil, err
				}
				if held.TokenID == t.ID {
					return &held, ups.Memory.Save(name, address)
				}
			}
		}
		ctx = scrape.MaxAge(ctx, 0)
	}
	return nil, ups.Memory.Save(name, "")
}

// reindexEvery is the minimum time between two reindex requests for the same token.
const reindexEvery = time.Hour

// reindex requests that the service reads the token's metadata again, at most once per reindexEvery. It stores the time
// before the call, so that a restart does not repeat the call.
func reindex(ctx context.Context, ups *collector.Upstreams, chainID string, t collector.Token, out *metric.Batch) {
	name := ups.Data.Entry("reindexed", chainID, strings.ToLower(t.Contract), t.ID)
	last := collector.Load[time.Time](ups, name)
	if since := time.Since(last); since >= 0 && since < reindexEvery {
		return
	}
	ups.Save(out, name, time.Now())
	if err := ups.Data.Reindex(ctx, chainID, t.Contract, t.ID); err != nil {
		out.Note("token %s of %s on %s: %v", t.ID, t.Contract, t.Chain, fmt.Errorf("reindex request failed: %w", err))
	}
}
