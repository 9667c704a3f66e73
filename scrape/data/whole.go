package data

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Whole is a list of the service that was read until it is complete.
type Whole[T any] struct {
	Items   []T
	Heights map[string]uint64 // block height at which an item is true, by its ID; 0 if the service does not say it
	Wrong   []error           // malformed items: each names its item
	Err     error             // why items may be missing; nil if two readings in succession agree
}

// Fetch returns the answer to a request. The reading counts from 0: answers of one reading must not serve another.
type Fetch func(ctx context.Context, m *scrape.Method, path string, reading int) (jsontext.Value, error)

// Progress is how far ReadWhole has read.
type Progress struct {
	Reading, Pages int // from 0
	Items          int // of this reading
	Before         int // pages of the reading before; 0: none
}

// maxReadings is the maximum number of readings of a list that does not become complete.
const maxReadings = 6

var errReadingsDiffer = errors.New("the list differs each time that it is read")

// ReadWhole reads a list until two readings in succession have the same items. If the method has an order, every other reading is in the
// opposite order. So an item that moved to another page meanwhile, or a page that the service leaves out, is noticed.
func ReadWhole[T any](ctx context.Context, m scrape.Typed[Page[T]], args Args, id func(T) string, fetch Fetch, progress func(Progress)) Whole[T] {
	ordered := slices.Contains(m.Params, "sortOrder?")
	before, all, most := Progress{Pages: -1}, Whole[T]{Heights: map[string]uint64{}}, map[string]bool{}
	var last map[string]bool
	for reading := range maxReadings {
		asked := maps.Clone(args)
		if ordered {
			asked["sortOrder"] = []string{Descending, "asc"}[reading%2]
		}
		list, known, pages := Whole[T]{Heights: map[string]uint64{}}, map[string]bool{}, 0
		var at scrape.Place
		var repeated KnownPages
		_, err := ReadPages(ctx, m.Op(), math.MaxInt, &at, func() {
			list, known = Whole[T]{Heights: map[string]uint64{}}, map[string]bool{}
		}, func(ctx context.Context, token string) (p Page[T], err error) {
			asked["pageToken"], asked["pageSize"] = token, min(m.MaxPageSize, MaxPageSize)
			path, _, err := Request(m.Method, asked)
			if err != nil {
				return p, &scrape.Error{Op: m.Op(), Outcome: scrape.Rejected, Err: err}
			}
			answer, err := fetch(ctx, m.Method, path, reading)
			if err == nil {
				err = wire.DecodeBytes(answer, &p)
			}
			for i := range p.Items {
				if height := p.BlockHeight; p.Items[i].Err == nil {
					list.Heights[id(p.Items[i].Value)] = height
				}
			}
			pages++
			return p, err
		}, func(items []Item[T]) bool {
			for _, item := range items {
				key := ""
				if item.Err != nil {
					key = "malformed " + item.Err.Error()
				} else {
					key = id(item.Value)
				}
				if known[key] {
					continue
				}
				known[key] = true
				if item.Err != nil {
					list.Wrong = append(list.Wrong, newItemError(m.Method, item.Err))
				} else {
					list.Items = append(list.Items, item.Value)
				}
			}
			progress(Progress{reading, pages, len(list.Items), max(0, before.Pages)})
			return repeated.Repeat(len(items), len(known))
		})
		if err == nil {
			err = repeated.Err(m.Op())
		}
		for _, item := range list.Items { // what any reading had
			if key := id(item); !most[key] {
				most[key] = true
				all.Items = append(all.Items, item)
				all.Heights[key] = list.Heights[key]
			}
		}
		switch {
		case err != nil:
			all.Wrong, all.Err = list.Wrong, err
			return all
		case last != nil && maps.Equal(last, known):
			return list
		}
		all.Wrong, last, before.Pages = list.Wrong, known, pages
	}
	all.Err = &scrape.Error{Op: m.Op(), Outcome: scrape.Malformed, Err: scrape.Advise(fmt.Errorf("%w: %d items in all readings, %d in the last one",
		errReadingsDiffer, len(most), len(last)), "Run the command again later.")}
	return all
}
