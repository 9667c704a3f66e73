package app_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/recorded"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// checked runs check against a recorded node, and returns its output and error.
func checked(t *testing.T, situation string, adjust func(config.Environment)) (printed string, err error) {
	t.Helper()
	node := must.Get(recorded.NewNode(situation))(t)
	server := httptest.NewServer(node)
	t.Cleanup(server.Close)
	env := config.Environment{}
	env["NODES"], env["CHAINS"] = "local="+server.URL, "auto"
	adjust(env)
	c := must.Get(env.Parse())(t)
	var out strings.Builder
	err = app.Check(t.Context(), c, &out, false)
	return out.String(), err
}

func has(t *testing.T, printed string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(printed, w) {
			t.Errorf("missing: %s\n%s", w, printed)
		}
	}
}

func TestCheckReportsAChainThatCannotStart(t *testing.T) {
	printed, err := checked(t, "vm_cannot_start", func(config.Environment) {})
	if err == nil {
		t.Error("check succeeds")
	}
	has(t, printed, "local: health check examplel1 fails: failed to create chain", "invalid precompile upgrades: warp cannot be activated before Durango")
}

// A new L1 whose plugin is missing on every node that tracks it: waiting does not help, nor does --track-subnets on another node. It is read once.
func TestCheckOfAChainThatStartsNowhere(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Use(simnet.New(simnet.Options{Seed: 1}), "bravo", "delta", "echo")
		w.Node("bravo").SetChain("examplel1", simnet.Failed)
		w.Node("echo").SetChain("examplel1", simnet.Failed)
		w.Node("delta").SetChain("examplel1", simnet.Untracked) // validates only the primary network
		time.Sleep(2 * time.Minute)                             // health checks have run again
		printed, err := w.Check(t)
		if err == nil {
			t.Error("check succeeds")
		}
		has(t, printed, "FAILS  bravo, echo: health check examplel1 fails: failed to create chain", "Waiting does not help")
		for _, not := range []string{"--track-subnets", "Wait, and", "AVAX_CHAINS"} {
			if n := strings.Count(printed, "FAILS"); n != 1 || strings.Contains(printed, not) {
				t.Errorf("%d findings, want 1 without %q\n%s", n, not, printed)
			}
		}
	})
}

// A node without peers never bootstraps, as behind a closed firewall. One with peers takes its time.
func TestCheckTellsANodeWithoutPeersFromOneThatBootstraps(t *testing.T) {
	t.Parallel()
	const wait, find = "Wait, and do not restart the node", "check its internet connection, DNS and firewall"
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		says := func(what, want, not string) {
			time.Sleep(2 * time.Minute) // health checks have run again
			printed, err := w.Check(t)
			if err == nil {
				t.Errorf("%s: check succeeds", what)
			}
			has(t, printed, want)
			if strings.Contains(printed, not) || strings.Contains(printed, "Read the log") {
				t.Errorf("%s:\n%s", what, printed)
			}
		}
		w.Use(simnet.New(simnet.Options{Seed: 1}), "alpha")
		w.Node("alpha").Stop()
		w.Node("alpha").StartIsolated()
		says("without peers", find, wait)
		w.Node("alpha").Start()
		w.Node("alpha").SetChain("C", simnet.Bootstrapping)
		says("with peers", wait, find)
	})
}

// Before the summaries of the nodes there is only one line, if all is well.
func TestCheckHasASummaryPerNode(t *testing.T) {
	printed, err := checked(t, "partial_sync", func(config.Environment) {})
	if err != nil {
		t.Errorf("%v\n%s", err, printed)
	}
	_, summaries, _ := strings.Cut(printed, "\n")
	first, _, _ := strings.Cut(summaries, "\n")
	if want := "local: avalanchego/1.15.0; network network-1337 (1337); NodeID-GDU62hUq14Q71db5QEE477Vzat2rNiqh9; partial sync; " +
		"bootstrapped: P, examplel1"; first != want {
		t.Errorf("starts with %s\nwant %s", first, want)
	}
	printed, _ = checked(t, "healthy", func(env config.Environment) { env["CHAINS"] = "C" })
	first, summaries, _ = strings.Cut(printed, "\n")
	if !strings.HasPrefix(first, "all ") { // a network with only the C-Chain lacks nothing
		t.Errorf("starts with %s", first)
	}
	has(t, summaries, "bootstrapped: P, X, C", "votes for reward: ", "period ends 2027-11-15")
}

// One fault of fifty nodes is read once, with the first names, and a fault of another kind apart.
func TestCheckPrintsOneFaultOfManyNodesOnce(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		many := numbered("node%d", 50)
		network := simnet.New(simnet.Options{Seed: 1, Nodes: append([]string{"stopped1", "stopped2"}, many...)})
		w.Use(network, append([]string{"stopped1", "stopped2"}, many...)...)
		delete(w.Env, "METRICS_URL")
		for _, name := range many {
			w.Node(name).Inject(simnet.WrongHost())
		}
		w.Node("stopped1").Stop()
		w.Node("stopped2").Stop()
		printed, err := w.Check(t)
		if err == nil {
			t.Error("check succeeds")
		}
		if n := strings.Count(printed, "FAILS"); n != 2 {
			t.Errorf("%d findings, want 2\n%s", n, printed)
		}
		has(t, printed, "of node1, node2, node3 and 47 more: ", "of stopped1, stopped2: ")
		if n := strings.Count(printed, "no answer\n"); n != 1 {
			t.Errorf("%d lines of nodes without an answer\n%s", n, printed)
		}
	})
}

func TestCheckFindsDuplicateNodes(t *testing.T) {
	printed, err := checked(t, "partial_sync", func(env config.Environment) {
		_, url, _ := strings.Cut(env["NODES"], "=")
		env["NODES"] += ",again=" + url
	})
	if err == nil {
		t.Error("check succeeds")
	}
	has(t, printed, "answers with the node ID of another node", "local and again have the same node ID")
}

func TestCheckWarnsAboutExpensiveRules(t *testing.T) {
	printed, err := checked(t, "healthy", func(env config.Environment) { env["ALERTING_INTERVAL"] = "5ms" })
	if err != nil {
		t.Errorf("error %v, want only a warning", err)
	}
	has(t, printed, "WARNS  rules over ", "AVAX_ALERTING=off")
	for name, adjust := range map[string]func(config.Environment){
		"one node": func(config.Environment) {},
		"off":      func(env config.Environment) { env["ALERTING"], env["ALERTING_INTERVAL"] = "off", "5ms" },
	} {
		if printed, _ := checked(t, "healthy", adjust); strings.Contains(printed, "WARNS") {
			t.Errorf("%s: warning\n%s", name, printed)
		}
	}
}

// A node need not run every monitored chain, but a validator of the chain must.
func TestCheckReportsValidatorsThatDoNotRunTheirChain(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Use(simnet.New(simnet.Options{Seed: 1}), "alpha", "charlie", "delta")
		w.Network.Node("delta").SetChain("examplel1", simnet.Untracked) // validates only the primary network
		w.Env["COLLECTORS"] = "up,identity,bootstrap,l1"
		if printed, err := w.Check(t); err != nil {
			t.Errorf("%v\n%s", err, printed)
		}
		w.Network.Node("charlie").SetChain("examplel1", simnet.Untracked)
		printed, err := w.Check(t)
		if err == nil {
			t.Error("check succeeds")
		}
		has(t, printed, "FAILS  bootstrap of charlie: node charlie validates examplel1, but does not run it: start the node with --track-subnets")
		w.Network.Node("alpha").SetChain("examplel1", simnet.Untracked)
		w.Network.RemoveValidator("examplel1", "charlie")
		printed, _ = w.Check(t)
		has(t, printed, "node alpha validates examplel1")
	})
}

// What needs a person is first and gives exit code 1, although every call succeeds. One line tells all that is well.
func TestCheckPrintsFindingsFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*simnet.Network)
		want   []string // beginnings of the first lines
	}{
		"all well": {func(*simnet.Network) {}, []string{"all "}},
		"a full disk": {func(n *simnet.Network) { n.Node("alpha").FillDisk(6e9, 0) },
			[]string{"FAILS  alpha: health check diskspace fails: remaining available disk space percentage (2%) is below the warning threshold of disk space " +
				"(10%); 2 % of the disk is free, the node stops below 3 %", "       Delete old logs", "ok     all "}},
		"two full disks": {func(n *simnet.Network) { n.Node("alpha").FillDisk(6e9, 0); n.Node("charlie").FillDisk(3e9, 0) },
			[]string{"FAILS  alpha, charlie: health check diskspace fails: ", "       Delete old logs", "ok     all "}},
		"the upgrade of the network": {func(n *simnet.Network) {
			n.AnnounceUpgrade(time.Now().Add(time.Hour), "bravo", "delta", "echo", "foxtrot", "golf", "hotel")
		},
			[]string{"FAILS  alpha, charlie: health check futureupgrade fails: unknown network upgrade detected", "       Install the release", "ok     all "}},
		"a lost connection to validators": {func(n *simnet.Network) { n.Disconnect("echo"); n.Disconnect("delta"); n.Disconnect("bravo") },
			[]string{"FAILS  alpha, charlie: health check P, X, C fails: not connected to enough stake: connected to ", "       Do not restart the node"}},
		"a validator without balance": {func(n *simnet.Network) { n.SetBalance("examplel1", "echo", 0) },
			[]string{"FAILS  examplel1: 1 validator is inactive", "       ", "ok     all "}},
	} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				n := simnet.New(simnet.Options{Seed: 1})
				w.Use(n, "alpha", "charlie")
				w.Env["COLLECTORS"] = "up,identity,health,l1"
				test.change(n)
				printed, err := w.Check(t)
				if findings := len(test.want) > 1; (err != nil) != findings {
					t.Errorf("error %v", err)
				}
				lines := strings.Split(printed, "\n")
				for i, want := range test.want {
					if !strings.HasPrefix(lines[i], want) {
						t.Errorf("line %d is %q, want %q…\n%s", i+1, lines[i], want, printed)
					}
				}
				if n := strings.Count(printed, "\nok "); n > 1 {
					t.Errorf("%d lines about what is well", n)
				}
			})
		})
	}
}
