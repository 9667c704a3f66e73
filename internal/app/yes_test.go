package app_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// maxLate is how late /serving and /is-back may follow the truth. The answers about a stop follow it at once: they call the nodes.
const maxLate = 15 * time.Second

// yesWorld is a network in which nodes fail at random and are upgraded.
type yesWorld struct {
	*apptest.World
	random  *rand.Rand
	own     []string
	answers atomic.Int64
	yes     sync.Map // of which verdicts there was a yes

	mu    sync.Mutex
	busy  map[string]bool
	cut   sync.Map             // since when a node has no peers, by name: it serves until it is too far behind
	since map[string]time.Time // when a node was last as the answer says, by question
}

var subnetChains = []string{"examplel1", "examplepoa"}

// denied returns why nodes must not stop now, by the truth of the network; empty if they may.
func (y *yesWorld) denied(names ...string) string { return y.deniedWithout("", names...) }

// deniedWithout returns why nodes must not stop now if they are removed from a chain. Of a node that is removed, the weight goes, too.
func (y *yesWorld) deniedWithout(removed string, names ...string) string {
	return stopDenied(y.Network, y.own, removed, names...)
}

// stopDenied returns why nodes must not stop now, by the truth of the network; empty if they may. removed is a chain from which they are removed.
func stopDenied(n *simnet.Network, own []string, removed string, names ...string) string {
	var ids []string
	for _, name := range names {
		ids = append(ids, n.Node(name).ID())
	}
	for _, chain := range append([]string{"P"}, subnetChains...) {
		share := n.VotingShare(chain, ids...)
		if chain == removed {
			share /= 1 - n.WeightShare(chain, ids[0])
		}
		// Who does not vote changes nothing when it stops.
		if share < 0.8 && slices.ContainsFunc(ids, func(id string) bool { return n.Validates(chain, id) && n.Votes(chain, id) }) {
			var out []string
			for _, name := range own {
				if id := n.Node(name).ID(); n.Validates(chain, id) && !n.Votes(chain, id) {
					out = append(out, name)
				}
			}
			return fmt.Sprintf("%.1f %% of %s would vote, of which %v do not now", 100*share, chain, out)
		}
	}
	return ""
}

// well reports whether a node votes on all of these chains that it validates.
func (y *yesWorld) well(name string, chains ...string) bool {
	id := y.Node(name).ID()
	return !slices.ContainsFunc(chains, func(c string) bool { return y.Validates(c, id) && !y.Votes(c, id) })
}

// get counts an answer and returns it if it is yes.
func (y *yesWorld) get(t *testing.T, path string) (yes string) {
	status, body := y.Get(t, path)
	y.answers.Add(1)
	if status != http.StatusOK {
		return ""
	}
	kind, _, _ := strings.Cut(path, "?")
	y.yes.Store(kind, true)
	return strings.TrimSpace(body)
}

// incidents let nodes fail, two at a time at most, until the end.
func (y *yesWorld) incidents(t *testing.T, end time.Time) {
	kinds := []func(n *simnet.Node, name string, lasts time.Duration){
		func(n *simnet.Node, _ string, lasts time.Duration) { n.Stop(); time.Sleep(lasts); n.Start() },
		func(n *simnet.Node, _ string, lasts time.Duration) {
			n.Kill(45 * time.Second)
			time.Sleep(lasts)
			n.Start()
		},
		func(n *simnet.Node, _ string, lasts time.Duration) {
			n.Inject(simnet.Hung())
			time.Sleep(lasts)
			n.Recover()
		},
		func(n *simnet.Node, _ string, lasts time.Duration) {
			n.SetChain("examplel1", simnet.Dead)
			time.Sleep(lasts)
			n.Stop()
			time.Sleep(3 * time.Second)
			n.Start()
		},
		func(n *simnet.Node, _ string, lasts time.Duration) {
			n.SetChain("C", simnet.Bootstrapping)
			time.Sleep(lasts)
			n.SetChain("C", simnet.Running)
		},
		func(_ *simnet.Node, name string, lasts time.Duration) {
			y.cut.Store(name, time.Now())
			defer y.cut.Delete(name)
			y.Disconnect(name)
			time.Sleep(lasts)
			y.Reconnect(name)
		},
		func(n *simnet.Node, _ string, _ time.Duration) { n.Start() }, // a quick restart
	}
	var all sync.WaitGroup
	for time.Now().Before(end) {
		time.Sleep(time.Duration(30+y.random.IntN(120)) * time.Second)
		name, which := y.own[y.random.IntN(len(y.own))], y.random.IntN(len(kinds))
		kind := kinds[which]
		lasts := time.Duration(5+y.random.IntN(180)) * time.Second
		y.mu.Lock()
		free := len(y.busy) < 2 && !y.busy[name]
		if free {
			y.busy[name] = true
		}
		y.mu.Unlock()
		if !free {
			continue
		}
		all.Go(func() {
			t.Logf("%s: incident %d of %s for %s", time.Now().Format("15:04:05"), which, name, lasts)
			kind(y.Node(name), name, lasts)
			time.Sleep(time.Duration(y.random.IntN(60)) * time.Second)
			y.mu.Lock()
			defer y.mu.Unlock()
			delete(y.busy, name)
		})
	}
	all.Wait()
}

// upgrade restarts one node after the other with another version, as docs/operating.md says.
func (y *yesWorld) upgrade(t *testing.T, end time.Time) {
	for i := 0; time.Now().Before(end); i++ {
		name := y.own[i%len(y.own)]
		for y.get(t, "/safe-to-stop?node="+name) == "" && time.Now().Before(end) {
			time.Sleep(15 * time.Second)
		}
		n := y.Node(name)
		t.Logf("%s: upgrade of %s", time.Now().Format("15:04:05"), name)
		n.Stop()
		time.Sleep(20 * time.Second)
		y.SetVersion(n.ID(), simnet.Releases()[i%2])
		n.Start()
		began := time.Now()
		for y.get(t, fmt.Sprintf("/is-back?node=%s&after=%d", name, began.Unix())) == "" && time.Since(began) < 8*time.Minute {
			time.Sleep(5 * time.Second)
		}
	}
}

// asks asks whether nodes may stop, one question after the other.
func (y *yesWorld) asks(t *testing.T, end time.Time) {
	for i := 0; time.Now().Before(end); i++ {
		names := []string{y.own[i%len(y.own)]}
		path := "/safe-to-stop?hold=false&node=" + names[0]
		if i%5 == 4 {
			names = append(names, y.own[(i+1+i%3)%len(y.own)])
			path = "/waves?hold=false&node=" + names[0] + "&node=" + names[1]
		}
		removed := ""
		if chain := subnetChains[i%len(subnetChains)]; i%5 == 3 && y.Validates(chain, y.Node(names[0]).ID()) && y.well(names[0], "P", chain) {
			removed, path = chain, "/safe-to-remove?hold=false&validation="+y.ValidationID(chain, names[0])
		}
		before := y.deniedWithout(removed, names...)
		yes := y.get(t, path)
		if strings.HasPrefix(path, "/waves") && !strings.Contains(yes, "in 1 group") {
			yes = ""
		}
		if after := y.deniedWithout(removed, names...); yes != "" && before != "" && after != "" {
			t.Errorf("%s: %s: %s, but %s", time.Now().Format("15:04:05"), path, yes, after)
		}
		time.Sleep(time.Second)
	}
}

// watches asks each second about every node whether it serves, and whether it is back.
func (y *yesWorld) watches(t *testing.T, end time.Time) {
	for time.Now().Before(end) {
		for _, name := range y.own {
			for path, chains := range map[string][]string{
				"/serving?chain=C&node=" + name: {"C"}, "/serving?chain=P&node=" + name: {"P"}, "/is-back?node=" + name: {"P", "C", "examplel1", "examplepoa"},
			} {
				if y.since[path].IsZero() || y.well(name, chains...) {
					y.since[path] = time.Now()
				}
				allowed := maxLate
				if _, cut := y.cut.Load(name); cut && strings.HasPrefix(path, "/serving") {
					allowed = 2 * time.Minute // 20 blocks, and the time until a collector sees them
				}
				if yes := y.get(t, path); yes != "" && time.Since(y.since[path]) > allowed {
					t.Errorf("%s: %s: %s, but it is not, for %s", time.Now().Format("15:04:05"), path, yes, time.Since(y.since[path]))
				}
			}
		}
		time.Sleep(time.Second)
	}
}

// Nodes fail at random, and one after the other is upgraded. At every second no verdict says yes where the network's truth denies it.
func TestNoVerdictSaysYesWhereTheTruthDeniesIt(t *testing.T) {
	testworld.Story(t)
	seeds, lasts := uint64(12), 20*time.Minute
	if testing.Short() {
		seeds, lasts = 1, 8*time.Minute
	}
	var answers atomic.Int64
	var yes sync.Map
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				own := []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot"}
				w.Use(simnet.New(simnet.Options{Seed: seed, Others: 12, Startup: simnet.Startup{
					Listen: 4 * time.Second, Peers: 15 * time.Second, PChain: 20 * time.Second, Chains: 40 * time.Second, L1s: 60 * time.Second, Uptime: 90 * time.Second,
				}}), own...)
				w.Env["CHAINS"] = "C,auto"
				w.SetBlockPeriod("C", 2*time.Second)
				w.Start(t)
				time.Sleep(4 * time.Minute)
				y := &yesWorld{World: w, random: rand.New(rand.NewPCG(seed, 7)), own: own, busy: map[string]bool{}, since: map[string]time.Time{}}
				end := time.Now().Add(lasts)
				var all sync.WaitGroup
				all.Go(func() { y.incidents(t, end) })
				all.Go(func() { y.upgrade(t, end) })
				all.Go(func() { y.asks(t, end) })
				all.Go(func() { y.watches(t, end) })
				all.Wait()
				answers.Add(y.answers.Load())
				y.yes.Range(func(kind, _ any) bool { yes.Store(kind, true); return true })
			})
		})
	}
	for _, kind := range []string{"/safe-to-stop", "/safe-to-remove", "/serving", "/is-back"} {
		if _, some := yes.Load(kind); !some {
			t.Errorf("%s never says yes", kind)
		}
	}
	t.Logf("%d answers", answers.Load())
	if !testing.Short() && answers.Load() < 100_000 {
		t.Error("too few")
	}
}

// A node that has just lost its peers counts as gone before others, or a collector, have noticed it.
func TestNoYesAfterANodeHasLostItsPeers(t *testing.T) {
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		own := []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot"}
		w.Use(simnet.New(simnet.Options{Seed: 1}), own...)
		w.Env["CHAINS"] = "C,auto"
		w.Start(t)
		time.Sleep(4 * time.Minute)
		y := &yesWorld{World: w, own: own}
		denied := 0
		for _, cut := range own {
			time.Sleep(17 * time.Second) // after a run
			w.Disconnect(cut)
			for range 70 {
				time.Sleep(time.Second)
				for _, name := range own {
					truth := y.denied(name)
					if truth == "" {
						continue
					}
					if denied++; y.get(t, "/safe-to-stop?hold=false&node="+name) != "" && y.denied(name) != "" {
						t.Errorf("%s is cut off: %s may stop, but %s", cut, name, truth)
					}
				}
			}
			w.Reconnect(cut)
			time.Sleep(4 * time.Minute)
		}
		if denied == 0 {
			t.Error("nothing is denied")
		}
	})
}

// Validators of others, of which the exporter knows no more than that they are active peers, count as gone before a collector has noticed it.
func TestNoYesAfterStrangersHaveGone(t *testing.T) {
	for name, leave := range map[string]func(w *world){
		"disconnected": func(w *world) { each(large[:5], w.Disconnect) },
		"inactive":     func(w *world) { each(members[:6], func(m string) { w.SetBalance("examplel1", m, 0) }) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, incident{}, func(t *testing.T, w *world) {
				time.Sleep(4 * time.Minute)
				y := &yesWorld{World: w.World, own: []string{"alpha", "bravo", "charlie"}}
				if status, answer := y.Get(t, "/safe-to-stop?hold=false&node=alpha"); status != http.StatusOK {
					t.Error(answer)
				}
				time.Sleep(17 * time.Second) // after a run
				leave(w)
				for range 70 {
					time.Sleep(time.Second)
					for _, name := range y.own {
						if yes := y.get(t, "/safe-to-stop?hold=false&node="+name); yes != "" {
							t.Errorf("%s, but %s", yes, y.denied(name))
						}
					}
				}
			})
		})
	}
}

// A node that has just become a validator of an L1 counts before a collector has noticed it.
func TestNoYesAfterANodeHasBecomeAValidator(t *testing.T) {
	inWorld(t, incident{nodes: []string{"echo", "foxtrot"}, idle: true, permissioned: true}, func(t *testing.T, w *world) {
		time.Sleep(4 * time.Minute)
		y := &yesWorld{World: w.World, own: []string{"echo", "foxtrot"}}
		if status, answer := y.Get(t, "/safe-to-stop?hold=false&node=echo"); status != http.StatusOK {
			t.Error(answer)
		}
		time.Sleep(17 * time.Second) // after a run
		replace(w, old[:3], time.Second)
		denied := 0
		for range 70 {
			time.Sleep(time.Second)
			truth := y.denied("echo")
			if truth == "" {
				continue
			}
			denied++
			if yes := y.get(t, "/safe-to-stop?hold=false&node=echo"); yes != "" && y.denied("echo") != "" {
				t.Errorf("%s, but %s", yes, truth)
			}
		}
		if denied == 0 {
			t.Error("nothing is denied")
		}
	})
}

// A question waits two seconds for an answer. A node that needs three is slow, and its chains are not gone, however often somebody asks.
func TestQuestionsRaiseNoAlert(t *testing.T) {
	testworld.Story(t)
	inWorld(t, incident{}, func(t *testing.T, w *world) {
		time.Sleep(4 * time.Minute)
		w.Node("alpha").Inject(simnet.Slow(2500 * time.Millisecond))
		asked := time.Now()
		for i := 0; time.Since(asked) < 10*time.Minute; i++ {
			node := []string{"alpha", "bravo", "charlie"}[i%3]
			for _, path := range []string{"/safe-to-stop?hold=false&", "/waves?hold=false&", "/is-back?", "/serving?chain=examplel1&"} {
				w.Get(t, path+"node="+node)
			}
			time.Sleep(5 * time.Second)
		}
		for _, a := range w.Alerts(t) {
			if name := a.Labels["alertname"]; name != "AvaxNodeSlow" && a.Labels["severity"] != "none" {
				t.Errorf("%v", a.Labels)
			}
		}
	})
}
