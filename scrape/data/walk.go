package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
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
	// PageSize is the number of items per page. With 0, a single page has the service's default, and a walk uses up to 500,
	// because the cost of a page does not depend on its size.
	PageSize int
	MaxPages int // maximum number of pages of a walk, including restarts; 0: 100
}

const (
	maxPages = 100
	walkSize = 500 // default PageSize of a walk; not the maximum, because a page of 10,000 blockchains with their genesis is too large
)

func (p Paging) forWalk(e *Endpoint) Paging {
	return Paging{cmp.Or(p.PageSize, min(e.MaxPageSize, walkSize)), cmp.Or(max(0, p.MaxPages), maxPages)}
}

// IsTruncated reports whether a walk ended at MaxPages with pages left.
func IsTruncated(err error) bool { return errors.Is(err, errMorePages) }

var errMorePages = errors.New("select fewer items, or raise MaxPages")

// page is one page of a list and the token of the next.
type page[T any] interface{ content() ([]Item[T], string) }

// walk requests page after page and yields one item per id.
func walk[P page[T], T any](ctx context.Context, e *Endpoint, maxPages int, get func(ctx context.Context, token string) (P, error), id func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, token := ctx, ""
		deep, deepest := 0, 0 // pages since the last restart; pages before the last restart
		yielded := map[string]bool{}
		fail := func(outcome scrape.Outcome, err error) {
			var none T
			yield(none, &scrape.Error{Op: e.Op(), Outcome: outcome, Err: err})
		}
		for range maxPages {
			page, err := get(ctx, token)
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
			items, next := page.content()
			for _, item := range items {
				if item.Err != nil {
					if !yield(item.Value, e.itemError(item.Err)) {
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
			if next == "" {
				return
			}
			if next == token {
				fail(scrape.Malformed, errors.New("the next page has the same token as the current page"))
				return
			}
			token = next
			deep++
		}
		fail(scrape.TooLarge, fmt.Errorf("there are more than %d pages: %w", maxPages, errMorePages))
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
