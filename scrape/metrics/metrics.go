// Package metrics is the typed client of the Metrics service: time series per chain, of both API versions.
package metrics

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Client is the client of one Metrics service.
type Client struct {
	u *scrape.Upstream

	mu   sync.Mutex
	gone time.Time // last time at which the service did not offer version 1; zero: it offers version 1
}

// New returns the client of the service behind u.
func New(u *scrape.Upstream) *Client { return &Client{u: u} }

// Name returns the configured name of the service.
func (c *Client) Name() string { return c.u.Name() }

// Point is one value of a series. It covers a period of time, the bucket. Timestamp is the start of the bucket, in UTC.
type Point struct {
	Timestamp wire.UnixTime `json:"timestamp"`
	Value     wire.Float    `json:"value"`
}

// Page is one page of a series. Results are usually sorted, newest first, but the service does not document this.
type Page struct {
	Results []Point        `json:"results"`
	LastRun *wire.UnixTime `json:"lastRun"` // last update of the series

	// The token of the next page. On the last page both fields are empty. The documentation uses one name, the service the
	// other.
	NextPageToken    string `json:"nextPageToken,omitzero"`
	NextPageStartKey string `json:"nextPageStartKey,omitzero"`
}

var methods []*scrape.Method

// The table of methods: the two versions of the only series.
var (
	avgTPS       = scrape.Declare[Page](&methods, scrape.Method{Name: "avg_tps", Verb: http.MethodGet, Path: "/v1/avg_tps/{chainId}", Params: []string{"chainId", "pageToken?"}})
	chainMetrics = scrape.Declare[Page](&methods, scrape.Method{Name: "chain_metrics", Verb: http.MethodGet, Path: "/v2/chains/{chainId}/metrics/{metric}", Params: []string{"chainId", "metric", "timeInterval", "pageToken?"}})
)

// maxPages is the maximum number of pages of a series. With one point per day, these pages cover more than a century.
const maxPages = 500

// AvgTPS yields the pages of GET /v1/avg_tps/{chainId}, up to the last page or the first error. ChainID is the number of an
// EVM chain.
func (c *Client) AvgTPS(ctx context.Context, chainID string) iter.Seq2[Page, error] {
	return c.pages(ctx, avgTPS, tpsPath(chainID), nil)
}

// pages yields the pages of a series. Each request has these parameters.
func (c *Client) pages(ctx context.Context, m scrape.Typed[Page], path string, parameters url.Values) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		query := parameters
		for range maxPages {
			page, err := m.Call(ctx, c.u, withQuery(path, query), nil)
			if !yield(page, err) || err != nil {
				return
			}
			next := maps.Clone(parameters)
			if next == nil {
				next = url.Values{}
			}
			switch {
			case page.NextPageToken != "":
				next.Set("pageToken", page.NextPageToken)
			case page.NextPageStartKey != "":
				next.Set("startKey", page.NextPageStartKey)
			default:
				return
			}
			if next.Encode() == query.Encode() {
				yield(Page{}, scrape.BadPage(m.Op(), scrape.ErrRepeatedToken))
				return
			}
			query = next
		}
		yield(Page{}, &scrape.Error{Op: m.Op(), Outcome: scrape.Malformed, Err: fmt.Errorf("more than %d pages", maxPages)})
	}
}

func tpsPath(chainID string) string { return "/v1/avg_tps/" + url.PathEscape(chainID) }

func withQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// AvgTPSPage calls GET /v1/avg_tps/{chainId} for one page. If the service no longer offers version 1, AvgTPSPage calls
// GET /v2/chains/{chainId}/metrics/{metric}. It returns the page as JSON, unchanged. PageToken is the token in the previous
// page, and empty for the first page. If the page cannot be decoded, the error has the outcome malformed.
func (c *Client) AvgTPSPage(ctx context.Context, chainID, pageToken string) (jsontext.Value, error) {
	query := url.Values{}
	if pageToken != "" {
		query.Set("pageToken", pageToken)
	}
	answer, err := avgTPS.Raw(ctx, c.u, withQuery(tpsPath(chainID), query), nil)
	if saysGone(err) {
		query.Set("timeInterval", "day")
		newer, newerErr := chainMetrics.Raw(ctx, c.u, withQuery(metricPath(chainID, AvgTPSMetric), query), nil)
		if !saysGone(newerErr) {
			return newer, newerErr
		}
	}
	return answer, err
}

// AverageTPS is the newest complete value of a chain.
type AverageTPS struct {
	Point   *Point     // nil if no bucket is complete
	LastRun *time.Time // the service's last update of the series; without lastRun, the end of the newest day or now; nil without points
}

// AverageTPS returns the newest complete point of GET /v1/avg_tps/{chainId}. If the service no longer offers version 1, it
// returns the newest complete point of Daily. For the next hour, AverageTPS then calls only version 2.
//
// The value of the newest point changes until its bucket is complete, so this point does not count. In version 1 a point is
// complete if its bucket ended before lastRun, or before now if lastRun is absent. In version 2 every point except the newest
// is complete. The length of a bucket is the shortest distance between two points, or a day for a single point. AverageTPS
// requests pages until it finds a complete point. If the oldest points come first, it requests all pages.
func (c *Client) AverageTPS(ctx context.Context, chainID string) (AverageTPS, error) {
	if c.isGone() {
		return c.dailyTPS(ctx, chainID)
	}
	found, err := newest(c.AvgTPS(ctx, chainID), func([]Point) time.Time { return time.Now() })
	if !saysGone(err) {
		return found, err
	}
	other, otherErr := c.dailyTPS(ctx, chainID)
	switch {
	case otherErr == nil:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.gone = time.Now()
	case saysGone(otherErr): // neither version knows the chain
		return AverageTPS{}, err
	}
	return other, otherErr
}

// newest returns the newest complete point of a series. The series is complete up to the time lastRun. If no page has lastRun,
// completeUntil computes this time from the received points.
func newest(pages iter.Seq2[Page, error], completeUntil func([]Point) time.Time) (AverageTPS, error) {
	var found AverageTPS
	var points []Point
	for page, err := range pages {
		if err != nil {
			return AverageTPS{}, err
		}
		points = append(points, page.Results...)
		if page.LastRun != nil {
			found.LastRun = &page.LastRun.Time
		}
		until := completeUntil(points)
		if found.LastRun != nil {
			until = *found.LastRun
		}
		found.Point = newestComplete(points, until)
		if found.Point != nil && !oldestFirst(page.Results) {
			break
		}
	}
	if found.LastRun == nil && len(points) > 0 {
		newest := slices.MaxFunc(points, func(a, b Point) int { return a.Timestamp.Compare(b.Timestamp.Time) })
		end := newest.Timestamp.Add(24 * time.Hour)
		if now := time.Now(); end.After(now) {
			end = now
		}
		found.LastRun = &end
	}
	return found, nil
}

func oldestFirst(points []Point) bool {
	return len(points) > 1 && points[0].Timestamp.Before(points[len(points)-1].Timestamp.Time)
}

func newestComplete(points []Point, until time.Time) *Point {
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
		if !p.Timestamp.Add(bucket).After(until) {
			return &p
		}
	}
	return nil
}
