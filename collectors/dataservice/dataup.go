package dataservice

import (
	"cmp"
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var dataUpFamily = metric.New("avax_data_up",
	"1 if the Data service answered the last probe, even if it rejected the key. 0 if it did not answer, or during a pause that it requested.")

// DataUp sets avax_data_up to 0 if the service does not answer. It fails only if the exporter could not send the probe.
// If the service rejects the key, the service counts as up. The run then notes the rejection, and the other collectors
// of the service fail.
var DataUp = &collector.Spec{
	Name:     "data_up",
	Help:     "Whether the Data service answers. This collector and the collectors below it need AVAX_DATA_URL.",
	Calls:    []string{data.ListBlockchains.Op()},
	Every:    time.Minute,
	Families: []*metric.Family{dataUpFamily},
	Bind:     collector.Per(collector.Service, collectDataUp),
	Cost:     collector.Calls(data.ListBlockchains.Op(), 1),
}

func collectDataUp(ctx context.Context, ups *collector.Upstreams, _ collector.Subject, out *metric.Batch) error {
	err := ups.Data.Probe(scrape.MaxAge(ctx, 0), cmp.Or(ups.Data.NetworkName(), data.Mainnet))
	switch outcome := scrape.OutcomeOf(err); {
	case outcome == scrape.Forbidden || outcome == scrape.Rejected:
		out.Note("%v", err)
		err = nil
	case outcome == scrape.LocalLimit || data.IsOverBudget(err):
		return err
	case outcome == scrape.RateLimited:
		out.Note("the Data service requested a pause: see avax_exporter_upstream_wait_until_timestamp_seconds")
	}
	out.SetBool(dataUpFamily, err == nil)
	return nil
}
