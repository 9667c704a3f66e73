// Package metrics is the typed client of the Metrics service: transactions per second of a chain, of both API versions.
package metrics

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Client is the client of one Metrics service.
type Client struct{ u *scrape.Upstream }

// New returns the client of the service behind u.
func New(u *scrape.Upstream) *Client { return &Client{u} }

// Point is the value of one day. Timestamp is the start of the day, in UTC.
type Point struct {
	Timestamp wire.UnixTime `json:"timestamp"`
	Value     wire.Float    `json:"value"`
}

// Page is one page of a series. Results are usually sorted, newest first, but the service does not document this.
type Page struct {
	Results []Point        `json:"results"`
	LastRun *wire.UnixTime `json:"lastRun"` // last update of the series, only in version 1

	// The token of the next page. On the last page both fields are empty. The documentation uses one name, the service the
	// other.
	NextPageToken    string `json:"nextPageToken,omitzero"`
	NextPageStartKey string `json:"nextPageStartKey,omitzero"`
}

// Next returns the cursor of the next page.
func (p Page) Next() scrape.Cursor {
	if p.NextPageToken != "" {
		return scrape.Cursor{Param: "pageToken", Value: p.NextPageToken}
	}
	return scrape.Cursor{Param: "startKey", Value: p.NextPageStartKey}
}

// The methods: the two versions of the only series.
var (
	AvgTPS       = scrape.As[Page](&scrape.Method{Name: "avg_tps", Verb: http.MethodGet, Path: "/v1/avg_tps/{chainId}", Params: []string{"chainId", "pageToken?"}})
	chainMetrics = scrape.As[Page](&scrape.Method{Name: "chain_metrics", Verb: http.MethodGet, Path: "/v2/chains/{chainId}/metrics/{metric}",
		Params: []string{"chainId", "metric", "timeInterval", "pageToken?"}})
	validationFees = scrape.As[Page](&scrape.Method{Name: "validation_fees", Verb: http.MethodGet,
		Path: "/v2/validation/{l1ValidationId}/metrics/validationFeesDaily", Params: []string{"l1ValidationId", "pageToken?"}})
)

// series is the series of a chain in one version of the API.
type series struct {
	scrape.Typed[Page]
	path  string
	query url.Values
}

// url returns the path and the query of a page.
func (s series) url(at scrape.Cursor) string {
	query := maps.Clone(s.query)
	if at.Value != "" {
		query.Set(at.Param, at.Value)
	}
	if len(query) == 0 {
		return s.path
	}
	return s.path + "?" + query.Encode()
}

// offered returns the answer of version 1. If the service no longer offers version 1, it returns the answer of version 2. ChainID is
// the number of an EVM chain.
func offered[T any](chainID string, call func(series) (T, error)) (T, error) {
	chainID = url.PathEscape(chainID)
	answer, err := call(series{AvgTPS, "/v1/avg_tps/" + chainID, url.Values{}})
	if !saysGone(err) {
		return answer, err
	}
	newer, newerErr := call(series{chainMetrics, "/v2/chains/" + chainID + "/metrics/avgTps", url.Values{"timeInterval": {"day"}}})
	if saysGone(newerErr) { // neither version knows the chain
		return answer, err
	}
	return newer, newerErr
}

// saysGone reports whether an error can mean that the service no longer offers a version: HTTP 404 or 410, or a
// message that contains deprecated.
func saysGone(err error) bool {
	switch scrape.OutcomeOf(err) {
	case scrape.NotFound, scrape.NotOffered:
		return true
	case scrape.Rejected:
		return strings.Contains(err.Error(), "HTTP 410") || strings.Contains(strings.ToLower(err.Error()), "deprecated")
	}
	return false
}

// RepeatAfter is scrape.Options.RepeatAfter of the service. Version 1 is not called for an hour after the service did not offer it.
func RepeatAfter(path string, err error, _ bool) time.Duration {
	if strings.HasPrefix(path, "/v1/") && saysGone(err) {
		return time.Hour
	}
	return 0
}

// AvgTPSPage returns one page of the transactions per second of a chain as JSON, unchanged. The cursor of the first page is empty. If the
// page cannot be decoded, the error has the outcome malformed.
func (c *Client) AvgTPSPage(ctx context.Context, chainID string, at scrape.Cursor) (jsontext.Value, error) {
	return offered(chainID, func(s series) (jsontext.Value, error) {
		return s.Raw(ctx, c.u, s.url(at), nil)
	})
}

// AverageTPS is the newest complete value of a chain.
type AverageTPS struct {
	Point   *Point     // nil if no day is complete
	LastRun *time.Time // the service's last update of the series; without lastRun, the end of the newest day or now; nil without points
}

// ValidationFees returns the fees of an L1 validator by day, in nAVAX and in any order. It returns none if the service does not offer them or does
// not know the validator.
func (c *Client) ValidationFees(ctx context.Context, validationID string) ([]Point, error) {
	s := series{validationFees, "/v2/validation/" + url.PathEscape(validationID) + "/metrics/validationFeesDaily", url.Values{}}
	days := map[int64]Point{} // pages may overlap
	for page, err := range c.pages(ctx, s) {
		switch {
		case saysGone(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		for _, p := range page.Results {
			if !(p.Value >= 0 && p.Value < 1e18) {
				return nil, &scrape.Error{Op: s.Op(), Outcome: scrape.Malformed, Err: fmt.Errorf("%v nAVAX is no fee of a day", float64(p.Value))}
			}
			days[p.Timestamp.Unix()] = p
		}
	}
	return slices.Collect(maps.Values(days)), nil
}

// pages yields the pages of a series. It ends after the last page, or with the first error.
func (c *Client) pages(ctx context.Context, s series) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		var at scrape.Cursor
		var place scrape.Place
		for range maxPages {
			page, err := s.Call(ctx, c.u, s.url(at), nil)
			if !yield(page, err) || err != nil {
				return
			}
			if at = page.Next(); at.Value == "" {
				return
			}
			if err := place.Follow(at.Value); err != nil {
				yield(Page{}, scrape.BadPage(s.Op(), err))
				return
			}
		}
		yield(Page{}, &scrape.Error{Op: s.Op(), Outcome: scrape.Malformed, Err: fmt.Errorf("more than %d pages", maxPages)})
	}
}

// maxPages is the maximum number of pages of a series. With one point per day, these pages cover more than a century.
const maxPages = 500

// AverageTPS returns the newest complete day of a chain, because the value of a day changes until it is complete. A day is complete if it
// ended before lastRun. Without lastRun, every day except the newest is complete. AverageTPS requests pages until it finds a complete
// day. If the oldest days come first, it requests all pages.
func (c *Client) AverageTPS(ctx context.Context, chainID string) (AverageTPS, error) {
	return offered(chainID, func(s series) (AverageTPS, error) { return c.newest(ctx, s) })
}

func (c *Client) newest(ctx context.Context, s series) (AverageTPS, error) {
	var found AverageTPS
	var points []Point
	var lastRun *time.Time
	for page, err := range c.pages(ctx, s) {
		if err != nil {
			return AverageTPS{}, err
		}
		points = append(points, page.Results...)
		if page.LastRun != nil {
			lastRun = &page.LastRun.Time
		}
		if found = newestComplete(points, lastRun); found.Point != nil && !oldestFirst(page.Results) {
			break
		}
	}
	return found, nil
}

func oldestFirst(points []Point) bool {
	return len(points) > 1 && points[0].Timestamp.Before(points[len(points)-1].Timestamp.Time)
}

func newestComplete(points []Point, lastRun *time.Time) AverageTPS {
	if len(points) == 0 {
		return AverageTPS{LastRun: lastRun}
	}
	const day = 24 * time.Hour
	points = slices.SortedFunc(slices.Values(points), func(a, b Point) int { return b.Timestamp.Compare(a.Timestamp.Time) })
	found, until := AverageTPS{LastRun: lastRun}, points[0].Timestamp.Time
	if lastRun != nil {
		until = *lastRun
	} else {
		end := until.Add(day)
		if now := time.Now(); end.After(now) {
			end = now
		}
		found.LastRun = &end
	}
	if i := slices.IndexFunc(points, func(p Point) bool { return !p.Timestamp.Add(day).After(until) }); i >= 0 {
		found.Point = &points[i]
	}
	return found
}
