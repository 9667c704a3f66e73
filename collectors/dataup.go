package collectors

import (
	"cmp"
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var dataUpFamily = metric.New("avax_data_up",
	"1 if the Data service answered the last probe, even with a rejection of the key or the rate; 0 if not.")

// dataUp says 0 for a dead service, and so it never fails, as up does not. That
// a key or the rate is refused is no failure of the service; it is told in the
// log, and the other collectors fail.
var dataUp = &Spec{
	Name:     "data_up",
	Help:     "Whether the Data service answers. This collector and those below need AVAX_DATA_URL.",
	Calls:    []string{opBlockchains},
	Every:    time.Minute,
	Families: []*metric.Family{dataUpFamily},
	Scope:    metric.ScopeItem,
	Bind:     bindDataUp,
	Cost:     calls(opBlockchains, 1),
}

func bindDataUp(ups *Upstreams) []Job {
	if ups.Data == nil {
		return nil
	}
	return []Job{{metric.Target{Item: "data"}, func(ctx context.Context, out *metric.Batch) error {
		_, err := ups.Data.BlockchainPage(scrape.MaxAge(ctx, 0), cmp.Or(ups.Data.networkName(), data.Mainnet), data.BlockchainQuery{Paging: data.Paging{PageSize: 1}}, "")
		switch outcome := scrape.OutcomeOf(err); outcome {
		case scrape.Forbidden, scrape.RateLimited, scrape.Rejected:
			out.Note("%v", err)
			err = nil
		case scrape.LocalLimit:
			return err
		}
		out.SetBool(dataUpFamily, err == nil)
		return nil
	}}}
}
