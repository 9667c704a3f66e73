package nodes_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// network is a simulated network in which some endpoints report another network ID.
type network struct {
	*simnet.Network
	ids map[string]string // network IDs by endpoint
}

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	name := strings.TrimSuffix(r.URL.Hostname(), ".sim")
	if id := n.ids[name]; id != "" && strings.HasPrefix(r.URL.Path, "/ext/info") {
		r = r.Clone(r.Context())
		resp, err := n.Transport().RoundTrip(r)
		if err != nil {
			return resp, err
		}
		return replaced(resp, `"networkID":"1337"`, `"networkID":"`+id+`"`)
	}
	return n.Transport().RoundTrip(r)
}

// inPool runs a test in synthetic time, with a pool of these nodes. A name with a star is an observer's.
func inPool(t *testing.T, names []string, test func(t *testing.T, n network, p *nodes.Pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := network{simnet.New(simnet.Options{Seed: 1}), map[string]string{}}
		var all []*nodes.Node
		for _, name := range names {
			wrap := nodes.New
			if host, is := strings.CutSuffix(name, "*"); is {
				name, wrap = host, nodes.NewObserver
			}
			up := must.Get(scrape.New(scrape.Options{Name: name, URL: "http://" + name + ".sim", Transport: n, RepeatAfter: node.RepeatAfter}))(t)
			all = append(all, wrap(node.New(up)))
		}
		test(t, n, nodes.NewPool(all, []nodes.Chain{{Name: "C", Ref: "C"}}))
	})
}

// who returns the name of the node that First asks with success.
func who(ctx context.Context, p *nodes.Pool) (string, error) {
	return nodes.First(ctx, p, nodes.BasisHeight, func(ctx context.Context, n *nodes.Node) (string, error) {
		_, err := n.PlatformHeight(ctx)
		return n.Name(), err
	})
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestFirstAsksHealthyNodesThenObserversThenOthers(t *testing.T) {
	inPool(t, []string{"observer*", "alpha", "bravo"}, func(t *testing.T, n network, p *nodes.Pool) {
		expect := func(situation, want string) {
			t.Helper()
			if got, err := who(within(t, 20*time.Second), p); got != want || err != nil {
				t.Errorf("%s: %s, %v, want %s", situation, got, err, want)
			}
		}
		expect("all answer", "alpha")
		n.Node("alpha").Stop()
		expect("the first is down", "bravo")
		n.Node("bravo").Stop()
		expect("all nodes are down", "observer")
	})
}

// A hanging node leaves time for the next one. After its timeout, it is asked last.
func TestHangingNodeLeavesTimeForOthers(t *testing.T) {
	inPool(t, []string{"alpha", "bravo"}, func(t *testing.T, n network, p *nodes.Pool) {
		n.Node("alpha").Inject(simnet.Hung())
		for question, longest := range []time.Duration{15 * time.Second, time.Second} {
			began := time.Now()
			if got, err := who(within(t, 30*time.Second), p); got != "bravo" || err != nil || time.Since(began) > longest {
				t.Errorf("question %d: %s, %v after %s", question+1, got, err, time.Since(began))
			}
		}
	})
}

// A node of another release lacks a method that the others have.
func TestOneNodeWithoutAMethodIsReplaced(t *testing.T) {
	inPool(t, []string{"alpha", "bravo", "charlie", "delta", "echo"}, func(t *testing.T, n network, p *nodes.Pool) {
		lacking := func(names ...string) {
			for _, name := range names {
				n.Node(name).Inject(simnet.Refused(-32601, "the method is not available"), "platform.getHeight")
			}
		}
		lacking("alpha")
		if got, err := who(within(t, 20*time.Second), p); got != "bravo" || err != nil {
			t.Errorf("alpha lacks it: %s, %v", got, err)
		}
		lacking("bravo", "charlie")
		if _, err := who(within(t, 20*time.Second), p); !node.IsNotOffered(err) {
			t.Errorf("three nodes lack it: %v", err)
		}
	})
}

// After an upgrade, or an upgrade of the network, a node may offer a method that it refused.
func TestRefusedMethodsAreCalledAgainAfterAnUpgrade(t *testing.T) {
	inPool(t, []string{"alpha"}, func(t *testing.T, n network, p *nodes.Pool) {
		alpha := p.Nodes()[0]
		sent := func() (count int) {
			_, _ = alpha.NodeVersion(t.Context())
			_, _ = alpha.Upgrades(t.Context())
			_, _ = alpha.IsBootstrapped(t.Context(), "C")
			before := len(n.Calls())
			_, _ = alpha.PlatformHeight(t.Context())
			return len(n.Calls()) - before
		}
		n.Node("alpha").Inject(simnet.Refused(-32601, "the method is not available"), "platform.getHeight")
		if got := []int{sent(), sent()}; !slices.Equal(got, []int{1, 0}) {
			t.Errorf("a refused call was sent %v times", got)
		}
		n.SetVersion("alpha", "9.9.9")
		if got := []int{sent(), sent()}; !slices.Equal(got, []int{1, 0}) {
			t.Errorf("with a new version: sent %v times", got)
		}
		n.SetUpgrade("next", time.Now().Add(time.Minute))
		sent()
		time.Sleep(2 * time.Minute)
		if got := []int{sent(), sent()}; !slices.Equal(got, []int{1, 0}) {
			t.Errorf("after an upgrade of the network: sent %v times", got)
		}
	})
}

func TestEachOmitsNodesThatFail(t *testing.T) {
	inPool(t, []string{"alpha", "bravo", "charlie"}, func(t *testing.T, n network, p *nodes.Pool) {
		ask := func() ([]string, error) {
			return nodes.Each(within(t, 20*time.Second), p.Nodes(), nodes.BasisHeight, func(ctx context.Context, n *nodes.Node) (string, error) {
				_, err := n.PlatformHeight(ctx)
				return n.Name(), err
			})
		}
		n.Node("bravo").Stop()
		if got, err := ask(); err != nil || !slices.Equal(got, []string{"alpha", "charlie"}) {
			t.Errorf("%v, %v", got, err)
		}
		n.Node("alpha").Stop()
		n.Node("charlie").Stop()
		if got, err := ask(); err == nil || !strings.Contains(err.Error(), "none of 3 nodes answered") {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func TestExpectedNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		names    []string
		ids      map[string]string
		set      uint64
		down     []string
		want     uint64
		excluded []string // from questions about the network
	}{
		"all agree": {names: []string{"alpha", "bravo"}, want: 1337},
		"most decide": {names: []string{"alpha", "bravo", "charlie"}, ids: map[string]string{"alpha": "5"}, want: 1337,
			excluded: []string{"alpha"}},
		"of two, the first decides": {names: []string{"alpha", "bravo"}, ids: map[string]string{"alpha": "5"}, want: 5, excluded: []string{"bravo"}},
		"the configuration decides": {names: []string{"alpha", "bravo"}, ids: map[string]string{"alpha": "5", "bravo": "5"}, set: 1337, want: 1337,
			excluded: []string{"alpha", "bravo"}},
		"nodes outvote observers": {names: []string{"observer*", "alpha"}, ids: map[string]string{"observer": "5"}, want: 1337,
			excluded: []string{"observer"}},
		"observers, without nodes":        {names: []string{"observer*"}, ids: map[string]string{"observer": "5"}, want: 5},
		"observers, while nodes are down": {names: []string{"alpha", "observer*"}, down: []string{"alpha"}, want: 1337},
	} {
		inPool(t, c.names, func(t *testing.T, n network, p *nodes.Pool) {
			for host, id := range c.ids {
				n.ids[host] = id
			}
			for _, host := range c.down {
				n.Node(host).Stop()
			}
			p.NetworkID = c.set
			if got, err := p.Network(within(t, 30*time.Second)); got != c.want || err != nil {
				t.Errorf("%s: network %d, %v, want %d", name, got, err, c.want)
			}
			for _, one := range slices.Concat(p.Nodes(), p.Observers()) {
				err := one.Belongs(within(t, 30*time.Second))
				if excluded := slices.Contains(c.excluded, one.Name()); excluded != errors.Is(err, metric.ErrNotOffered) || excluded != one.OtherNetwork() {
					t.Errorf("%s: %s: %v, other network %v", name, one.Name(), err, one.OtherNetwork())
				}
			}
		})
	}
}

// When the network of the first node is known, those of the others are too: the first node may be the foreign one.
func TestFirstQuestionWaitsForTheNetworksOfAllNodes(t *testing.T) {
	inPool(t, []string{"charlie", "alpha", "bravo"}, func(t *testing.T, n network, p *nodes.Pool) {
		n.ids["charlie"] = "5"
		if got, err := who(within(t, 20*time.Second), p); got != "alpha" || err != nil {
			t.Errorf("%s answers, %v", got, err)
		}
	})
}

func TestRunOfAForeignObserverIsNotOffered(t *testing.T) {
	inPool(t, []string{"alpha", "observer*"}, func(t *testing.T, n network, p *nodes.Pool) {
		n.ids["observer"] = "5"
		ran := false
		err := p.Observers()[0].Run(within(t, 20*time.Second), func() error { ran = true; return nil })
		if ran || !errors.Is(err, metric.ErrNotOffered) {
			t.Errorf("ran %v, %v", ran, err)
		}
	})
}

// The networks of many nodes are requested once, although many runs begin at the same time.
func TestManyRunsShareTheRequestsForNetworks(t *testing.T) {
	inPool(t, []string{"alpha", "bravo"}, func(t *testing.T, n network, p *nodes.Pool) {
		done := make(chan error)
		for range 100 {
			go func() { _, err := p.Network(t.Context()); done <- err }()
		}
		for range 100 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		calls := 0
		for _, c := range n.Calls() {
			if c.Method == "info.getNetworkID" {
				calls++
			}
		}
		if calls != 2 {
			t.Errorf("%d requests for the networks of 2 nodes", calls)
		}
	})
}

// A node that does not answer its probe ends the calls that wait for it while others could answer.
func TestFailedProbeEndsWaitingCalls(t *testing.T) {
	inPool(t, []string{"alpha", "bravo"}, func(t *testing.T, n network, p *nodes.Pool) {
		must.Get(p.Network(t.Context()))(t)
		alpha, changes := p.Nodes()[0], []bool{}
		alpha.Changed = func(answers bool) { changes = append(changes, answers) }
		probe := func() bool {
			outcome, _, err := alpha.Probe(within(t, time.Second))
			if err != nil {
				t.Error(err)
			}
			return outcome == scrape.OK
		}
		if !probe() || !alpha.Probed() {
			t.Error("no answer while the node is up")
		}
		n.Node("alpha").Inject(simnet.Hung())
		time.Sleep(time.Second) // else the probe shares the answer of the one before
		began, got := time.Now(), make(chan string)
		go func() {
			name, err := who(within(t, time.Minute), p)
			got <- fmt.Sprint(name, err)
		}()
		synctest.Wait()
		if probe() {
			t.Error("an answer while the node hangs")
		}
		if name := <-got; name != "bravo<nil>" || time.Since(began) > 2*time.Second {
			t.Errorf("%s after %s", name, time.Since(began))
		}
		probe()
		n.Node("alpha").Recover()
		time.Sleep(time.Second)
		probe()
		if want := []bool{false, true}; !slices.Equal(changes, want) {
			t.Errorf("changes %v, want %v", changes, want)
		}
	})
}

// A node is up as long as one of its APIs says that a node is there. What else answers at its address is none.
func TestNodeWithoutInfoAPIIsUp(t *testing.T) {
	inPool(t, []string{"alpha"}, func(t *testing.T, n network, p *nodes.Pool) {
		alpha := n.Node("alpha")
		for _, step := range []struct {
			change func()
			want   bool
		}{
			{func() {}, true},
			{func() { alpha.SetAPI("info", false) }, true},
			{func() { alpha.SetAPI("health", false) }, false}, // such as a proxy without a rule for the address
			{func() { alpha.SetAPI("info", true) }, true},
			{func() { alpha.Inject(simnet.HTML()) }, false},
			{alpha.Recover, true},
		} {
			step.change()
			time.Sleep(time.Minute)
			if got, _, err := p.Nodes()[0].Probe(within(t, 10*time.Second)); (got == scrape.OK) != step.want || err != nil {
				t.Errorf("outcome %s, %v; answers: want %t", got, err, step.want)
			}
		}
	})
}

// The VM of a chain has ended if two calls in a row fail while the node itself answers.
func TestChainStopsAfterTwoFailedCalls(t *testing.T) {
	inPool(t, []string{"alpha"}, func(t *testing.T, n network, p *nodes.Pool) {
		alpha := p.Nodes()[0]
		call := func(err error) {
			_ = alpha.CallChain(within(t, 20*time.Second), "one", func(context.Context) error { return err })
		}
		timeout := &scrape.Error{Op: "x", Outcome: scrape.Timeout, Err: errors.New("no answer")}
		expect := func(situation string, want bool) {
			t.Helper()
			if got := alpha.ChainStopped("one"); got != want {
				t.Errorf("%s: stopped %v", situation, got)
			}
		}
		call(timeout)
		expect("one failure", false)
		call(timeout)
		expect("two failures", true)
		call(nil)
		expect("an answer", false)
		call(timeout)
		call(&scrape.Error{Op: "x", Outcome: scrape.Rejected, Err: errors.New("no")})
		expect("a failure and a rejection", false)
		n.Node("alpha").Stop()
		time.Sleep(2 * time.Second)
		call(timeout)
		call(timeout)
		expect("failures while the node is down", false)
	})
}

// A chain that has answered has bootstrapped, until it fails, the node is silent, or the answer is too old. Samples made of it are as old as the answer.
func TestAnswerOfAChainTellsThatItHasBootstrapped(t *testing.T) {
	inPool(t, []string{"alpha"}, func(t *testing.T, n network, p *nodes.Pool) {
		alpha := p.Nodes()[0]
		probe := func() { _, _, _ = alpha.Probe(within(t, 10*time.Second)) }
		probe()
		time.Sleep(time.Second)
		var requested time.Time
		expect := func(situation string, want bool) {
			t.Helper()
			ctx, oldest := scrape.Sharing(t.Context(), time.Minute)
			if got := alpha.ChainAnswered(ctx, "C"); got != want || want && oldest() != requested {
				t.Errorf("%s: %t, of %s", situation, got, oldest())
			}
		}
		answer := func() {
			requested = time.Now()
			alpha.NoteChain("C", requested, nil)
		}
		expect("no answer yet", false)
		answer()
		time.Sleep(time.Minute)
		expect("an answer", true)
		time.Sleep(time.Second)
		expect("it is too old", false)
		answer()
		alpha.NoteChain("C", time.Now(), errors.New("API call rejected because chain is not done bootstrapping"))
		expect("a failure", false)
		answer()
		time.Sleep(time.Second)
		n.Node("alpha").Stop()
		probe()
		n.Node("alpha").Start()
		time.Sleep(20 * time.Second)
		probe()
		expect("another process", false)
		answer()
		expect("an answer of this process", true)
	})
}

// A node that claims the ID of another decides nothing about it: neither that its chain has stopped, nor that it is unreachable.
func TestIDOfTwoNodesCountsAsStoppedOnlyIfItIsOnBoth(t *testing.T) {
	inPool(t, []string{"alpha", "bravo", "bravo"}, func(t *testing.T, n network, p *nodes.Pool) {
		if known, err := p.Identified(within(t, 20*time.Second)); err != nil || len(known) != 3 {
			t.Fatal(known, err)
		}
		failed := func(context.Context) error {
			return &scrape.Error{Op: "x", Outcome: scrape.Unavailable, Err: errors.New("no")}
		}
		for _, step := range []struct {
			node int
			want map[string]bool
		}{
			{0, map[string]bool{n.NodeID("alpha"): true}},
			{1, map[string]bool{n.NodeID("alpha"): true}},
			{2, map[string]bool{n.NodeID("alpha"): true, n.NodeID("bravo"): true}},
		} {
			for range 2 {
				_ = p.Nodes()[step.node].CallChain(within(t, 20*time.Second), "one", failed)
			}
			if got := p.ChainStopped("one"); !maps.Equal(got, step.want) {
				t.Errorf("after the chain of node %d has stopped: %v, want %v", step.node, got, step.want)
			}
		}
	})
}

// Peers report the ID of a node that has stopped as connected for a while: it is known from before. An ID that another node has too counts as
// reachable.
func TestUnreachableNodesAreKnownByTheirIDs(t *testing.T) {
	inPool(t, []string{"alpha", "bravo"}, func(t *testing.T, n network, p *nodes.Pool) {
		known, err := p.Identified(within(t, 20*time.Second))
		if err != nil || len(known) != 2 {
			t.Fatal(known, err)
		}
		if u := p.Unreachable(0); len(u.Nodes) > 0 {
			t.Errorf("unreachable: %v", u.Names())
		}
		n.Node("bravo").Stop()
		for _, one := range p.Nodes() {
			_, _, _ = one.Probe(within(t, time.Second))
		}
		u := p.Unreachable(0)
		if want := n.NodeID("bravo"); !slices.Equal(u.Names(), []string{"bravo"}) || !u.IDs[want] || !slices.Equal(u.Counted(), []string{"bravo"}) {
			t.Errorf("unreachable: %v, %v", u.Names(), u.IDs)
		}
		if got := nodes.Names(nodes.Reachable(p.Nodes(), 0)); !slices.Equal(got, []string{"alpha"}) {
			t.Errorf("reachable: %v", got)
		}
		for _, is := range p.Ask(within(t, 2*time.Second), nil) {
			if want := map[string]string{"alpha": n.NodeID("alpha"), "bravo": ""}[is.Node]; is.ID != want || len(is.Stopped) > 0 {
				t.Errorf("asked: %+v, want ID %q", is, want)
			}
		}
	})
}

// Without platform.getBlockchains, the health checks name the chains of each node.
func TestChainsAreDiscoveredWithoutAList(t *testing.T) {
	inPool(t, []string{"alpha", "foxtrot"}, func(t *testing.T, n network, p *nodes.Pool) {
		before, err := p.Discover(within(t, 20*time.Second), nil)
		if err != nil || len(before) < 2 {
			t.Fatalf("%v, %v", before, err)
		}
		for _, name := range []string{"alpha", "foxtrot", "observer"} {
			if name == "observer" {
				n.Observer().Inject(simnet.Refused(-32601, "the method is not available"), "platform.getBlockchains")
			} else {
				n.Node(name).Inject(simnet.Refused(-32601, "the method is not available"), "platform.getBlockchains")
			}
		}
		time.Sleep(nodes.StaticAge)
		if after, err := p.Discover(within(t, 20*time.Second), nil); err != nil || !slices.Equal(after, before) {
			t.Errorf("%v, %v, want %v", after, err, before)
		}
	})
}

// Nodes begin an epoch a few seconds apart, and one answer may be older than the other.
func TestShortDifferencesContradictNobody(t *testing.T) {
	for name, lasts := range map[string]time.Duration{"the answer of a node is old": 0, "a node is behind": 1500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			inPool(t, []string{"alpha", "bravo"}, func(t *testing.T, n network, p *nodes.Pool) {
				changed := time.Now()
				asked := map[string]int{}
				var mu sync.Mutex
				epoch, err := nodes.Agreed(within(t, 10*time.Second), p, nodes.Fact{Name: "epoch"}, func(a, b int) bool { return a == b },
					func(_ context.Context, n *nodes.Node) (int, error) {
						mu.Lock()
						defer mu.Unlock()
						asked[n.Name()]++
						if n.Name() == "alpha" && (asked["alpha"] == 1 || time.Since(changed) < lasts) {
							return 1, nil
						}
						return 2, nil
					})
				if epoch != 2 || err != nil || len(p.Contradicted()) > 0 {
					t.Errorf("%d, %v, contradicted: %v", epoch, err, p.Contradicted())
				}
			})
		})
	}
}

// Without a majority nobody is wrong: the error names all.
func TestNoMajorityContradictsNobody(t *testing.T) {
	inPool(t, []string{"alpha", "bravo", "charlie", "delta"}, func(t *testing.T, n network, p *nodes.Pool) {
		for range 3 {
			_, err := nodes.Agreed(within(t, 10*time.Second), p, nodes.FactStake, func(a, b string) bool { return a == b },
				func(_ context.Context, n *nodes.Node) (string, error) { return n.Name(), nil })
			if err == nil || !strings.Contains(err.Error(), "stake: ") || !strings.Contains(err.Error(), "alpha, bravo, charlie, delta report different values") {
				t.Errorf("%v", err)
			}
			time.Sleep(time.Minute)
		}
		if c := p.Contradicted(); len(c) > 0 {
			t.Errorf("contradicted: %v", c)
		}
	})
}

// What nodes reach one after the other follows most of them: of three, neither one that is ahead nor one that is behind decides.
func TestReachedByFollowsMost(t *testing.T) {
	inPool(t, []string{"alpha", "bravo", "charlie"}, func(t *testing.T, n network, p *nodes.Pool) {
		for _, c := range []struct {
			says map[string]int
			want int
		}{
			{map[string]int{"alpha": 7, "bravo": 7, "charlie": 1_000_000}, 7},
			{map[string]int{"alpha": 7, "bravo": 8, "charlie": 7}, 7},
			{map[string]int{"alpha": 7, "bravo": 8, "charlie": 8}, 8},
			{map[string]int{"alpha": 0, "bravo": 8, "charlie": 9}, 8},
		} {
			got, err := nodes.ReachedBy(within(t, 10*time.Second), p, nodes.BasisHeight, cmp.Compare[int], func(_ context.Context, n *nodes.Node) (int, error) {
				return c.says[n.Name()], nil
			})
			if got != c.want || err != nil {
				t.Errorf("%v: %d, %v", c.says, got, err)
			}
		}
		if c := p.Contradicted(); len(c) > 0 {
			t.Errorf("contradicted: %v", c)
		}
	})
}

// One answer that differs may be late. A node that still differs a minute later is contradicted.
func TestNodeIsContradictedWhenItDiffersTwice(t *testing.T) {
	inPool(t, []string{"alpha", "bravo", "charlie"}, func(t *testing.T, n network, p *nodes.Pool) {
		compare := func() map[string][]string {
			t.Helper()
			value, err := nodes.Agreed(within(t, 10*time.Second), p, nodes.Fact{Name: "epoch"}, func(a, b int) bool { return a == b },
				func(_ context.Context, n *nodes.Node) (int, error) { return len(n.Name()), nil }) // charlie differs
			if value != len("alpha") || err != nil {
				t.Errorf("%d, %v", value, err)
			}
			return p.Contradicted()
		}
		if c := compare(); len(c) > 0 {
			t.Errorf("after one comparison: %v", c)
		}
		time.Sleep(time.Minute)
		if c := compare(); len(c) != 1 || !slices.Equal(c["charlie"], []string{"epoch"}) {
			t.Errorf("after two: %v", c)
		}
		before := p.Nodes()
		p.SetNodes(before[:2])
		if c := p.Contradicted(); len(c) > 0 {
			t.Errorf("the removed node is contradicted: %v", c)
		}
		p.SetNodes(before)
		time.Sleep(20 * time.Minute)
		if c := p.Contradicted(); len(c) > 0 {
			t.Errorf("20 min later: %v", c)
		}
	})
}

// Restarts of the last 30 days are known, with the time of the last answer, and another process can go on with them.
func TestRestartsAreRemembered(t *testing.T) {
	inPool(t, []string{"alpha"}, func(t *testing.T, n network, p *nodes.Pool) {
		alpha := p.Nodes()[0]
		probe := func() {
			time.Sleep(15 * time.Second)
			_, _, err := alpha.Probe(within(t, time.Second))
			must.Do(t, err)
		}
		away := func(d time.Duration) {
			probe()
			n.Node("alpha").Stop()
			for range d / (15 * time.Second) {
				probe()
			}
			n.Node("alpha").Start()
			probe()
		}
		is := func(want time.Duration) {
			t.Helper()
			if got := alpha.Past().Longest().Round(15 * time.Second); got != want {
				t.Errorf("longest restart %v, want %v", got, want)
			}
		}
		probe()
		is(0)
		away(time.Minute)
		away(10 * time.Minute) // an outage
		away(15 * time.Second)
		is(0) // two restarts say nothing about the next
		away(15 * time.Second)
		is(75 * time.Second) // from one answered probe to the next
		n.Node("alpha").Stop()
		answered := alpha.Past().Answered
		probe()
		next := nodes.New(alpha.Client)
		next.Remember(alpha.Past())
		if !next.Past().Answered.Equal(answered) || next.Past().Longest() != alpha.Past().Longest() {
			t.Errorf("another process knows %+v, want %+v", next.Past(), alpha.Past())
		}
		time.Sleep(30 * 24 * time.Hour)
		is(0)
	})
}

// If there are too many chains, each node has the same share: those with many take none from one with few. What is left out is counted.
func TestChainsAreSharedAmongNodes(t *testing.T) {
	for name, c := range map[string]struct{ fleet, room int }{"chains": {0, nodes.MaxChains}, "chains times nodes": {494, 50}} {
		t.Run(name, func(t *testing.T) {
			names := []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot"}
			for i := range c.fleet {
				names = append(names, fmt.Sprint("n", i))
			}
			inPool(t, names, func(t *testing.T, _ network, p *nodes.Pool) {
				tracked := make([][]node.Blockchain, len(names))
				for i := range 500 {
					tracked[i%5] = append(tracked[i%5], node.Blockchain{ID: fmt.Sprintf("%s%03d", names[i%5], i)})
				}
				tracked[5] = []node.Blockchain{{ID: "own1"}, {ID: "own2"}, {ID: "own3"}}
				found, err := p.Follow(p.Chains(), tracked)
				if len(found) != c.room || p.LeftOut() != 503+1-c.room || !errors.Is(err, nodes.ErrTooManyChains) {
					t.Fatalf("%d chains, %d left out, %v", len(found), p.LeftOut(), err)
				}
				share := map[string]int{}
				for _, chain := range found {
					share[strings.TrimRight(chain.Name, "0123456789")]++
				}
				if share["C"] != 1 || share["own"] != 3 || share["alpha"]-share["echo"] > 1 {
					t.Errorf("shares %v", share)
				}
				time.Sleep(5 * time.Minute)
				if again, _ := p.Follow(found, tracked); !slices.Equal(again, found) {
					t.Errorf("other chains at the next pass: %v, before %v", again, found)
				}
				if few, err := p.Follow(found, slices.Concat([][]node.Blockchain{nil, nil, nil, nil, nil}, tracked[5:])); err != nil || p.LeftOut() != 0 {
					t.Errorf("%d left out of %d, %v", p.LeftOut(), len(few), err)
				}
			})
		})
	}
}

// Each of a thousand nodes asks for them several times a minute.
func TestNodesOfTheNetworkAreNotCopied(t *testing.T) {
	inPool(t, []string{"alpha", "bravo", "charlie*"}, func(t *testing.T, _ network, p *nodes.Pool) {
		if allocated := testing.AllocsPerRun(100, func() { p.OfNetwork() }); allocated != 0 {
			t.Errorf("%v allocations", allocated)
		}
	})
}
