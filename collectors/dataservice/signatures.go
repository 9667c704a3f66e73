package dataservice

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var (
	signatureUp = metric.New("avax_signature_aggregation_up",
		"1 if the signature aggregator collected enough signatures of the probe's message, 0 if not. Absent while the Data service does not answer.", "probe")
	signatureTook = metric.New("avax_signature_aggregation_seconds",
		"Duration of the aggregation in seconds, including retries. Absent if the aggregation failed.", "probe")
)

var Signatures = &collector.Spec{
	Name:     "signatures",
	Help:     "Whether the Data service's signature aggregator collects enough signatures for a message. Needs AVAX_WATCH_SIGNATURES.",
	Calls:    []string{data.GetAggregatedSignatures.Op(), "info.getNetworkID"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{signatureUp, signatureTook},
	Bind:     collector.PerWithData(collector.Items(collector.Watchlist.SignatureItems), collectSignatures),
	Cost:     collector.Calls(data.GetAggregatedSignatures.Op(), 1),
}

func collectSignatures(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	began := time.Now()
	_, err := ups.Data.AggregatedSignatures(scrape.MaxAge(ctx, 0), ups.Data.NetworkName(), on.Item.Value)
	took := time.Since(began)
	var status *scrape.StatusError
	if err != nil && (!errors.As(err, &status) || status.Status != http.StatusInternalServerError) {
		return collector.IfUnknown(err, "AVAX_WATCH_SIGNATURES") // the aggregator did not answer, which says nothing about the validators
	}
	out.SetBool(signatureUp, err == nil, on.Item.Name)
	if err == nil {
		out.Set(signatureTook, took.Seconds(), on.Item.Name)
		return nil
	}
	out.Note("%v", err)
	return nil
}
