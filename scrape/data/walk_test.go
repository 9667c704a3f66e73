package data_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// list is a service with one list of contracts, two per page. A token encodes the position of the page and its walk.
type list struct {
	addresses []string
	expires   map[int]int // how often the token of a page, by number, is rejected as expired
	words     string      // text of that error
	requests  []string    // requested tokens
	walk      int
}

func (l *list) answer(r *http.Request) (*http.Response, error) {
	token := r.URL.Query().Get("pageToken")
	l.requests = append(l.requests, token)
	if token == "" {
		l.walk++
		token = fmt.Sprint("0-", l.walk)
	}
	number, walk, _ := strings.Cut(token, "-")
	n, _ := strconv.Atoi(number)
	if l.expires[n] > 0 || walk != fmt.Sprint(l.walk) {
		l.expires[n]--
		return refuse(400, l.words), nil
	}
	var items []string
	for _, a := range l.addresses[min(2*n, len(l.addresses)):min(2*n+2, len(l.addresses))] {
		items = append(items, `{"address":"`+a+`"}`)
	}
	next := ""
	if 2*n+2 < len(l.addresses) {
		next = fmt.Sprintf("%d-%d", n+1, l.walk)
	}
	return respond(200, `{"contracts":[`+strings.Join(items, ",")+`],"nextPageToken":"`+next+`"}`), nil
}

const expired = "pageToken is invalid or expired"

func (l *list) client(t *testing.T) *data.Client {
	if l.words == "" {
		l.words = expired
	}
	return data.New(open(t, l.answer))
}

// collect walks to the end.
func collect(t *testing.T, c *data.Client) (got []string, err error) {
	t.Helper()
	for found, err := range c.Deployments(t.Context(), "1", wallet) {
		if err != nil {
			return got, err
		}
		got = append(got, found.Address)
	}
	return got, nil
}

func TestWalkRestartsAfterAnExpiredToken(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e", "f", "g"}
	for name, l := range map[string]*list{
		"in the middle":       {addresses: all, expires: map[int]int{2: 1}},
		"other error text":    {addresses: all, expires: map[int]int{1: 1}, words: "The Page Token has expired"},
		"twice with progress": {addresses: all, expires: map[int]int{1: 1, 3: 1}},
	} {
		got, err := collect(t, l.client(t))
		if err != nil || !slices.Equal(got, all) {
			t.Errorf("%s: got %q, %v; requested %q", name, got, err, l.requests)
		}
		if begun := len(slices.DeleteFunc(slices.Clone(l.requests), func(s string) bool { return s != "" })); begun < 2 {
			t.Errorf("%s: %d starts", name, begun)
		}
	}
}

func TestWalkWithoutProgressFails(t *testing.T) {
	l := &list{addresses: []string{"a", "b", "c", "d", "e"}, expires: map[int]int{1: 99}}
	got, err := collect(t, l.client(t))
	if want := "GET /v1/chains/{chainId}/contracts/{address}/deployments: malformed: page tokens expire at once: GET " +
		"/v1/chains/{chainId}/contracts/{address}/deployments: rejected: HTTP 400: " + expired; err == nil || err.Error() != want || len(got) != 2 ||
		len(l.requests) != 4 {
		t.Errorf("got %q, %v after %q", got, err, l.requests)
	}
}

func TestOtherRejectionsAreNotTokenExpiry(t *testing.T) {
	l := &list{addresses: []string{"a", "b", "c"}, expires: map[int]int{1: 1}, words: "chainId is unknown"}
	if got, err := collect(t, l.client(t)); scrape.OutcomeOf(err) != scrape.Rejected || len(got) != 2 || len(l.requests) != 2 {
		t.Errorf("got %q, %v after %q", got, err, l.requests)
	}
	l = &list{expires: map[int]int{0: 1}}
	if _, err := collect(t, l.client(t)); err == nil || len(l.requests) != 1 {
		t.Errorf("rejection without a token: %v after %q", err, l.requests)
	}
}

func TestRestartedWalkSharesNoAnswers(t *testing.T) {
	l := &list{addresses: []string{"a", "b", "c"}, expires: map[int]int{}}
	c, ctx := l.client(t), scrape.MaxAge(t.Context(), time.Hour)
	for _, err := range c.Deployments(ctx, "1", wallet) { // the first page is shared
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	l.walk++ // the service rejects its token
	if n, err := count(c.Deployments(ctx, "1", wallet)); n != 3 || err != nil {
		t.Errorf("%d items, %v", n, err)
	}
	if want := []string{"", "1-1", "", "1-3"}; !slices.Equal(l.requests, want) {
		t.Errorf("requested %q, want %q", l.requests, want)
	}
}

func TestEndlessWalkEnds(t *testing.T) {
	pages := 0
	c := data.New(open(t, func(*http.Request) (*http.Response, error) {
		pages++
		return respond(200, fmt.Sprintf(`{"contracts":[],"nextPageToken":"%d"}`, pages)), nil
	}))
	if _, err := collect(t, c); scrape.OutcomeOf(err) != scrape.TooLarge || pages != 100 {
		t.Errorf("%v after %d pages", err, pages)
	}
}

func TestPageThatNamesItselfIsAnError(t *testing.T) {
	requests := 0
	c := data.New(open(t, func(*http.Request) (*http.Response, error) {
		requests++
		return respond(200, `{"contracts":[{"address":"a"}],"nextPageToken":"same"}`), nil
	}))
	if got, err := collect(t, c); scrape.OutcomeOf(err) != scrape.Malformed || len(got) != 1 || requests != 2 {
		t.Errorf("got %q, %v after %d pages", got, err, requests)
	}
}

func TestNoPageIsRequestedAfterTheCallerStops(t *testing.T) {
	l := &list{addresses: []string{"a", "b", "c", "d"}, expires: map[int]int{}}
	walk := l.client(t).Deployments(t.Context(), "1", wallet)
	for range 2 { // each walk starts at the first page
		for found, err := range walk {
			if found.Address != "a" || err != nil {
				t.Errorf("got %+v, %v", found, err)
			}
			break
		}
	}
	if !slices.Equal(l.requests, []string{"", ""}) {
		t.Errorf("requested %q", l.requests)
	}
}

func TestItemsAreYieldedOnceWhateverExpires(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		addresses := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 12).Draw(r, "addresses")
		l := &list{addresses: addresses, expires: map[int]int{}}
		for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(1, 5), 0, 5, rapid.ID[int]).Draw(r, "expired") {
			l.expires[n] = 1
		}
		var want []string
		for _, a := range addresses {
			if !slices.Contains(want, a) {
				want = append(want, a)
			}
		}
		got, err := collect(t, l.client(t))
		if err != nil || !slices.Equal(got, want) {
			r.Fatalf("got %q, want %q, %v; asked for %q", got, want, err, l.requests)
		}
	})
}

func TestMalformedItemLeavesOtherItems(t *testing.T) {
	for _, bad := range []string{`{"address":7}`, `{"addres":"b"}`, `null`, `[]`} {
		c := data.New(open(t, func(*http.Request) (*http.Response, error) {
			return respond(200, `{"contracts":[{"address":"a"},`+bad+`,{"address":"c"}]}`), nil
		}))
		var got []string
		items := 0
		for found, err := range c.Deployments(t.Context(), "1", wallet) {
			if err == nil {
				got = append(got, found.Address)
			} else if items++; !data.IsItem(err) || scrape.OutcomeOf(err) != scrape.Malformed {
				t.Errorf("%s: %v", bad, err)
			}
		}
		if !slices.Equal(got, []string{"a", "c"}) || items != 1 {
			t.Errorf("%s: got %q and %d errors", bad, got, items)
		}
	}
}

// Pages that repeat end the walk with an error that names the list: a cycle of any length, after any beginning, also if the service writes
// other tokens each time.
func TestRepeatedPagesEndTheWalk(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		before, cycle := rapid.IntRange(0, 20).Draw(r, "pages before the cycle"), rapid.IntRange(1, 20).Draw(r, "pages of the cycle")
		newTokens := rapid.Bool().Draw(r, "new tokens")
		pages := 0
		c := data.New(open(t, func(q *http.Request) (*http.Response, error) {
			pages++
			number, _, _ := strings.Cut(q.URL.Query().Get("pageToken"), "-")
			n, _ := strconv.Atoi(number)
			next := fmt.Sprint(n + 1)
			if n+1 == before+cycle {
				next = fmt.Sprint(before)
			}
			if next == "0" || newTokens {
				next += fmt.Sprint("-", pages)
			}
			return respond(200, fmt.Sprintf(`{"contracts":[{"address":"%d"}],"nextPageToken":"%s"}`, n, next)), nil
		}))
		items, err := collect(t, c)
		if scrape.OutcomeOf(err) != scrape.Malformed || !strings.Contains(err.Error(), "/deployments") || len(items) != before+cycle {
			r.Fatalf("%d items, %v", len(items), err)
		}
		if most := 3*(before+cycle) + 60; pages > most {
			r.Errorf("%d pages, want at most %d", pages, most)
		}
	})
}

// A cycle is found even if each run reads only a few pages, and the place is stored in between.
func TestStoredPlaceFindsRepeatedPages(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		before, cycle, each := rapid.IntRange(0, 50).Draw(r, "before"), rapid.IntRange(1, 90).Draw(r, "cycle"), rapid.IntRange(1, 20).Draw(r, "pages of a run")
		var at scrape.Place
		pages := 0
		for pages <= 3*(before+cycle)+2 {
			_, err := data.ReadPages(t.Context(), "list", each, &at, func() {}, func(_ context.Context, token string) (data.Page[int], error) {
				pages++
				n, _ := strconv.Atoi(token)
				if n++; n == before+cycle {
					n = before
				}
				if n == 0 {
					return data.Page[int]{NextPageToken: "zero"}, nil
				}
				return data.Page[int]{NextPageToken: fmt.Sprint(n)}, nil
			}, func(items []data.Item[int]) (int, bool) { return len(items), false })
			if err != nil {
				if !errors.Is(err, scrape.ErrRepeatedToken) || at != (scrape.Place{}) {
					r.Errorf("%v at %+v", err, at)
				}
				return
			}
			text, _ := json.Marshal(at)
			at = scrape.Place{}
			if err := json.Unmarshal(text, &at); err != nil {
				r.Fatal(err)
			}
		}
		r.Errorf("no error after %d pages", pages)
	})
}

// Pages without items do not end a list before its last page. An empty last page must be empty twice.
func TestEmptyPagesDoNotEndTheList(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 2), 1, 12).Draw(r, "items of each page")
		broken := rapid.IntRange(0, len(sizes)).Draw(r, "page that is once empty and the last one")
		want := 0
		for _, n := range sizes {
			want += n
		}
		failed := broken == 0
		c := data.New(open(t, func(q *http.Request) (*http.Response, error) {
			n, _ := strconv.Atoi(q.URL.Query().Get("pageToken"))
			if n == broken && !failed {
				failed = true
				return respond(200, `{"contracts":[]}`), nil
			}
			var items []string
			for i := range sizes[n] {
				items = append(items, fmt.Sprintf(`{"address":"%d-%d"}`, n, i))
			}
			next := ""
			if n+1 < len(sizes) {
				next = fmt.Sprint(n + 1)
			}
			return respond(200, `{"contracts":[`+strings.Join(items, ",")+`],"nextPageToken":"`+next+`"}`), nil
		}))
		if got, err := collect(t, c); err != nil || len(got) != want {
			r.Errorf("%d items of %d, %v", len(got), want, err)
		}
	})
}
