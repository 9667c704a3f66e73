package app_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// rpcWorld runs the app with the collector rpc over five nodes of the C-Chain. Echo is an archive node.
func rpcWorld(t *testing.T, test func(t *testing.T, w *world)) {
	nodes := []string{"alpha", "bravo", "charlie", "delta", "echo"}
	inWorld(t, incident{quick: true, nodes: nodes, change: func(a *apptest.World) {
		var file strings.Builder
		for _, name := range nodes {
			fmt.Fprintf(&file, "- {targets: [http://%s.sim], labels: {node: %[1]s, archive: %q}}\n", name, fmt.Sprint(name == "echo"))
		}
		path := filepath.Join(t.TempDir(), "nodes.yml")
		must.Do(t, os.WriteFile(path, []byte(file.String()), 0o600))
		a.Env["NODES"], a.Env["NODES_FILE"], a.Env["CHAINS"] = "", path, "C"
		a.Env["COLLECTORS"] += ",variants,forks,rpc"
		a.Network.SetBlockPeriod("C", 2*time.Second)
		a.Network.Node("echo").SetArchive(true)
	}}, test)
}

// told returns the pages and warnings that were sent since a number of notified alerts, each once with the minutes from a time to its first notification.
func (w *world) told(since int, began time.Time) map[string]int {
	all := map[string]int{}
	for _, a := range w.Receiver.Alerts()[since:] {
		if l := a.Labels; a.Status == "firing" && (l["severity"] == "page" || l["severity"] == "warn") {
			text := strings.Join(strings.Fields(strings.Join([]string{l["severity"], l["alertname"], l["node"], l["chain"], l["check"], l["objective"], l["source"], l["destination"], l["collector"], l["target"]}, " ")), " ")
			if _, before := all[text]; !before {
				all[text] = int(a.At.Sub(began).Minutes())
			}
		}
	}
	return all
}

// wantTold demands these notifications, each after so many minutes at most.
func wantTold(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	t.Logf("%s: %v", what, got)
	if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		t.Errorf("%s: told %v, want %v", what, got, want)
	}
	for text, most := range want {
		if got[text] > most {
			t.Errorf("%s: %s after %d min, want at most %d", what, text, got[text], most)
		}
	}
}

// A day of five RPC nodes: which notifications are sent, and when. Without a fault, none is. A short test has two of the faults.
func TestDayOfRPCNodes(t *testing.T) {
	testworld.Story(t)
	overload := []string{"eth_getLogs", "eth_getBalance", "eth_getBlockReceipts"}
	rpcWorld(t, func(t *testing.T, w *world) {
		for _, fault := range []struct {
			what       string
			well       time.Duration // before it
			lasts      time.Duration
			begin, end func()
			want       map[string]int // told, and the most minutes from the begin
		}{
			{"well", 0, 4 * time.Hour, func() {}, func() {}, nil},
			{
				"bravo is slow for eth_getLogs", 0, 3 * time.Hour,
				func() { w.Node("bravo").Inject(simnet.Slow(3*time.Second), "eth_getLogs") }, w.Node("bravo").Recover,
				map[string]int{"warn AvaxRPCNodeFailing bravo C logs latency": 30},
			},
			{
				"charlie answers an old state", 2 * time.Hour, 2 * time.Hour,
				func() { w.Node("charlie").Lose("C", simnet.NewState) }, w.Node("charlie").Restore,
				map[string]int{"warn AvaxNodeContradicted charlie": 15, "page AvaxRPCBudgetBurn C answers": 30},
			},
			{
				"echo has lost its archive", 2 * time.Hour, 2 * time.Hour,
				func() { w.Node("echo").SetArchive(false) }, func() { w.Node("echo").SetArchive(true) },
				map[string]int{"warn AvaxRPCNodeFailing echo C history answers": 30},
			},
			{
				"the chain is overloaded", 2 * time.Hour, 2 * time.Hour,
				func() {
					for _, n := range w.Nodes() {
						n.Inject(simnet.Slow(3*time.Second), overload...)
					}
				},
				func() {
					for _, n := range w.Nodes() {
						n.Recover()
					}
				},
				map[string]int{"page AvaxRPCBudgetBurn C latency": 15},
			},
			{
				"alpha restarts", 2 * time.Hour, 3 * time.Hour,
				func() {
					w.Node("alpha").Stop()
					time.Sleep(time.Minute)
					w.Node("alpha").Start()
				}, func() {}, nil,
			},
		} {
			if testing.Short() {
				if !strings.Contains("well charlie answers an old state alpha restarts", fault.what) {
					continue
				}
				fault.well, fault.lasts = min(fault.well, 10*time.Minute), min(fault.lasts, 40*time.Minute)
			}
			time.Sleep(fault.well)
			before, began := len(w.Receiver.Alerts()), time.Now()
			fault.begin()
			time.Sleep(fault.lasts)
			got := w.told(before, began)
			fault.end()
			wantTold(t, fault.what, got, fault.want)
		}
		for _, a := range w.Alerts(t) {
			if strings.HasPrefix(a.Labels["alertname"], "AvaxRPC") {
				t.Errorf("still fires: %v", a.Labels)
			}
		}
	})
}
