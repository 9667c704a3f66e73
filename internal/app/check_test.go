package app_test

import (
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/recorded"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
)

// checked runs check against a recorded node, and returns its output and error.
func checked(t *testing.T, situation string, adjust func(config.Environment)) (printed string, err error) {
	t.Helper()
	node, err := recorded.NewNode(situation)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(node)
	t.Cleanup(server.Close)
	env := config.Environment{}
	env["NODES"], env["CHAINS"] = "local="+server.URL, "auto"
	adjust(env)
	c, err := env.Parse()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = app.Check(t.Context(), c, &out)
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
	has(t, printed, "node local cannot start chain examplel1: ", "invalid precompile upgrades: warp cannot be activated before Durango")
}

func TestCheckStartsWithASummaryPerNode(t *testing.T) {
	printed, err := checked(t, "partial_sync", func(config.Environment) {})
	if err != nil {
		t.Errorf("%v\n%s", err, printed)
	}
	first, _, _ := strings.Cut(printed, "\n")
	if want := "local: avalanchego/1.15.0; network network-1337 (1337); NodeID-GDU62hUq14Q71db5QEE477Vzat2rNiqh9; partial sync; " +
		"bootstrapped: P, examplel1"; first != want {
		t.Errorf("starts with %s\nwant %s", first, want)
	}
	printed, _ = checked(t, "healthy", func(env config.Environment) { env["CHAINS"] = "C" })
	first, _, _ = strings.Cut(printed, "\n")
	has(t, first, "bootstrapped: P, X, C", "votes for reward: ", "period ends 2027-11-15")
}

func TestCheckConnectsToAlertmanagers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	printed, err := checked(t, "partial_sync", func(env config.Environment) { env["ALERTMANAGERS"] = address })
	if err != nil {
		t.Errorf("%v\n%s", err, printed)
	}
	has(t, printed, "ok  alerting          Alertmanager 1")
	_ = listener.Close()
	printed, err = checked(t, "partial_sync", func(env config.Environment) { env["ALERTMANAGERS"] = address })
	if err == nil {
		t.Error("check succeeds without a listener")
	}
	has(t, printed, "FAILS  alerting of Alertmanager 1: connect: ", "correct AVAX_ALERTMANAGERS")
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
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Use(simnet.New(simnet.Options{Seed: 1}), "alpha", "charlie", "delta")
		w.Network.Node("delta").SetChain("examplel1", simnet.Untracked) // validates only the primary network
		w.Env["COLLECTORS"] = "up,identity,bootstrap,l1"
		check := func() (printed string, err error) {
			c, err := w.Env.Parse()
			if err != nil {
				t.Fatal(err)
			}
			c.Transport = w.Transport
			var out strings.Builder
			err = app.Check(t.Context(), c, &out)
			return out.String(), err
		}
		if printed, err := check(); err != nil {
			t.Errorf("%v\n%s", err, printed)
		}
		w.Network.Node("charlie").SetChain("examplel1", simnet.Untracked)
		printed, err := check()
		if err == nil {
			t.Error("check succeeds")
		}
		has(t, printed, "FAILS  bootstrap of charlie: node charlie validates examplel1, but does not run it: start the node with --track-subnets")
		w.Network.Node("alpha").SetChain("examplel1", simnet.Untracked)
		w.Network.RemoveValidator("examplel1", "charlie")
		printed, _ = check()
		has(t, printed, "node alpha validates examplel1")
	})
}
