package metrics

import (
	"context"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// AvgTPSMetric is the name of the transactions per second in version 2.
const AvgTPSMetric = "avgTps"

// Daily yields the pages of GET /v2/chains/{chainId}/metrics/{metric}, up to the last page or the first error. Each value
// covers a day. The newest day is incomplete. ChainID is the number of an EVM chain, or total, mainnet or testnet. Metric is
// a name such as avgTps. The pages have no LastRun.
func (c *Client) Daily(ctx context.Context, chainID, metric string) iter.Seq2[Page, error] {
	return c.pages(ctx, chainMetrics, metricPath(chainID, metric), url.Values{"timeInterval": {"day"}})
}

func metricPath(chainID, metric string) string {
	return "/v2/chains/" + url.PathEscape(chainID) + "/metrics/" + url.PathEscape(metric)
}

// dailyTPS is AverageTPS for version 2.
func (c *Client) dailyTPS(ctx context.Context, chainID string) (AverageTPS, error) {
	return newest(c.Daily(ctx, chainID, AvgTPSMetric), func(points []Point) time.Time {
		var last time.Time
		for _, p := range points {
			if p.Timestamp.After(last) {
				last = p.Timestamp.Time
			}
		}
		return last // start of the newest bucket: earlier buckets are complete
	})
}

// goneFor is how long the client does not call version 1 after the service did not offer it.
const goneFor = time.Hour

func (c *Client) isGone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.gone.IsZero() && time.Since(c.gone) < goneFor
}

// saysGone reports whether an error can mean that the service no longer offers a version: HTTP 404 or 410, or a
// message that contains deprecated.
func saysGone(err error) bool {
	switch scrape.OutcomeOf(err) {
	case scrape.NotFound:
		return true
	case scrape.Rejected:
		return strings.Contains(err.Error(), "HTTP 410") || strings.Contains(strings.ToLower(err.Error()), "deprecated")
	}
	return false
}
