package collectors_test

import (
	"context"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// unreachable returns the client of an upstream at an address where nothing listens.
func unreachable(t *testing.T, name string) *scrape.Upstream {
	t.Helper()
	return must.Get(scrape.New(scrape.Options{Name: name, URL: "http://127.0.0.1:1", Timeout: time.Second, Concurrency: 64}))(t)
}

// Whatever is configured and whatever is missing or does not answer, no job panics, and none reports samples of an upstream that is not there.
func TestNoCollectorPanicsWithoutUpstreams(t *testing.T) {
	const evm, id = "0x1f98431c8ad98523631ae4a59f267346ea31f984", "2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM"
	watch := collector.Watchlist{
		Addresses: collector.Unnamed("P-avax1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqxpdk7q"), EVM: collector.Unnamed(evm), Contracts: collector.Unnamed(evm), Assets: collector.Unnamed(id),
		Delegators: []collector.Item{{Name: "treasury", Value: "P-avax1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqxpdk7q"}},
		Tokens:     []collector.Token{{Chain: "C", Contract: evm, ID: "7", Reindex: true}}, Signatures: []collector.Item{{Name: "p", Value: id}},
	}
	for name, build := range map[string]func(*collector.Upstreams){
		"nothing": func(*collector.Upstreams) {},
		"dead Data service": func(u *collector.Upstreams) {
			u.Data = collector.NewDataService(data.New(unreachable(t, "data")), "", "usd")
		},
		"dead Data service, named network": func(u *collector.Upstreams) {
			u.Data = collector.NewDataService(data.New(unreachable(t, "data")), "mainnet", "usd")
		},
		"dead Metrics service": func(u *collector.Upstreams) { u.Metrics = metrics.New(unreachable(t, "metrics")) },
		"dead observer": func(u *collector.Upstreams) {
			u.SetNodes([]*nodes.Node{nodes.NewObserver(node.New(unreachable(t, "public")))})
		},
		"dead node": func(u *collector.Upstreams) { u.SetNodes([]*nodes.Node{nodes.New(node.New(unreachable(t, "alpha")))}) },
		"removed node": func(u *collector.Upstreams) {
			u.SetNodes([]*nodes.Node{nodes.New(node.New(unreachable(t, "alpha")))})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, validators := range []collector.Validators{{}, {All: true}, {IDs: []string{"NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"}}} {
				w := watch
				w.Validators = validators
				ups := &collector.Upstreams{Pool: nodes.NewPool(nil, []nodes.Chain{{Name: "C", Ref: "C"}, {Name: "mine", Ref: id}}), Watch: w}
				build(ups)
				var jobs []func()
				for _, spec := range collectors.All() {
					for _, j := range spec.Bind(ups) {
						jobs = append(jobs, func() {
							defer func() {
								if cause := recover(); cause != nil {
									t.Errorf("%s for %v: panic: %v", spec.Name, j.Target, cause)
								}
							}()
							ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
							defer cancel()
							_ = j.Collect(ctx, metric.NewBatch(spec.Families))
						})
					}
				}
				if name == "removed node" { // after the jobs were bound
					ups.SetNodes(nil)
				}
				for _, job := range jobs {
					job()
				}
			}
		})
	}
}
