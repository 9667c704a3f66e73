package metrics

import (
	"context"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// AvgTPSMetric is the name that version 2 has for the transactions per second.
const AvgTPSMetric = "avgTps"

const chainMetrics = "GET /v2/chains/{chainId}/metrics/{metric}"

// Daily asks GET /v2/chains/{chainId}/metrics/{metric} for values by day, page by page, until the last page, an error, or
// the caller has enough. ChainID is the number of an EVM chain, or total, mainnet or testnet; metric is such as avgTps. The
// pages have no LastRun, and the newest value is one of a day that is not over, or not counted to its end.
func (c *Client) Daily(ctx context.Context, chainID, metric string) iter.Seq2[Page, error] {
	return c.pages(ctx, chainMetrics, metricPath(chainID, metric), url.Values{"timeInterval": {"day"}})
}

func metricPath(chainID, metric string) string {
	return "/v2/chains/" + url.PathEscape(chainID) + "/metrics/" + url.PathEscape(metric)
}

// dailyTPS is AverageTPS of version 2.
func (c *Client) dailyTPS(ctx context.Context, chainID string) (AverageTPS, error) {
	return newest(c.Daily(ctx, chainID, AvgTPSMetric), func(points []Point) time.Time {
		var last time.Time
		for _, p := range points {
			if p.Timestamp.After(last) {
				last = p.Timestamp.Time
			}
		}
		return last // the beginning of the newest bucket: what ended by then is complete
	})
}

// goneFor is how long version 1 is not asked after it was found to be gone.
const goneFor = time.Hour

func (c *Client) isGone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.gone.IsZero() && time.Since(c.gone) < goneFor
}

// saysGone tells whether an error can mean that this version is offered no more: 404, 410, or a refusal that says so.
func saysGone(err error) bool {
	switch scrape.OutcomeOf(err) {
	case scrape.NotFound:
		return true
	case scrape.Rejected:
		return strings.Contains(err.Error(), "HTTP 410") || strings.Contains(strings.ToLower(err.Error()), "deprecated")
	}
	return false
}
