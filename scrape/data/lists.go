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

// A walk requests page after page and yields the items. It ends after the last page, or when the caller stops, or with the
// first error. After an error of one item (IsItem), the walk continues with the next item. Pages overlap when the list grows
// during the walk. Therefore the walk yields only one item per identity, such as the address of a contract.
//
// Page tokens expire after about a day. The walk then restarts at the first page, without shared answers. It fails if it reads
// no more pages after a restart than before.
const (
	maxPages    = 100 // of a walk, including restarts
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

// walk requests page after page of a list and yields one item per id.
func walk[T any](ctx context.Context, c *Client, m scrape.Typed[Page[T]], args Args, id func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, token := ctx, ""
		deep, deepest := 0, 0 // pages since the last restart; pages before the last restart
		yielded := map[string]bool{}
		var none T
		for range maxPages {
			page, err := getPage(ctx, c, m, args, 0, token)
			if IsTokenExpired(err) && deep > deepest {
				ctx, token = scrape.MaxAge(ctx, 0), "" // a shared first page would contain the expired token
				deep, deepest = 0, deep
				continue
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if item.Err != nil {
					if !yield(item.Value, newItemError(m.Method, item.Err)) {
						return
					}
					continue
				}
				key := id(item.Value)
				if yielded[key] {
					continue
				}
				yielded[key] = true
				if !yield(item.Value, nil) {
					return
				}
			}
			switch page.NextPageToken {
			case "":
				return
			case token:
				yield(none, scrape.BadPage(m.Op(), scrape.ErrRepeatedToken))
				return
			}
			token = page.NextPageToken
			deep++
		}
		yield(none, &scrape.Error{Op: m.Op(), Outcome: scrape.TooLarge, Err: scrape.Advise(fmt.Errorf("the list has more than %d pages", maxPages),
			"Monitor an address with fewer items, or disable the collector with AVAX_COLLECTORS=-name.")})
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
