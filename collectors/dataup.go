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
	"1 if the Data service answered the last probe, even with a rejection of the key. 0 if it did not, or during a pause that it requested.")

// dataUp is 0 for a dead service, and so it fails only if the exporter itself did not probe. A rejected key is no failure of
// the service: the log reports it, and the other collectors fail.
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
		switch outcome := scrape.OutcomeOf(err); {
		case outcome == scrape.Forbidden || outcome == scrape.Rejected:
			out.Note("%v", err)
			err = nil
		case outcome == scrape.LocalLimit || data.IsOverBudget(err):
			return err
		case outcome == scrape.RateLimited:
			out.Note("the Data service asks to be left alone, for five minutes at most at a time: see avax_exporter_upstream_wait_until_timestamp_seconds")
		}
		out.SetBool(dataUpFamily, err == nil)
		return nil
	}}}
}
