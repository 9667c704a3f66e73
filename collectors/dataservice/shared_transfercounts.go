package dataservice

import (
	"context"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// transfer is the transfer of a token or an amount from one address to another.
type transfer struct {
	block    uint64
	id       string // empty for an item that does not count as a transfer
	from, to string
}

// transferCounts is the stored value for the transfers of an address.
type transferCounts struct {
	Events eventCursor
	In     uint64 // transfers to the address
	Out    uint64 // transfers from the address
}

// transferList is a list of transfers of an address on a chain.
type transferList[T any] struct {
	op           string
	family, read *metric.Family
	copies       bool // equal items are different transfers
	page         func(ctx context.Context, chainID string, p *pass) (data.Page[T], error)
	transfer     func(T) transfer
}

// count counts the new transfers of an address in both directions.
func (list transferList[T]) count(ctx context.Context, ups *collector.Upstreams, c nodes.Chain, address string, out *metric.Batch) error {
	_, err := collector.OfChain(ctx, ups, c, list.op+" "+address, func(chainID string) (none struct{}, err error) {
		name := ups.Data.Entry(list.op[strings.LastIndex(list.op, ":")+1:], chainID, strings.ToLower(address))
		counts := collector.Load[transferCounts](ups, name)
		events := &counts.Events
		head, err := collector.NewestHeight(ctx, ups, c)
		if err != nil && len(events.Heads) == 0 {
			return none, err
		}
		events.begin(time.Now(), head)
		_, err = readPass(ctx, events, list.op, out, func(ctx context.Context, p *pass) (data.Page[T], error) {
			return list.page(ctx, chainID, p)
		}, func(items []T) bool {
			list.add(&counts, items, head, address)
			return false
		})
		ups.Save(out, name, counts)
		if err = ups.Data.OrStored(name, err); err != nil && !metric.HasSamples(err) {
			return none, err
		}
		events.set(out, list.read, c.Name, address)
		out.Set(list.family, float64(counts.In), c.Name, address, "in")
		out.Set(list.family, float64(counts.Out), c.Name, address, "out")
		return none, err
	})
	return err
}

// add counts the new transfers of a page.
func (list transferList[T]) add(counts *transferCounts, items []T, head uint64, address string) {
	var found []transfer
	var ids []string
	for _, item := range items {
		t := list.transfer(item)
		found, ids = append(found, t), append(ids, t.id)
	}
	events := &counts.Events
	if list.copies && events.repeats(ids) {
		return
	}
	for _, t := range found {
		if t.id == "" || !events.isNew(t.id, int64(t.block), list.copies) {
			continue
		}
		if head > 0 {
			events.notePosition(int64(t.block), int64(head))
		}
		if strings.EqualFold(t.to, address) {
			counts.In++
		}
		if strings.EqualFold(t.from, address) {
			counts.Out++
		}
	}
}
