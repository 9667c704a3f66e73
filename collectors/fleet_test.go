package collectors_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// posing redirects requests from one host to another. In answers for charlie.sim it replaces texts.
type posing struct {
	to      http.RoundTripper
	hosts   map[string]string // host that answers, by requested host
	answers *strings.Replacer
}

func (p *posing) RoundTrip(r *http.Request) (*http.Response, error) {
	return wiretest.Between(p.to, func(c *wiretest.Call) (*http.Response, error) {
		if host, ok := p.hosts[c.URL.Hostname()]; ok {
			c.URL.Host, c.Host = host, host
		}
		if p.answers == nil || c.Upstream != "charlie" {
			return c.Ask()
		}
		return c.Rewritten(func(body []byte) []byte { return []byte(p.answers.Replace(string(body))) })
	}).RoundTrip(r)
}

// fleetOf binds the collector fleet to nodes with these names. The returned function runs it once.
func fleetOf(t *testing.T, transport http.RoundTripper, names ...string) (*collector.Upstreams, func() (values map[string]float64, notes []string)) {
	t.Helper()
	var pool []*nodes.Node
	for _, name := range names {
		up := must.Get(scrape.New(scrape.Options{Name: name, URL: "http://" + name + ".sim", Transport: transport}))(t)
		pool = append(pool, nodes.New(node.New(up)))
	}
	ups := &collector.Upstreams{Pool: nodes.NewPool(pool, nil)}
	for _, spec := range collectors.All() {
		if spec.Name != "fleet" {
			continue
		}
		job := spec.Bind(ups)[0]
		return ups, func() (map[string]float64, []string) {
			t.Helper()
			batch := metric.NewBatch(spec.Families)
			must.Do(t, job.Collect(scrape.MaxAge(t.Context(), 0), batch))
			values := map[string]float64{}
			for _, c := range batch.Chunks() {
				for _, s := range c.Samples {
					values[strings.TrimPrefix(c.Family.Name, "avax_node_")+" "+s.Labels[0]] = s.Value
				}
			}
			return values, batch.Notes()
		}
	}
	t.Fatal("no collector fleet")
	return nil, nil
}

func TestIdentityChangesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		transport := &posing{to: network.Transport(), hosts: map[string]string{}}
		_, collect := fleetOf(t, transport, "alpha", "bravo")
		bravo, charlie := network.NodeID("bravo"), network.NodeID("charlie")
		toCharlie, toBravo := "node ID of bravo changed from "+bravo+" to "+charlie, "node ID of bravo changed from "+charlie+" to "+bravo
		for _, step := range []struct {
			host  string
			want  float64
			noted string
		}{{"bravo.sim", 0, ""}, {"charlie.sim", 1, toCharlie}, {"charlie.sim", 1, ""}, {"bravo.sim", 2, toBravo}, {"charlie.sim", 3, toCharlie}} {
			transport.hosts["bravo.sim"] = step.host
			time.Sleep(5 * time.Minute) // longer than any shared answer is used
			values, notes := collect()
			if values["identity_changes_total bravo"] != step.want || values["identity_changes_total alpha"] != 0 {
				t.Errorf("%s answers as bravo: %v, want %v changes", step.host, values, step.want)
			}
			if all := strings.Join(notes, "\n"); !strings.Contains(all, step.noted) || (step.noted == "") != (len(notes) == 0) {
				t.Errorf("%s answers as bravo: notes %q, want %q", step.host, notes, step.noted)
			}
		}
	})
}

// After two nodes have exchanged their keys, each of the two node IDs is reported again, by the other node.
func TestExchangedKeysAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		transport := &posing{to: network.Transport(), hosts: map[string]string{}}
		ups, _ := fleetOf(t, transport, "alpha", "bravo")
		reporters := func() (names map[string]string) {
			names = map[string]string{}
			for range 2 { // runs
				for _, n := range ups.Nodes() {
					id := must.Get(n.Identity(t.Context()))(t).NodeID
					if ups.NodeReports(n, "rewards", id) {
						names[id] += n.Name()
					}
				}
			}
			return names
		}
		alpha, bravo := network.NodeID("alpha"), network.NodeID("bravo")
		if got, want := reporters(), map[string]string{alpha: "alphaalpha", bravo: "bravobravo"}; !maps.Equal(got, want) {
			t.Errorf("reported by %v, want %v", got, want)
		}
		transport.hosts["alpha.sim"], transport.hosts["bravo.sim"] = "bravo.sim", "alpha.sim"
		time.Sleep(5 * time.Minute) // longer than any shared answer is used
		if got := reporters(); !strings.HasSuffix(got[alpha], "bravo") || !strings.HasSuffix(got[bravo], "alpha") {
			t.Errorf("after the exchange reported by %v", got)
		}
	})
}

func TestDuplicateNodeIDsAreDetected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		transport := &posing{to: network.Transport(), hosts: map[string]string{"bravo.sim": "alpha.sim"}}
		_, collect := fleetOf(t, transport, "alpha", "bravo", "charlie")
		values, notes := collect()
		want := map[string]float64{
			"duplicate alpha": 1, "duplicate bravo": 1, "duplicate charlie": 0,
			"identity_changes_total alpha": 0, "identity_changes_total bravo": 0, "identity_changes_total charlie": 0,
			"network_mismatch alpha": 0, "network_mismatch bravo": 0, "network_mismatch charlie": 0,
		}
		if diff := cmp.Diff(want, values); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"alpha and bravo have the same node ID, " + network.NodeID("alpha")}, notes); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNetworkMismatchIsDetected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		transport := &posing{to: network.Transport(), answers: strings.NewReplacer(`"networkID":"1337"`, `"networkID":"5"`)}
		ups, collect := fleetOf(t, transport, "charlie", "alpha", "bravo")
		for expected, want := range map[uint64][3]float64{0: {1, 0, 0}, 1337: {1, 0, 0}, 5: {0, 1, 1}} {
			ups.NetworkID = expected
			values, notes := collect()
			for i, name := range []string{"charlie", "alpha", "bravo"} {
				if values["network_mismatch "+name] != want[i] {
					t.Errorf("expected %d: %v", expected, values)
				}
			}
			if expected != 5 && (len(notes) != 1 || notes[0] != "charlie belongs to network 5, expected network 1337") {
				t.Errorf("notes %q", notes)
			}
		}
	})
}

// A node that is down has no samples. The samples of other nodes do not change.
func TestFleetIgnoresNodesThatDoNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		ups, collect := fleetOf(t, network.Transport(), "alpha", "bravo")
		if values, _ := collect(); len(values) != 6 {
			t.Fatalf("%v", values)
		}
		network.Node("bravo").Stop()
		time.Sleep(5 * time.Minute) // longer than any shared answer is used
		if values, _ := collect(); len(values) != 3 {
			t.Errorf("%v", values)
		}
		ups.SetNodes(ups.Nodes()[:1])
		if values, _ := collect(); len(values) != 3 {
			t.Errorf("%v", values)
		}
	})
}

// In a fleet, some nodes are always down. The jobs of other nodes must not wait in each run for a node whose ID is not
// known.
func TestOnlyTheFirstRunWaitsForAnUnidentifiedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		network.Node("bravo").Inject(simnet.Hung())
		ups, _ := fleetOf(t, network.Transport(), "alpha", "bravo")
		i := slices.IndexFunc(collectors.All(), func(s *collector.Spec) bool { return s.Name == "validator_views" })
		spec := collectors.All()[i]
		for run, longest := range []time.Duration{15 * time.Second, 0} {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			if err := spec.Bind(ups)[0].Collect(ctx, metric.NewBatch(spec.Families)); err != nil {
				t.Errorf("run %d: %v", run+1, err)
			}
			cancel()
			if took := time.Since(began); took > longest {
				t.Errorf("run %d of alpha took %v", run+1, took)
			}
		}
	})
}
