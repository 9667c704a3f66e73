package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// Paging configures the requests of a list.
//
// A walk requests page after page and yields the items. It ends after the last page, or when the caller stops, or with the
// first error. After an error of one item (IsItem), the walk continues with the next item. Pages overlap when the list grows
// during the walk. Therefore the walk yields only one item per identity, such as a transaction hash and log index.
//
// Page tokens expire after about a day. The walk then restarts at the first page, without shared answers. It fails if it reads
// no more pages after a restart than before.
type Paging struct {
	PageSize int // items per page; 0: up to 500, because the cost of a page does not depend on its size
	MaxPages int // maximum number of pages of a walk, including restarts; 0: 100
}

const (
	maxPages = 100
	walkSize = 500 // default PageSize of a walk; not the maximum, because a page of 10,000 blockchains with their genesis is too large
)

// IsTruncated reports whether a walk ended at MaxPages with pages left.
func IsTruncated(err error) bool { return errors.Is(err, errMorePages) }

var errMorePages = errors.New("select fewer items, or raise MaxPages")

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

// getPage requests one page of a list.
func getPage[T any](ctx context.Context, c *Client, m scrape.Typed[Page[T]], args Args, pageSize int, token string) (Page[T], error) {
	args = maps.Clone(args)
	args["pageToken"] = token
	if pageSize > 0 {
		args["pageSize"] = pageSize
	}
	return get(ctx, c, m, args)
}

// walk requests page after page of a list and yields one item per id.
func walk[T any](ctx context.Context, c *Client, m scrape.Typed[Page[T]], args Args, p Paging, id func(T) string) iter.Seq2[T, error] {
	return walkPages(ctx, c, m, args, p, func(page Page[T]) (ids []string, err error) {
		for _, item := range page.Items {
			ids = append(ids, id(item.Value))
		}
		return ids, nil
	})
}

// walkPages is walk with a function that checks a page and returns the ids of its items.
func walkPages[T any](ctx context.Context, c *Client, m scrape.Typed[Page[T]], args Args, p Paging, identify func(Page[T]) ([]string, error)) iter.Seq2[T, error] {
	size, most := cmp.Or(p.PageSize, min(m.MaxPageSize, walkSize)), cmp.Or(max(0, p.MaxPages), maxPages)
	return func(yield func(T, error) bool) {
		ctx, token := ctx, ""
		deep, deepest := 0, 0 // pages since the last restart; pages before the last restart
		yielded := map[string]bool{}
		fail := func(outcome scrape.Outcome, err error) {
			var none T
			yield(none, &scrape.Error{Op: m.Op(), Outcome: outcome, Err: err})
		}
		for range most {
			page, err := getPage(ctx, c, m, args, size, token)
			if isExpired(err) && deep > deepest {
				ctx, token = scrape.MaxAge(ctx, 0), "" // a shared first page would contain the expired token
				deep, deepest = 0, deep
				continue
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			ids, err := identify(page)
			if err != nil {
				fail(scrape.Malformed, err)
				return
			}
			for i, item := range page.Items {
				if item.Err != nil {
					if !yield(item.Value, newItemError(m.Method, item.Err)) {
						return
					}
					continue
				}
				if yielded[ids[i]] {
					continue
				}
				yielded[ids[i]] = true
				if !yield(item.Value, nil) {
					return
				}
			}
			switch page.NextPageToken {
			case "":
				return
			case token:
				fail(scrape.Malformed, errors.New("the next page has the same token as the current page"))
				return
			}
			token = page.NextPageToken
			deep++
		}
		fail(scrape.TooLarge, fmt.Errorf("there are more than %d pages: %w", most, errMorePages))
	}
}

// isExpired reports whether the service rejected a page token: its error mentions the token.
func isExpired(err error) bool {
	if scrape.OutcomeOf(err) != scrape.Rejected {
		return false
	}
	words := strings.ToLower(err.Error())
	return strings.Contains(words, "pagetoken") || strings.Contains(words, "page token")
}
