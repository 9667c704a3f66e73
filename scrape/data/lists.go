package data

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"strings"

	"github.com/avax-exporter/avax-exporter/scrape"
)

const (
	maxPages    = 100 // of a walk, including restarts
	maxStale    = 50  // pages in succession with only items of earlier pages; a list that grows moves few items to the next page
	maxEmpty    = 500 // pages in succession without items; a service that filters may have some
	MaxPageSize = 500 // the cost of a page does not depend on its size; not the maximum, because a page of 10,000 blockchains with their genesis is too large
)

// get calls a method.
func get[T any](ctx context.Context, c *Client, m scrape.Typed[T], args Args) (T, error) {
	path, body, err := Request(m.Method, args)
	if err != nil {
		var none T
		return none, &scrape.Error{Op: m.Op(), Outcome: scrape.Rejected, Err: err}
	}
	answer, err := m.Call(ctx, c.u, path, body)
	return answer, c.Explain(err)
}

// getPage requests one page of a list. A pageSize of 0 means MaxPageSize.
func getPage[T any](ctx context.Context, c *Client, m scrape.Typed[Page[T]], args Args, pageSize int, token string) (Page[T], error) {
	args = maps.Clone(args)
	args["pageToken"], args["pageSize"] = token, cmp.Or(pageSize, min(m.MaxPageSize, MaxPageSize))
	return get(ctx, c, m, args)
}

// ReadPages requests the pages of a list, at most limit, and calls use for each. Use returns the number of items that no earlier page had, and
// whether it needs no further page. ReadPages begins at a place, and stores there how far it read. It returns true at the end of the list, or
// if use needs no further page.
//
// Page tokens expire after about a day. ReadPages then begins again at the first page, without shared answers. It fails if it reads no more
// pages after that than before, or if the pages repeat. The next call begins at the first page too. ReadPages calls restart if what use
// stored about the pages before is void.
//
// The end is a page without the token of a next page. If it has no items either, it must be so twice.
func ReadPages[T any](ctx context.Context, op string, limit int, at *scrape.Place, restart func(),
	page func(ctx context.Context, token string) (Page[T], error), use func([]Item[T]) (fresh int, done bool)) (ended bool, err error) {
	again := func() {
		*at = scrape.Place{}
		restart()
	}
	read, before := 0, -1 // pages since the last beginning, and pages read before that
	confirmed := false    // the end
	stale, empty := 0, 0  // pages in succession that have only items of earlier pages, or none
	for range limit {
		p, err := page(ctx, at.Token)
		if at.Token != "" && IsTokenExpired(err) {
			again()
			if read <= before {
				return false, scrape.BadPage(op, fmt.Errorf("page tokens expire at once: %w", err))
			}
			ctx = scrape.MaxAge(ctx, 0) // a shared first page would contain the expired token
			read, before = 0, read
			continue
		}
		if err != nil {
			return false, err
		}
		if at.Token != "" && len(p.Items) == 0 && p.NextPageToken == "" && !confirmed {
			confirmed, ctx = true, scrape.MaxAge(ctx, 0)
			continue
		}
		confirmed = false
		fresh, done := use(p.Items)
		if done || p.NextPageToken == "" {
			return true, nil
		}
		switch {
		case fresh > 0:
			stale, empty = 0, 0
		case len(p.Items) > 0:
			stale++
		default:
			empty++
		}
		if stale > maxStale || empty > maxEmpty {
			again()
			return false, scrape.BadPage(op, fmt.Errorf("%d pages in succession have only items of earlier pages or none", stale+empty))
		}
		if err := at.Follow(p.NextPageToken); err != nil {
			again()
			return false, scrape.BadPage(op, err)
		}
		read++
	}
	return false, nil
}

// walk yields the items of a list, page after page. It ends after the last page, or when the caller stops, or with the first error. After an
// error of one item (IsItem), it continues with the next item. Pages overlap when the list grows during the walk. Therefore the walk yields
// only one item per id, such as the address of a contract.
func walk[T any](ctx context.Context, c *Client, m scrape.Typed[Page[T]], args Args, id func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var at scrape.Place
		yielded, stopped := map[string]bool{}, false
		ended, err := ReadPages(ctx, m.Op(), maxPages, &at, func() {}, func(ctx context.Context, token string) (Page[T], error) {
			return getPage(ctx, c, m, args, 0, token)
		}, func(items []Item[T]) (fresh int, done bool) {
			for _, item := range items {
				var err error
				switch key := id(item.Value); {
				case item.Err != nil:
					err = newItemError(m.Method, item.Err)
				case yielded[key]:
					continue
				default:
					yielded[key] = true
					fresh++
				}
				if stopped = !yield(item.Value, err); stopped {
					return fresh, true
				}
			}
			return fresh, false
		})
		if stopped {
			return
		}
		if err == nil && !ended {
			err = &scrape.Error{Op: m.Op(), Outcome: scrape.TooLarge, Err: scrape.Advise(fmt.Errorf("the list has more than %d pages", maxPages),
				"Monitor an address with fewer items.")}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// IsTokenExpired reports whether the service rejected a page token: its error mentions the token.
func IsTokenExpired(err error) bool {
	if scrape.OutcomeOf(err) != scrape.Rejected {
		return false
	}
	words := strings.ToLower(err.Error())
	return strings.Contains(words, "pagetoken") || strings.Contains(words, "page token")
}
