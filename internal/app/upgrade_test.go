package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// From the start on, in each second: the metric has the answer of /safe-to-stop, and is absent while that is not known.
func TestMetricSaysWhatSafeToStopSays(t *testing.T) {
	testworld.Story(t)
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Env["CHAINS"] = "C,auto"
		w.Env["NODES"] = "alpha=http://alpha.sim,bravo=http://bravo.sim,delta=http://delta.sim,echo=http://echo.sim"
		w.StartNow(t)
		answers := map[string]int{}
		for second := range 10 * 60 {
			switch second {
			case 3 * 60:
				w.Node("bravo").Stop()
			case 4 * 60:
				w.Node("bravo").Start()
			case 7 * 60:
				w.SetBalance("examplel1", "bravo", 512*60)
			}
			page, scraped := w.Samples(t), time.Now()
			for _, node := range []string{"alpha", "bravo", "delta", "echo"} {
				status, reason := mayStop(t, w, node)
				value, known := page[`avax_node_safe_to_stop{node="`+node+`"}`]
				if known != (status != http.StatusServiceUnavailable) || known && (value == 1) != (status == http.StatusOK) {
					if time.Now().Equal(scraped) && !strings.Contains(reason, "did not answer within 2 s") { // no probe took time
						t.Errorf("second %d: %s: metric %v (%t), answer %d %s", second, node, value, known, status, reason)
					}
				}
				answers[fmt.Sprint(node, status)]++
			}
			time.Sleep(time.Second)
		}
		for _, want := range []string{"alpha409", "delta200", "delta409", "bravo503", "echo200"} {
			if answers[want] == 0 {
				t.Errorf("never %s: %v", want, answers)
			}
		}
	})
}

// While a node that restarted is not back, no other node may stop. The answer names it.
func TestNoNodeMayStopWhileAnotherIsNotBack(t *testing.T) {
	t.Parallel()
	restartWith := func(chain string, state simnet.ChainState) func(*simnet.Node) {
		return func(n *simnet.Node) {
			n.Stop()
			time.Sleep(time.Minute)
			n.Start()
			n.SetChain(chain, state)
		}
	}
	for name, c := range map[string]struct {
		restart func(n *simnet.Node)
		repair  func(n *simnet.Node)
		missing string
	}{
		"never starts again": {func(n *simnet.Node) { n.Stop() }, (*simnet.Node).Start, "it does not answer"},
		"a plugin does not start": {restartWith("examplel1", simnet.Failed),
			func(n *simnet.Node) { n.SetChain("examplel1", simnet.Running) }, "examplel1"},
		"no longer tracks its L1": {restartWith("examplel1", simnet.Untracked),
			func(n *simnet.Node) { n.SetChain("examplel1", simnet.Running) }, "it does not run examplel1"},
		"bootstraps": {restartWith("C", simnet.Bootstrapping),
			func(n *simnet.Node) { n.SetChain("C", simnet.Running) }, "C: bootstrapping"},
	} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				w.Env["NODES"] = "alpha=http://alpha.sim,echo=http://echo.sim,golf=http://delta.sim,hotel=http://foxtrot.sim"
				w.Start(t)
				time.Sleep(3 * time.Minute)
				if status, reason := mayStop(t, w, "golf"); status != http.StatusOK {
					t.Fatalf("before: %d %s", status, reason)
				}
				echo := w.Node("echo")
				c.restart(echo)
				time.Sleep(6 * time.Minute)
				status, reason := mayStop(t, w, "golf")
				if status != http.StatusConflict || !strings.Contains(reason, "echo stopped answering ") || !strings.Contains(reason, " min ago and is not back: ") ||
					!strings.Contains(reason, c.missing) {
					t.Errorf("%d %s", status, reason)
				}
				if status, reason := w.Get(t, "/is-back?node=echo"); status != http.StatusConflict || !strings.Contains(reason, c.missing) {
					t.Errorf("is echo back: %d %s", status, reason)
				}
				c.repair(echo)
				repaired := time.Now()
				for {
					status, reason := w.Get(t, "/is-back?node=echo")
					if status == http.StatusOK {
						break
					}
					if time.Since(repaired) > 8*time.Minute {
						t.Fatalf("8 minutes later: %d %s", status, reason)
					}
					time.Sleep(time.Second)
				}
				if took := time.Since(repaired); took < 2*time.Minute {
					t.Errorf("back after %s", took)
				}
				if status, reason := mayStop(t, w, "golf"); status != http.StatusOK {
					t.Errorf("echo is back: %d %s", status, reason)
				}
			})
		})
	}
}

// An exporter that starts after a node restarted has not seen the restart, and knows the same.
func TestNoNodeMayStopWhileAnotherIsNotBackSinceTheExporterStarted(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(n *simnet.Node){
		"it does not answer":       (*simnet.Node).Stop,
		"C: bootstrapping":         func(n *simnet.Node) { n.SetChain("C", simnet.Bootstrapping) },
		"examplel1: bootstrapping": func(n *simnet.Node) { n.SetChain("examplel1", simnet.Bootstrapping) },
		"does not run examplel1":   func(n *simnet.Node) { n.SetChain("examplel1", simnet.Untracked) },
	} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				w.Env["NODES"] = "alpha=http://alpha.sim,echo=http://echo.sim,golf=http://delta.sim,hotel=http://foxtrot.sim"
				leave(w.Node("echo"))
				w.Start(t)
				time.Sleep(6 * time.Minute)
				if status, reason := mayStop(t, w, "golf"); status != http.StatusConflict || !strings.Contains(reason, "echo has not ") ||
					!strings.Contains(reason, " since the exporter started ") || !strings.Contains(reason, name) {
					t.Errorf("%d %s", status, reason)
				}
			})
		})
	}
}

// An operator upgrades 50 validators as docs/operating.md says. The release kills each node that restarts with it. The operator loses one node, also if
// the script does not ask whether the node is back.
func TestUpgradeThatKillsLosesOneNode(t *testing.T) {
	testworld.Story(t)
	nodes, patience := 50, 4*60 // an hour
	if testing.Short() {
		nodes, patience = 10, 4*20
	}
	for name, asksBack := range map[string]bool{"asks whether it is back": true, "asks only whether the next may stop": false} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				var names []string
				for i := range nodes {
					names = append(names, fmt.Sprintf("validator%02d", i))
				}
				w.Use(simnet.New(simnet.Options{Seed: 1, Nodes: names}), names...)
				w.Env["CHAINS"] = "C"
				w.Start(t)
				time.Sleep(3 * time.Minute)
				lost := 0
				var last string
			upgrade:
				for _, node := range names {
					for asked := 0; ; asked++ {
						status, reason := mayStop(t, w, node)
						if last = reason; status == http.StatusOK {
							break
						}
						if asked == patience {
							break upgrade
						}
						time.Sleep(15 * time.Second)
					}
					w.Node(node).Stop()
					lost++
					began := time.Now()
					time.Sleep(2 * time.Minute)
					for asksBack {
						status, reason := w.Get(t, fmt.Sprintf("/is-back?node=%s&after=%d", node, began.Unix()))
						if last = reason; status == http.StatusOK {
							t.Fatalf("a dead node is back: %s", reason)
						}
						if time.Since(began) > 20*time.Minute {
							break upgrade
						}
						time.Sleep(5 * time.Second)
					}
				}
				if lost != 1 || !strings.Contains(last, "validator00") {
					t.Errorf("%d nodes lost; last answer: %s", lost, last)
				}
			})
		})
	}
}

// The groups of /waves may stop together: after each group stops, enough stays, and the groups have all nodes.
func TestWavesMayStopTogether(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		names := []string{"n0", "n1", "n2", "n3", "n4", "n5"}
		network := simnet.New(simnet.Options{Seed: 1, Nodes: names})
		for i := range 20 {
			network.AddValidator(fmt.Sprintf("large%d", i), 3_000_000e9, 300*24*time.Hour)
		}
		w.Use(network, append(names, "foxtrot")...)
		w.Start(t)
		time.Sleep(3 * time.Minute)
		status, body := w.Get(t, "/waves")
		if status != http.StatusConflict || !strings.HasPrefix(body, "no: 1 node cannot stop; 6 nodes may stop in 1 group") ||
			!strings.Contains(body, "\n1: n0 n1 n2 n3 n4 n5 (leaves P 8") && !strings.Contains(body, "\n1: n0 n1 n2 n3 n4 n5 (leaves P 9") ||
			!strings.Contains(body, "\ncannot stop: foxtrot: examplel1: ") {
			t.Errorf("%d %s", status, body)
		}
		if status, body := w.Get(t, "/waves?node=n0&node=n1"); status != http.StatusOK || !strings.HasPrefix(body, "yes: 2 nodes may stop in 1 group") {
			t.Errorf("%d %s", status, body)
		}
		if status, body := w.Get(t, "/waves?node=n0&node=nobody"); status != http.StatusNotFound {
			t.Errorf("%d %s", status, body)
		}
		w.Node("n0").Stop()
		time.Sleep(time.Minute)
		if status, body := w.Get(t, "/waves?node=n1"); status != http.StatusConflict || !strings.HasPrefix(body, "no: n0 stopped answering ") {
			t.Errorf("%d %s", status, body)
		}
	})
}

// Each way in which a node cannot serve clients takes it out of the load balancer within a minute and a half, and it comes back.
func TestServingFollowsTheNode(t *testing.T) {
	testworld.Story(t)
	for name, c := range map[string]struct {
		change, repair func(n *simnet.Node)
		reason         string
	}{
		"stopped":               {(*simnet.Node).Stop, (*simnet.Node).Start, "no: "},
		"hangs":                 {func(n *simnet.Node) { n.Inject(simnet.Hung()) }, (*simnet.Node).Recover, "no: "},
		"bootstraps":            {func(n *simnet.Node) { n.SetChain("C", simnet.Bootstrapping) }, func(n *simnet.Node) { n.SetChain("C", simnet.Running) }, "no: "},
		"falls behind":          {func(n *simnet.Node) { n.FallBehind("C") }, func(n *simnet.Node) { n.CatchUp("C") }, "no: "},
		"executes no block":     {func(n *simnet.Node) { n.StopExecuting("C") }, func(n *simnet.Node) { n.CatchUp("C") }, "no: "},
		"does not answer for C": {func(n *simnet.Node) { n.Inject(simnet.Unavailable(), "eth_getBlockByNumber") }, (*simnet.Node).Recover, "no: collector heads fails: "},
	} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				w.SetBlockPeriod("C", 2*time.Second)
				w.Start(t)
				calls := func() int { return len(w.Calls()) }
				time.Sleep(3*time.Minute + 7*time.Second)
				serving := func() (bool, string) {
					status, body := w.Get(t, "/serving?node=bravo&chain=C")
					if (status == http.StatusOK) != strings.HasPrefix(body, "yes: ") || status != http.StatusOK && status != http.StatusServiceUnavailable ||
						strings.Count(body, "\n") != 1 {
						t.Fatalf("%d %s", status, body)
					}
					return status == http.StatusOK, body
				}
				for range 3 * 60 { // never out while it is healthy
					if yes, reason := serving(); !yes {
						t.Fatalf("healthy: %s", reason)
					}
					time.Sleep(time.Second)
				}
				before := calls()
				for range 100 {
					serving()
				}
				if n := calls() - before; n > 2 { // a probe of the node
					t.Errorf("100 answers make %d calls", n)
				}
				c.change(w.Node("bravo"))
				time.Sleep(2 * time.Minute)
				for range 3 * 60 { // and never in while it is not
					if yes, reason := serving(); yes || !strings.HasPrefix(reason, c.reason) {
						t.Fatalf("%v: %s", yes, reason)
					}
					time.Sleep(time.Second)
				}
				c.repair(w.Node("bravo"))
				time.Sleep(4 * time.Minute)
				if yes, reason := serving(); !yes {
					t.Errorf("repaired: %s", reason)
				}
			})
		})
	}
}

// Before each yes the exporter asks the nodes and their chains: what the last run counted may have changed since. The answer is never yes from the moment
// of the change on, until the exporter has counted it.
func TestNoYesByWhatWasCountedBefore(t *testing.T) {
	testworld.Story(t)
	for name, c := range map[string]struct {
		node   string // that is asked about: it may stop before
		change func(w *apptest.World)
		then   string // the answer two minutes later
	}{
		"the plugin of another node ends":        {"echo", func(w *apptest.World) { w.Node("foxtrot").SetChain("examplel1", simnet.Dead) }, "no: examplel1: 67"},
		"another node ends":                      {"echo", func(w *apptest.World) { w.Node("foxtrot").Stop() }, "no: examplel1: 67"},
		"the node gets the keys of another node": {"delta", func(w *apptest.World) { w.SwapKeys("delta", "foxtrot") }, "no: examplel1: 72"},
	} {
		for _, second := range []int{3, 17, 31, 52} {
			t.Run(fmt.Sprint(name, "/", second), func(t *testing.T) {
				apptest.Run(t, func(t *testing.T, w *apptest.World) {
					w.Use(simnet.New(simnet.Options{Seed: 1, Validators: 20}), "alpha", "charlie", "delta", "echo", "foxtrot")
					w.Start(t)
					time.Sleep(3*time.Minute + time.Duration(second)*time.Second)
					if status, reason := mayStop(t, w, c.node); status != http.StatusOK {
						t.Fatalf("before: %d %s", status, reason)
					}
					c.change(w)
					changed := time.Now()
					time.Sleep(700 * time.Millisecond)
					var last string
					for time.Since(changed) < 3*time.Minute {
						status, reason := mayStop(t, w, c.node)
						if status == http.StatusOK {
							t.Errorf("%s after the change: %s", time.Since(changed), reason)
						}
						last = reason
						time.Sleep(time.Second)
					}
					if !strings.HasPrefix(last, c.then) {
						t.Errorf("in the end: %s", last)
					}
				})
			})
		}
	}
}

// A VM that hangs slows its L1 more than a stopped node, also if enough weight stays: no other node of the L1 stops, but that one may.
func TestNoNodeMayStopWhileAVMHangs(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Use(simnet.New(simnet.Options{Seed: 1, Validators: 20}), "alpha", "delta", "echo", "foxtrot")
		w.Env["CHAINS"] = "C,auto"
		w.SetWeight("examplel1", "foxtrot", 30)
		w.Start(t)
		time.Sleep(3 * time.Minute)
		want := func(node string, status int, reason string) {
			t.Helper()
			if got, body := mayStop(t, w, node); got != status || !strings.HasPrefix(body, reason) {
				t.Errorf("%s: %d %s, want %d %s", node, got, body, status, reason)
			}
		}
		want("foxtrot", 200, "yes: ")
		w.Node("echo").SetChain("examplel1", simnet.Dead)
		time.Sleep(3 * time.Minute)
		const hangs = "no: examplel1: it does not answer on echo, which slows the chain more than a stopped node: restart or stop echo first"
		want("foxtrot", 409, hangs)
		want("echo", 200, "yes: ")
		want("delta", 200, "yes: ") // does not validate the L1
		w.Node("echo").SetChain("examplel1", simnet.Running)
		time.Sleep(2 * time.Minute)
		want("foxtrot", 200, "yes: ")
	})
}

// Whether a node has just stopped, has been stopped for long, or is benched: its weight is taken off once.
func TestARemovalTakesTheWeightOffOnce(t *testing.T) {
	testworld.Story(t)
	for name, change := range map[string]func(w *apptest.World){
		"stops":           func(w *apptest.World) { w.Node("foxtrot").Stop() },
		"loses its power": func(w *apptest.World) { w.Node("foxtrot").Kill(45 * time.Second) },
		"is benched":      func(w *apptest.World) { w.Node("alpha").Bench("foxtrot", w.Chain("examplel1").ID) },
	} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				w.Env["NODES"] = apptest.URLs("alpha", "echo", "foxtrot")
				w.Start(t)
				time.Sleep(3*time.Minute + 7*time.Second)
				validation := ""
				for series := range w.Samples(t) {
					if strings.HasPrefix(series, "avax_l1_validator_weight{") && strings.Contains(series, w.NodeID("foxtrot")) {
						_, rest, _ := strings.Cut(series, `validation_id="`)
						validation, _, _ = strings.Cut(rest, `"`)
					}
				}
				change(w)
				yes := 0
				for range 3 * 60 {
					status, body := w.Get(t, "/safe-to-remove?hold=false&validation="+validation)
					if _, share, found := strings.Cut(body, "yes: without it "); found && !strings.HasPrefix(share, "100 % of the remaining weight") ||
						strings.Contains(body, "examplel1: ") {
						t.Errorf("all others are connected: %s", body)
					}
					if status == http.StatusOK {
						yes++
					}
					time.Sleep(time.Second)
				}
				if yes < 60 {
					t.Errorf("%d yes in three minutes", yes)
				}
			})
		})
	}
}

// A node restarts, and C bootstraps then. What the exporter read before does not count: no verdict says yes while C bootstraps, and /serving and /is-back
// say yes within 15 s of the truth.
func TestNoYesFromBeforeARestart(t *testing.T) {
	testworld.Story(t)
	const serving, isBack = "/serving?node=bravo&chain=C", "/is-back?node=bravo"
	for _, second := range []int{1, 8, 14, 22, 29, 37, 44, 53} {
		t.Run(fmt.Sprint(second), func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				w.SetBlockPeriod("C", 2*time.Second)
				w.Start(t)
				time.Sleep(4*time.Minute + time.Duration(second)*time.Second)
				bravo := w.Node("bravo")
				bravo.Stop()
				time.Sleep(17 * time.Second)
				bravo.SetChain("C", simnet.Bootstrapping)
				bravo.Start()
				for range 70 {
					for _, path := range []string{serving, isBack, "/safe-to-stop?node=alpha"} {
						if status, body := w.Get(t, path); status == http.StatusOK {
							t.Errorf("while C bootstraps: %s: %s", path, body)
						}
					}
					time.Sleep(time.Second)
				}
				bravo.SetChain("C", simnet.Running)
				began, since := time.Now(), map[string]time.Duration{}
				for time.Since(began) < 5*time.Minute {
					for _, path := range []string{serving, isBack} {
						if status, _ := w.Get(t, path); status == http.StatusOK && since[path] == 0 {
							since[path] = time.Since(began)
						}
					}
					time.Sleep(time.Second)
				}
				for path, allowed := range map[string]time.Duration{serving: 15 * time.Second, isBack: 135 * time.Second} {
					if since[path] == 0 || since[path] > allowed {
						t.Errorf("%s: yes after %s", path, since[path])
					}
				}
			})
		})
	}
}
