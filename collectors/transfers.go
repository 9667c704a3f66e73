package collectors

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var addressTransfers = metric.NewCounter("avax_address_transfers_total",
	"NFTs (ERC-721) that went to a watched address (in) or away from it (out) since it is followed.",
	"chain", "address", "direction")

var transfers = &Spec{
	Name:     "transfers",
	Help:     "Did NFTs come or go? Of the watched EVM addresses.",
	Calls:    []string{opERC721Transfers, "eth_getBlockByNumber", "platform.getBlockchains", "info.getBlockchainID"},
	Every:    10 * time.Minute,
	Families: []*metric.Family{addressTransfers},
	Scope:    metric.ScopeItemChain,
	Bind:     withData(perItemAndChain(Watchlist.evm, collectTransfers)),
	Cost:     calls(opERC721Transfers, 1),
}

func collectTransfers(ctx context.Context, ups *Upstreams, c Chain, address string, out *metric.Batch) error {
	return follow(ctx, ups, c, address, opERC721Transfers, addressTransfers, out, func(chainID string, r data.BlockRange) iter.Seq2[passage, error] {
		return passages(ups.Data.ERC721Transfers(ctx, chainID, address, r), func(t data.ERC721Transfer) passage {
			return passage{uint64(t.BlockNumber), fmt.Sprint(t.TxHash, " ", t.LogIndex), t.From.Address, t.To.Address}
		})
	})
}

// passage is what went from one address to another.
type passage struct {
	block    uint64
	id       string // not always its own
	from, to string
}

// passages makes a list of one thing a list of passages; none has no id.
func passages[T any](list iter.Seq2[T, error], read func(T) passage) iter.Seq2[passage, error] {
	return func(yield func(passage, error) bool) {
		for item, err := range list {
			var p passage
			if err == nil {
				p = read(item)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// passageBook is what was counted of an address since it is followed.
type passageBook struct {
	Newest uint64         // the newest block that has something; at first the chain's head
	Seen   map[string]int // how often what is in that block
	In     uint64
	Out    uint64
}

// followedPages is how many pages of news are read in one run.
const followedPages = 20

// follow counts what came and went since the last run: from the newest block
// that had something, which may hold more by now, whatever the service has
// indexed since.
func follow(ctx context.Context, ups *Upstreams, c Chain, address, op string, family *metric.Family, out *metric.Batch,
	list func(chainID string, r data.BlockRange) iter.Seq2[passage, error]) error {
	_, err := ofChain(ctx, ups, c, op+" "+address, func(chainID string) (none struct{}, err error) {
		name := ups.Data.entry(op[strings.LastIndex(op, ":")+1:], chainID, strings.ToLower(address))
		book := load[passageBook](&ups.Data.Ledger, out, name)
		if book.Newest == 0 {
			if book.Newest, err = headOf(ctx, ups.Targets, c); err != nil {
				return none, err
			}
		}
		seen := map[uint64]map[string]int{} // how often what is in a block
		for p, err := range list(chainID, data.BlockRange{StartBlock: new(book.Newest), Paging: data.Paging{MaxPages: followedPages}}) {
			if data.IsTruncated(err) {
				out.Note("of %s on %s, more came and went than is read in one run: not all of it is counted", address, c.Name)
				break
			}
			if err != nil {
				return none, err
			}
			if p.block < book.Newest || p.id == "" {
				continue
			}
			if seen[p.block] == nil {
				seen[p.block] = map[string]int{}
			}
			seen[p.block][p.id]++
			if p.block == book.Newest && seen[p.block][p.id] <= book.Seen[p.id] {
				continue
			}
			if strings.EqualFold(p.to, address) {
				book.In++
			}
			if strings.EqualFold(p.from, address) {
				book.Out++
			}
		}
		for block, ids := range seen {
			if block >= book.Newest {
				book.Newest, book.Seen = block, ids
			}
		}
		ups.Data.Ledger.save(out, name, book)
		out.Set(family, float64(book.In), c.Name, address, "in")
		out.Set(family, float64(book.Out), c.Name, address, "out")
		return none, nil
	})
	return err
}
