package data

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// Whole is a list of the service that was read until it is complete.
type Whole[T any] struct {
	Items   []T
	Heights map[string]uint64 // block height at which an item is true, by its ID; 0 if the service does not say it
	Wrong   []error           // malformed items: each names its item
	Err     error             // why items may be missing; nil if two readings in succession agree
}

// Progress is how far ReadWhole has read.
type Progress struct {
	Reading, Pages int // from 0
	Items          int // of this reading
	Before         int // pages of the reading before; 0: none
}

const (
	maxReadings   = 6     // of a list that does not become complete
	maxWholePages = 2_000 // of a reading: a list without an end would fill the memory
)

var errReadingsDiffer = errors.New("the list differs each time that it is read")

// ReadWhole reads a list until two readings in succession have the same items. If the method has an order, every other reading is in the
// opposite order. So an item that moved to another page meanwhile, or a page that the service leaves out, is noticed. Each request goes through try,
// which may repeat it.
func ReadWhole[T any](ctx context.Context, c *Client, m scrape.Typed[Page[T]], args Args, id func(T) string,
	try func(ctx context.Context, request func(context.Context) error) error, progress func(Progress)) Whole[T] {
	args = maps.Clone(args)
	all := newReading[T]() // what any reading had
	var last *wholeReading[T]
	for n := range maxReadings {
		if slices.Contains(m.Params, "sortOrder?") {
			args["sortOrder"] = []string{Descending, "asc"}[n%2]
		}
		r := newReading[T]()
		page := func(ctx context.Context, token string) (p Page[T], err error) {
			err = try(ctx, func(ctx context.Context) (err error) {
				p, err = getPage(ctx, c, m, args, 0, token)
				return err
			})
			return p, err
		}
		r.list.Err = r.read(ctx, m, id, page, func() {
			p := Progress{Reading: n, Pages: r.pages, Items: len(r.list.Items)}
			if last != nil {
				p.Before = last.pages
			}
			progress(p)
		})
		for _, item := range r.list.Items {
			if key := id(item); !all.known[key] {
				all.known[key] = true
				all.list.Items = append(all.list.Items, item)
				all.list.Heights[key] = r.list.Heights[key]
			}
		}
		all.list.Wrong, all.list.Err = r.list.Wrong, r.list.Err
		switch {
		case r.list.Err != nil:
			return all.list
		case last != nil && maps.Equal(last.known, r.known):
			return r.list
		}
		last = r
	}
	all.list.Err = &scrape.Error{Op: m.Op(), Outcome: scrape.Malformed, Err: scrape.Advise(fmt.Errorf("%w: %d items in all readings, %d in the last one",
		errReadingsDiffer, len(all.known), len(last.known)), "Run the command again later.")}
	return all.list
}

// wholeReading is what one reading of a list found.
type wholeReading[T any] struct {
	list  Whole[T]
	known map[string]bool // IDs of the items, and errors of the malformed ones
	pages int
}

func newReading[T any]() *wholeReading[T] {
	r := &wholeReading[T]{}
	r.restart()
	return r
}

// restart forgets the items. The pages are counted for the progress.
func (r *wholeReading[T]) restart() {
	r.list, r.known = Whole[T]{Heights: map[string]uint64{}}, map[string]bool{}
}

// read reads the list from its first page to its end.
func (r *wholeReading[T]) read(ctx context.Context, m scrape.Typed[Page[T]], id func(T) string,
	page func(ctx context.Context, token string) (Page[T], error), progress func()) error {
	var at scrape.Place
	ended, err := ReadPages(ctx, m.Op(), maxWholePages, &at, r.restart, func(ctx context.Context, token string) (Page[T], error) {
		p, err := page(ctx, token)
		for _, item := range p.Items {
			if item.Err == nil {
				r.list.Heights[id(item.Value)] = p.BlockHeight
			}
		}
		r.pages++
		return p, err
	}, func(items []Item[T]) (fresh int, done bool) {
		before := len(r.known)
		r.add(m.Method, items, id)
		progress()
		return len(r.known) - before, false
	})
	if err == nil && !ended {
		err = &scrape.Error{Op: m.Op(), Outcome: scrape.TooLarge, Err: scrape.Advise(fmt.Errorf("the list has more than %d pages", maxWholePages),
			"Select fewer validators or addresses, or a later begin.")}
	}
	return err
}

// add adds the items of a page that are not known yet.
func (r *wholeReading[T]) add(m *scrape.Method, items []Item[T], id func(T) string) {
	for _, item := range items {
		var key string
		if item.Err != nil {
			key = "malformed " + item.Err.Error()
		} else {
			key = id(item.Value)
		}
		if r.known[key] {
			continue
		}
		r.known[key] = true
		if item.Err != nil {
			r.list.Wrong = append(r.list.Wrong, newItemError(m, item.Err))
		} else {
			r.list.Items = append(r.list.Items, item.Value)
		}
	}
}
