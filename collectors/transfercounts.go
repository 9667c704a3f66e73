package collectors

import (
	"context"
	"iter"
	"maps"
	"strings"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// transfer is the transfer of a token or an amount from one address to another.
type transfer struct {
	block    uint64
	id       string
	from, to string
}

// transfersFrom converts items of the Data service to transfers. If an item does not count as a transfer, convert
// returns a transfer without id.
func transfersFrom[T any](list iter.Seq2[T, error], convert func(T) transfer) iter.Seq2[transfer, error] {
	return func(yield func(transfer, error) bool) {
		for item, err := range list {
			var t transfer
			if err == nil {
				t = convert(item)
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// transferCounts is the ledger entry for the transfers of an address.
type transferCounts struct {
	Newest  uint64          // newest block with a transfer; before the first transfer, the head of the chain
	Counted map[string]bool // IDs of the counted transfers in the block Newest
	In      uint64          // transfers to the address
	Out     uint64          // transfers from the address
}

// countTransfers counts the new transfers of an address in both directions. It reads the block with the newest counted
// transfer again, because the service may have indexed more transfers of that block after the last run.
func countTransfers(ctx context.Context, ups *Upstreams, c nodes.Chain, address, op string, family *metric.Family, out *metric.Batch,
	list func(chainID string, startBlock uint64, p data.Paging) iter.Seq2[transfer, error]) error {
	_, err := ofChain(ctx, ups, c, op+" "+address, func(chainID string) (none struct{}, err error) {
		name := ups.Data.entry(op[strings.LastIndex(op, ":")+1:], chainID, strings.ToLower(address))
		counts := load[transferCounts](&ups.Data.Ledger, out, name)
		if counts.Newest == 0 {
			if counts.Newest, err = newestHeight(ctx, ups, c); err != nil {
				return none, err
			}
		}
		seen := map[uint64]map[string]bool{} // IDs of the listed transfers, by block
		for t, err := range list(chainID, counts.Newest, data.Paging{MaxPages: maxNewPages}) {
			if data.IsTruncated(err) {
				out.Note("%s has more transfers on %s than one run reads: some are not counted", address, c.Name)
				break
			}
			if err != nil {
				return none, err
			}
			if t.block < counts.Newest || t.id == "" {
				continue
			}
			if seen[t.block] == nil {
				seen[t.block] = map[string]bool{}
			}
			seen[t.block][t.id] = true
			if t.block == counts.Newest && counts.Counted[t.id] {
				continue
			}
			if strings.EqualFold(t.to, address) {
				counts.In++
			}
			if strings.EqualFold(t.from, address) {
				counts.Out++
			}
		}
		newest := counts.Newest
		for block := range seen {
			newest = max(newest, block)
		}
		if newest > counts.Newest || counts.Counted == nil {
			counts.Newest, counts.Counted = newest, seen[newest]
		} else {
			maps.Copy(counts.Counted, seen[newest])
		}
		ups.Data.Ledger.save(out, name, counts)
		out.Set(family, float64(counts.In), c.Name, address, "in")
		out.Set(family, float64(counts.Out), c.Name, address, "out")
		return none, nil
	})
	return err
}
