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

// Paging says how a list is asked for.
//
// A walk yields the items of one page after the other, until a page names no next one or the caller has enough. With the
// first error, which comes with no item, it ends, but for an error of one item (IsItem): it goes on with the next one. Each item is yielded once, by its identity (a transaction and log index, a
// message ID, …): pages overlap where a list grows while it is read. A page token lives for a day or so: where it has
// expired, the walk begins again with the first page, asked afresh, as often as it gets further each time.
type Paging struct {
	PageSize int // items of a page; 0: as the service likes for a single page, many for a walk, as each page costs the same
	MaxPages int // pages that a walk asks for at most, those of a new beginning included; 0: 100
}

const (
	mostPages = 100
	walkSize  = 500 // a page of blockchains could have 10,000, each with its genesis
)

func (p Paging) forWalk(e *Endpoint) Paging {
	return Paging{cmp.Or(p.PageSize, min(e.MaxPageSize, walkSize)), cmp.Or(max(0, p.MaxPages), mostPages)}
}

// IsTruncated tells whether a walk ended at MaxPages, with pages left.
func IsTruncated(err error) bool { return errors.Is(err, errMorePages) }

var errMorePages = errors.New("narrow the question, or allow for more (MaxPages)")

// page is one page of a list, and the token of the next.
type page[T any] interface{ content() ([]Item[T], string) }

// walk asks for page after page, and yields one item of each id.
func walk[P page[T], T any](ctx context.Context, e *Endpoint, mostPages int, ask func(ctx context.Context, token string) (P, error), id func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, token := ctx, ""
		deep, deepest := 0, 0 // pages since the beginning, at the last expiry
		yielded := map[string]bool{}
		fail := func(outcome scrape.Outcome, err error) {
			var none T
			yield(none, &scrape.Error{Op: e.Op(), Outcome: outcome, Err: err})
		}
		for range mostPages {
			page, err := ask(ctx, token)
			if isExpired(err) && deep > deepest {
				ctx, token = scrape.MaxAge(ctx, 0), "" // a remembered first page would name the same token
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
				fail(scrape.Malformed, errors.New("a page names itself as the next one"))
				return
			}
			token = next
			deep++
		}
		fail(scrape.TooLarge, fmt.Errorf("there are more than %d pages: %w", mostPages, errMorePages))
	}
}

// isExpired tells whether a page token is not accepted, or no longer: a refusal that names it.
func isExpired(err error) bool {
	if scrape.OutcomeOf(err) != scrape.Rejected {
		return false
	}
	words := strings.ToLower(err.Error())
	return strings.Contains(words, "pagetoken") || strings.Contains(words, "page token")
}
