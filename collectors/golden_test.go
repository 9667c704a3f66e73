package collectors_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// goldenNetwork returns a simulated network in which every family has a sample. It has an inactive L1 validator, a benched
// peer, a silent peer, an offline peer, an upgrade that only peers announce, and a plugin of another release.
func goldenNetwork() *simnet.Network {
	n := simnet.New(simnet.Options{Seed: 1})
	n.SetBalance("examplel1", "foxtrot", 0)
	n.Node("alpha").Bench("golf", "C")
	n.SetSilent("hotel", true)
	n.Disconnect("echo")
	n.AnnounceUpgrade(time.Now().Add(48*time.Hour), "bravo", "charlie", "delta")
	n.SetVersion("hotel", "1.14.2")
	n.Node("foxtrot").SetVMVersion(n.Chain("examplel1").VMID, "v1.14.2")
	n.SetUpgrade("next", time.Time{})
	n.SetBlockPeriod("X", time.Minute)
	n.SetPrecompile("examplel1", "feeManagerConfig", false, time.Now().Add(time.Minute))
	n.SetPrecompile("examplel1", "txAllowListConfig", true, time.Now().Add(time.Hour))
	time.Sleep(10 * time.Minute) // wait for the effect of the changes
	n.HoldICM(true)
	return n
}

// exm is an X-Chain asset in the network with seed 1. simnet.Owner holds it in addition to AVAX.
const exm = "VDn2yqg9vtPqizn3LJV8GnKKXBx7n3i1hKWEVsAjLsa1v2ivY"

// conversion is the transaction that converted examplel1 to an L1, in the network with seed 1.
const conversion = "2tzwYYGPioh2hA639aBuSTnKyeGrhmrMvLYvzMfEbMYnRircuf"

// upstreams returns the nodes alpha and foxtrot of the network, its services, and a watch list.
func upstreams(t *testing.T, transport http.RoundTripper, network *simnet.Network) *collector.Upstreams {
	t.Helper()
	ups := &collector.Upstreams{
		Pool: nodes.NewPool([]*nodes.Node{
			nodes.New(node.New(open(t, transport, "alpha"))),
			nodes.New(node.New(open(t, transport, "foxtrot"))),
		}, []nodes.Chain{
			{Name: "C", Ref: "C"},
			{Name: "examplel1", Ref: network.Chain("examplel1").ID},
			{Name: "examplepoa", Ref: network.Chain("examplepoa").ID},
		}),
		Dial: (&dialer{open: []string{announced["alpha"]}}).dial,
		Watch: collector.Watchlist{
			Addresses:  collector.Unnamed("P-"+simnet.Owner, "X-"+simnet.Owner),
			Delegators: []collector.Item{{Name: "treasury", Value: "P-" + simnet.Delegator}},
			Assets:     collector.Unnamed(exm),
			EVM:        collector.Unnamed(simnet.Account, simnet.Relayer),
			Contracts:  collector.Unnamed(simnet.Account),
			Tokens: []collector.Token{
				{Chain: "C", Contract: simnet.Collection, ID: "3"},
				{Chain: "C", Contract: simnet.Collection, ID: "11", Reindex: true},
				{Chain: "C", Contract: simnet.Items, ID: "1", Reindex: true},
			},
			Signatures: []collector.Item{{Name: "conversion", Value: conversion}},
		},
		Metrics: metrics.New(open(t, transport, "metrics")),
	}
	ups.Data = collector.NewDataService(data.New(open(t, transport, "data")), data.Mainnet, data.USD)
	return ups
}

// watch returns the observer of the network.
func watch(t *testing.T, transport http.RoundTripper) *nodes.Node {
	t.Helper()
	up := must.Get(scrape.New(scrape.Options{Name: "observer", URL: "http://observer.sim", Transport: transport, RepeatAfter: node.RepeatAfterObserver}))(t)
	return nodes.NewObserver(node.New(up))
}

func open(t *testing.T, transport http.RoundTripper, name string) *scrape.Upstream {
	t.Helper()
	options := scrape.Options{Name: name, URL: "http://" + name + ".sim", Transport: transport, RepeatAfter: node.RepeatAfter}
	if name == "data" {
		options.RepeatAfter = data.RepeatAfter
	}
	return must.Get(scrape.New(options))(t)
}

// collect runs every job of the collector once and returns its samples.
func collect(ctx context.Context, t *testing.T, spec *collector.Spec, ups *collector.Upstreams) string {
	t.Helper()
	store := metric.NewStore()
	for _, j := range spec.Bind(ups) {
		batch := metric.NewBatch(spec.Families)
		if err := j.Collect(ctx, batch); err != nil && !errors.Is(err, metric.ErrNotOffered) {
			t.Errorf("%s of %s: %v", spec.Name, j.Target, err)
			continue
		}
		if err := batch.Err(); err != nil {
			t.Errorf("%s of %s: rejected: %v", spec.Name, j.Target, err)
		}
		store.Put(metric.Run{
			Key: metric.Key{Collector: spec.Name, Target: j.Target}, At: time.Now(),
			Until: time.Now().Add(time.Hour), Chunks: batch.Chunks(), Facts: batch.Facts,
		})
	}
	// What each scrape computes.
	registry := prometheus.NewRegistry()
	registry.MustRegister(status.ByScrape(func() *status.Status {
		return status.OfNodes(store.Jobs(), time.Now(), status.Pool{
			Unreachable: func(time.Duration) []string { return nil }, Progress: func() (ran, of int) { return 1, 1 },
		})
	}))
	w := httptest.NewRecorder()
	store.Handler(registry, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return aboutJobs.ReplaceAllString(w.Body.String(), "")
}

var aboutJobs = regexp.MustCompile(`(?m)^(# (HELP|TYPE) )?avax_exporter_.*\n`)

func TestCollectorsMatchTheirGoldenFiles(t *testing.T) {
	for _, spec := range collectors.All() {
		t.Run(spec.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := goldenNetwork()
				ups := upstreams(t, network.Transport(), network)
				ups.SetNodes(append(slices.Clone(ups.Nodes()), watch(t, network.Transport())))
				ups.Watch.Validators.IDs = []string{network.NodeID("alpha"), network.NodeID("golf")}
				if spec.Name == "payouts" { // a delegation must end after it was seen, and a validator while nodes refuse
					network.EndDelegations("alpha", time.Now().Add(5*time.Minute))
					network.SetStakeEnd("alpha", time.Now().Add(10*time.Minute+3*time.Hour+3*24*time.Hour+5*time.Minute))
					collect(t.Context(), t, collectors.All()[slices.IndexFunc(collectors.All(), func(s *collector.Spec) bool { return s.Name == "delegations" })], ups)
					time.Sleep(10 * time.Minute)
				}
				if spec.Name == "up" { // a restart
					network.Node("alpha").Stop()
					_, _, _ = ups.Nodes()[0].Probe(t.Context())
					network.Node("alpha").Start()
					time.Sleep(time.Minute)
					restart := nodes.Restart{Ended: time.Now(), Took: 45 * time.Second}
					ups.Nodes()[0].Remember(nodes.Past{Restarts: []nodes.Restart{restart, restart, restart}})
				}
				if spec.Name == "rpc" { // an archive node without history
					ups.Nodes()[0].SetArchive(true)
				}
				if spec.Name == "icm_chains" { // messages since the first run, and the Data service to compare with
					network.HoldICM(false)
					collect(t.Context(), t, specOf(t, "icm"), ups)
					collect(t.Context(), t, spec, ups)
					for _, hold := range []bool{false, true} {
						network.HoldICM(hold)
						time.Sleep(50 * time.Minute)
						collect(t.Context(), t, spec, ups)
					}
				}
				if spec.Name == "validators" { // restaked rewards
					network.SetVersion("alpha", "1.15.1")
				}
				network.ResetCalls()
				page := collect(scrape.MaxAge(t.Context(), time.Minute), t, spec, ups)
				if spec.Cost != nil { // some samples count events since the first run
					time.Sleep(2 * time.Hour)
					page = collect(scrape.MaxAge(t.Context(), time.Minute), t, spec, ups)
				}

				testworld.Golden(t, filepath.Join("testdata", spec.Name+".prom"), page, "go test ./collectors -update")
				for _, f := range spec.Families {
					if !strings.Contains(page, "# TYPE "+f.Name+" ") {
						t.Errorf("%s: no sample", f.Name)
					}
				}
				problems := must.Get(promlint.New(strings.NewReader(page)).Lint())(t)
				for _, p := range problems {
					t.Errorf("%s: %s", p.Metric, p.Text)
				}
				if spec.Cost == nil { // with partial sync, an alias or an untracked chain, some collectors make more calls
					network.Node("foxtrot").SetPartialSync(true)
					network.Node("alpha").SetChain("examplel1", simnet.Untracked)
					network.SetAlias("examplel1", "renamed")
					time.Sleep(2 * time.Minute)
				} else {
					network.HoldICM(true)
					time.Sleep(time.Hour)
					collect(t.Context(), t, spec, ups)
					time.Sleep(3 * 24 * time.Hour) // longer than lists are read again
					collect(t.Context(), t, spec, ups)
				}
				// The Data service or other methods replace what no node reports.
				refused := simnet.Refused(-32601, "the method is not available")
				methods := []string{"platform.getSubnet", "eth_getBalance", "platform.getRewardUTXOs", "platform.getBlockchains", "platform.getBalance", "avm.getBalance"}
				network.Node("alpha").Inject(refused, methods...)
				network.Node("foxtrot").Inject(refused, methods...)
				network.Observer().Inject(refused, methods...)
				time.Sleep(collector.StaticAge + time.Minute)
				ups.Pool = nodes.NewPool(slices.Concat(ups.Nodes(), ups.Observers()), ups.Chains()) // which knows no chain yet
				ups.Watch.Validators.IDs = nil                                                      // so that the collectors request the node IDs from the nodes
				collect(scrape.MaxAge(t.Context(), time.Minute), t, spec, ups)
				asked := map[string]bool{}
				for _, c := range network.Calls() {
					asked[c.Method] = true
				}
				if !slices.Contains(spec.Calls, "info.getNetworkID") {
					delete(asked, "info.getNetworkID") // the pool checks the network of a node before it answers questions about the network
				}
				if diff := cmp.Diff(slices.Sorted(slices.Values(spec.Calls)), slices.Sorted(maps.Keys(asked))); diff != "" {
					t.Errorf("calls in Spec.Calls only (-), calls made only (+):\n%s", diff)
				}
			})
		})
	}
}
