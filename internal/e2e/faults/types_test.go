package faults_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// spoiler passes on the network's answers, with one spoilt answer per run.
type spoiler struct {
	network http.RoundTripper
	answers [][]byte            // of this run, in order
	spoil   func([]byte) []byte // nil: none
	which   int                 // index of the spoilt answer
}

func (s *spoiler) RoundTrip(r *http.Request) (*http.Response, error) {
	return wiretest.Between(s.network, func(c *wiretest.Call) (*http.Response, error) {
		return c.Rewritten(func(body []byte) []byte {
			if s.spoil != nil && len(s.answers) == s.which {
				body = s.spoil(body)
			}
			s.answers = append(s.answers, body)
			return body
		})
	}).RoundTrip(r)
}

var seed = flag.Uint64("seed", 1, "the seed of random numbers")

// TestMistypedFieldsMakeNoWrongSamples replaces every field of every answer of every collector by every other type. The run must
// fail, or export only correct samples. With -short it tests some dozens at random.
func TestMistypedFieldsMakeNoWrongSamples(t *testing.T) {
	for _, spec := range collectors.All() {
		if spec.Name == "rpc" { // it exports whether an answer is right
			continue
		}
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // the clock does not advance
				for _, wrong := range mistypeAll(t, spec) {
					t.Error(wrong)
				}
			})
		})
	}
}

// mistypeAll returns the wrong samples of a collector.
func mistypeAll(t *testing.T, spec *collector.Spec) (wrong []string) {
	t.Helper()
	network := simnet.New(simnet.Options{Seed: 1})
	network.SetBlockPeriod("X", 20*time.Second)
	network.AnnounceUpgrade(time.Now().Add(48*time.Hour), "delta", "echo", "golf", "hotel")
	random := rand.New(rand.NewPCG(*seed, 0))
	for _, job := range bind(t, network, network.Transport(), spec) {
		right, err := collect(t, spec, job)
		if err != nil {
			t.Fatalf("%s: %v", job.Target, err)
		}
		clean := &spoiler{network: network.Transport()}
		if _, err := collect(t, spec, rebound(t, network, clean, spec, job.Target)); err != nil {
			t.Fatalf("%s: %v", job.Target, err)
		}
		for which, body := range clean.answers {
			all := spoilt(body)
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			if testing.Short() {
				all = all[:min(len(all), 30/len(clean.answers)+1)]
			}
			for _, s := range all {
				spoiling := &spoiler{network: network.Transport(), which: which, spoil: func([]byte) []byte { return s.body() }}
				got, err := collect(t, spec, rebound(t, network, spoiling, spec, job.Target))
				if err != nil {
					continue
				}
				for series, value := range got {
					if strings.HasPrefix(series, "avax_chain_config_info{") || strings.HasPrefix(series, "avax_chain_rule_active{") {
						continue // the hash of any answer; any boolean
					}
					if strings.HasPrefix(series, "avax_rewards_malformed{") {
						continue // the number of skipped items
					}
					down := value == "0" && (strings.HasPrefix(series, "avax_node_up{") || series == "avax_data_up")
					truth, known := right[series]
					if spec.Cost != nil && known && isLess(value, truth) {
						continue // a malformed item is skipped
					}
					if !down && (!known || value != truth) {
						wrong = append(wrong, fmt.Sprintf("%s, answer %d, %s: %s %s, the truth is %q", job.Target, which, s.what, series, value, truth))
					}
				}
			}
		}
	}
	return wrong
}

// isLess reports whether a number is less than the other.
func isLess(value, other string) bool {
	v, err := strconv.ParseFloat(value, 64)
	o, otherErr := strconv.ParseFloat(other, 64)
	return err == nil && otherErr == nil && v < o
}

// bind creates the jobs of a collector with one node and both services.
func bind(t *testing.T, network *simnet.Network, transport http.RoundTripper, spec *collector.Spec) []collector.Job {
	t.Helper()
	open := func(name string) *scrape.Upstream {
		return must.Get(scrape.New(scrape.Options{Name: name, URL: "http://" + name + ".sim", Transport: transport, Concurrency: 1, Rate: 1e6}))(t)
	}
	ups := &collector.Upstreams{
		Pool: nodes.NewPool([]*nodes.Node{nodes.New(node.New(open("alpha")))},
			[]nodes.Chain{{Name: "C", Ref: "C"}, {Name: "examplel1", Ref: network.Chain("examplel1").ID}}),
		Metrics: metrics.New(open("metrics")),
		Watch: collector.Watchlist{
			Addresses: collector.Unnamed("P-"+simnet.Owner, "X-"+simnet.Owner), EVM: collector.Unnamed(simnet.Account), Contracts: collector.Unnamed(simnet.Account),
			Tokens: []collector.Token{{Chain: "C", Contract: simnet.Collection, ID: "3"}},
		},
	}
	ups.Data = collector.NewDataService(data.New(open("data")), data.Mainnet, "usd")
	return spec.Bind(ups)
}

// rebound returns the job of that target from a collector without state.
func rebound(t *testing.T, network *simnet.Network, transport http.RoundTripper, spec *collector.Spec, target metric.Target) collector.Job {
	t.Helper()
	jobs := bind(t, network, transport, spec)
	return jobs[slices.IndexFunc(jobs, func(j collector.Job) bool { return j.Target == target })]
}

// collect runs a job once and returns its samples.
func collect(t *testing.T, spec *collector.Spec, job collector.Job) (map[string]string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // without retries
	defer cancel()
	out := metric.NewBatch(spec.Families)
	if err := job.Collect(ctx, out); err != nil && !errors.Is(err, metric.ErrNotOffered) {
		return nil, err
	}
	samples := map[string]string{}
	for _, chunk := range out.Chunks() {
		for line := range strings.Lines(chunk.String()) {
			text := strings.TrimSpace(line)
			i := strings.LastIndexByte(text, ' ')
			samples[text[:i]] = text[i+1:]
		}
	}
	return samples, nil
}
