// Package metrics is the typed client of the metrics service: time series per chain. Version 1 of the service is asked.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Client asks one metrics service.
type Client struct{ u *scrape.Upstream }

// New asks the service behind u.
func New(u *scrape.Upstream) *Client { return &Client{u} }

// Name is the configured name of the service.
func (c *Client) Name() string { return c.u.Name() }

// Healthy tells whether the service itself answered the last finished call.
func (c *Client) Healthy() bool { return c.u.Healthy() }

// Point is one value of a series. Timestamp is the start of its bucket, in UTC.
type Point struct {
	Timestamp wire.UnixTime `json:"timestamp"`
	Value     wire.Float    `json:"value"`
}

// Page is one page of a series. The order of Results is newest first by custom, not by promise.
type Page struct {
	Results []Point        `json:"results"`
	LastRun *wire.UnixTime `json:"lastRun"` // when the series was last brought up to date

	// The way to the next page; both empty on the last. The service is documented with one name and known with the other.
	NextPageToken    string `json:"nextPageToken,omitzero"`
	NextPageStartKey string `json:"nextPageStartKey,omitzero"`
}

const avgTPS = "GET /v1/avg_tps/{chainId}"

// mostPages bounds a walk: at a point a day, more than a century.
const mostPages = 500

// AvgTPS asks GET /v1/avg_tps/{chainId} page by page, until the last page, an error, or the caller has enough. ChainID is
// the number of an EVM chain.
func (c *Client) AvgTPS(ctx context.Context, chainID string) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		var query url.Values
		for range mostPages {
			page, err := scrape.Get[Page](ctx, c.u, avgTPS, "/v1/avg_tps/"+url.PathEscape(chainID), query)
			if !yield(page, err) || err != nil {
				return
			}
			next := url.Values{}
			switch {
			case page.NextPageToken != "":
				next.Set("pageToken", page.NextPageToken)
			case page.NextPageStartKey != "":
				next.Set("startKey", page.NextPageStartKey)
			default:
				return
			}
			if next.Encode() == query.Encode() {
				yield(Page{}, &scrape.Error{Op: avgTPS, Outcome: scrape.Malformed, Err: errors.New("a page names itself as the next one")})
				return
			}
			query = next
		}
		yield(Page{}, &scrape.Error{Op: avgTPS, Outcome: scrape.Malformed, Err: fmt.Errorf("no end after %d pages", mostPages)})
	}
}

// AverageTPS is the newest complete value of a chain.
type AverageTPS struct {
	Point   *Point     // nil where no bucket is complete
	LastRun *time.Time // when the service last brought the series up to date; nil where it does not say
}

// AverageTPS finds the newest complete point of GET /v1/avg_tps/{chainId}.
//
// The newest bucket of the series is still filling and its value changes, so it does not count. A point is complete if
// its bucket has ended by lastRun, or by now where lastRun is absent. A bucket is as long as the shortest distance
// between two points of the page, or a day where there is only one. Further pages are asked while none holds a complete
// point, and to the end where a page shows that the oldest come first.
func (c *Client) AverageTPS(ctx context.Context, chainID string) (AverageTPS, error) {
	var found AverageTPS
	for page, err := range c.AvgTPS(ctx, chainID) {
		if err != nil {
			return AverageTPS{}, err
		}
		if page.LastRun != nil {
			found.LastRun = &page.LastRun.Time
		}
		by := time.Now()
		if found.LastRun != nil {
			by = *found.LastRun
		}
		if p := newestComplete(page.Results, by); p != nil && (found.Point == nil || p.Timestamp.After(found.Point.Timestamp.Time)) {
			found.Point = p
		}
		if found.Point != nil && !oldestFirst(page.Results) {
			break
		}
	}
	return found, nil
}

func oldestFirst(points []Point) bool {
	return len(points) > 1 && points[0].Timestamp.Before(points[len(points)-1].Timestamp.Time)
}

func newestComplete(points []Point, by time.Time) *Point {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b Point) int { return b.Timestamp.Compare(a.Timestamp.Time) })
	bucket := 24 * time.Hour
	shortest := time.Duration(0)
	for i := 1; i < len(points); i++ {
		gap := points[i-1].Timestamp.Sub(points[i].Timestamp.Time)
		if gap > 0 && (shortest == 0 || gap < shortest) {
			shortest = gap
		}
	}
	if shortest > 0 {
		bucket = shortest
	}
	for _, p := range points {
		if !p.Timestamp.Add(bucket).After(by) {
			return &p
		}
	}
	return nil
}
