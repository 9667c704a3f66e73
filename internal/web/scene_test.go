package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// demo is a site over the simulated network, as the command demo shows it, whose
// collectors run when they are told to.
type demo struct {
	network *simnet.Network
	site    *Site
	jobs    []schedule.Job
}

func openDemo(t testing.TB) demo {
	t.Helper()
	network := simnet.New(simnet.Options{Seed: 1})
	open := func(name string) *scrape.Upstream {
		up, err := scrape.New(scrape.Options{Name: name, URL: "http://" + name + ".sim", Transport: network.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		return up
	}
	var nodes []*collectors.Node
	for _, name := range []string{"alpha", "bravo", "charlie", "foxtrot"} {
		nodes = append(nodes, collectors.NewNode(node.New(open(name))))
	}
	ups := &collectors.Upstreams{Metrics: metrics.New(open("metrics")), Targets: collectors.NewTargets(nodes, []collectors.Chain{
		{Name: "C", Ref: "C"},
		{Name: "examplel1", Ref: network.Chain("examplel1").ID},
		{Name: "examplepoa", Ref: network.Chain("examplepoa").ID},
	})}
	d := demo{network: network, site: newSite()}
	for _, spec := range collectors.All() {
		if spec.Off {
			continue
		}
		for _, j := range spec.Bind(ups) {
			d.jobs = append(d.jobs, schedule.Job{
				Key: snapshot.Key{Collector: spec.Name, Target: j.Target}, Families: spec.Families, Collect: j.Collect,
			})
		}
	}
	return d
}

// newSite is a site over an empty store, all of whose collectors have run.
func newSite() *Site {
	return &Site{
		Store: snapshot.New(), Registry: prometheus.NewRegistry(), Version: "v1.2.3",
		Progress: func() (ran, of int) { return 1, 1 },
		Log:      slog.New(slog.DiscardHandler),
	}
}

// run lets every collector run once. Its samples are good for so long.
func (d demo) run(ctx context.Context, until time.Duration) {
	var runs sync.WaitGroup
	defer runs.Wait()
	for _, j := range d.jobs {
		runs.Go(func() {
			batch := metric.NewBatch(j.Families)
			r := snapshot.Run{Key: j.Key, At: time.Now()}
			err := j.Collect(scrape.MaxAge(ctx, time.Millisecond), batch)
			r.Took, r.Until = time.Since(r.At), r.At.Add(until)
			if err == nil || errors.Is(err, collectors.ErrNotOffered) {
				r.Chunks, r.Tables, r.Facts = batch.Chunks(), batch.Tables(), batch.Facts
			} else {
				r.Err = err
			}
			d.site.Store.Put(r)
		})
	}
}

func serve(t testing.TB, s *Site) string {
	t.Helper()
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL
}
