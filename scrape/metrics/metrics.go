// Package metrics is the typed client of the metrics service: time series per chain, of both versions of the service.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Client asks one metrics service.
type Client struct {
	u *scrape.Upstream

	mu   sync.Mutex
	gone time.Time // when version 1 was found to be; zero while it is not
}

// New asks the service behind u.
func New(u *scrape.Upstream) *Client { return &Client{u: u} }

// Name is the configured name of the service.
func (c *Client) Name() string { return c.u.Name() }

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
	return c.pages(ctx, avgTPS, "/v1/avg_tps/"+url.PathEscape(chainID), nil)
}

// pages asks for one page after the other, each with the parameters in always.
func (c *Client) pages(ctx context.Context, op, path string, always url.Values) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		query := always
		for range mostPages {
			page, err := scrape.Get[Page](ctx, c.u, op, path, query)
			if !yield(page, err) || err != nil {
				return
			}
			next := maps.Clone(always)
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
				yield(Page{}, &scrape.Error{Op: op, Outcome: scrape.Malformed, Err: errors.New("a page names itself as the next one")})
				return
			}
			query = next
		}
		yield(Page{}, &scrape.Error{Op: op, Outcome: scrape.Malformed, Err: fmt.Errorf("no end after %d pages", mostPages)})
	}
}

// AvgTPSPage asks GET /v1/avg_tps/{chainId} or, where the service offers that no more, GET
// /v2/chains/{chainId}/metrics/{metric} for one page, and returns it as JSON, unchanged: the first for an empty token, else
// the one that the page before named. A page that cannot be decoded is an error, malformed.
func (c *Client) AvgTPSPage(ctx context.Context, chainID, pageToken string) (jsontext.Value, error) {
	token := func(query url.Values) url.Values {
		if pageToken != "" {
			query.Set("pageToken", pageToken)
		}
		return query
	}
	op := avgTPS
	answer, err := scrape.Get[jsontext.Value](ctx, c.u, op, "/v1/avg_tps/"+url.PathEscape(chainID), token(url.Values{}))
	if saysGone(err) {
		op = chainMetrics
		newer, newerErr := scrape.Get[jsontext.Value](ctx, c.u, op, metricPath(chainID, AvgTPSMetric), token(url.Values{"timeInterval": {"day"}}))
		if !saysGone(newerErr) {
			answer, err = newer, newerErr
		}
	}
	if err != nil {
		return nil, err
	}
	replayed, err := scrape.Replay(answer)
	if err != nil {
		return nil, err
	}
	if _, err := scrape.Get[Page](ctx, replayed, op, "/", nil); err != nil {
		return nil, err
	}
	return answer, nil
}

// AverageTPS is the newest complete value of a chain.
type AverageTPS struct {
	Point   *Point     // nil where no bucket is complete
	LastRun *time.Time // when the service last brought the series up to date; nil where it does not say
}

// AverageTPS finds the newest complete point of GET /v1/avg_tps/{chainId} or, where the service offers that no more, of
// Daily. Which one it offers is remembered for an hour.
//
// The newest bucket of a series is still filling and its value changes, so it does not count. In version 1 a point is
// complete if its bucket has ended by lastRun, or by now where lastRun is absent; in version 2 if it is not the newest. A
// bucket is as long as the shortest distance between two points, or a day where there is only one. Further pages are
// asked while none holds a complete point, and to the end where a page shows that the oldest come first.
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
	case saysGone(otherErr): // neither knows the chain
		return AverageTPS{}, err
	}
	return other, otherErr
}

// newest finds the newest complete point of a series. Where the service does not say up to when the series is complete,
// end says it of the points so far.
func newest(pages iter.Seq2[Page, error], end func([]Point) time.Time) (AverageTPS, error) {
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
		by := end(points)
		if found.LastRun != nil {
			by = *found.LastRun
		}
		found.Point = newestComplete(points, by)
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
