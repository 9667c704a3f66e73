package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
)

// From the start on, in each second: the metric has the answer of /safe-to-stop, and is absent while that is not known.
func TestMetricSaysWhatSafeToStopSays(t *testing.T) {
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
			page := w.Samples(t)
			for _, node := range []string{"alpha", "bravo", "delta", "echo"} {
				status, reason := mayStop(t, w, node)
				value, known := page[`avax_node_safe_to_stop{node="`+node+`"}`]
				if known != (status != http.StatusServiceUnavailable) || known && (value == 1) != (status == http.StatusOK) {
					if !strings.Contains(reason, "did not answer within 2 s") {
						t.Errorf("second %d: %s: metric %v (%t), answer %d %s", second, node, value, known, status, reason)
					}
				}
				answers[fmt.Sprint(node, status)]++
			}
			time.Sleep(time.Second)
		}
		for _, want := range []string{"alpha409", "delta200", "delta409", "delta503", "echo200"} {
			if answers[want] == 0 {
				t.Errorf("never %s: %v", want, answers)
			}
		}
	})
}

// While a node that restarted is not back, no other node may stop. The answer names it.
func TestNoNodeMayStopWhileAnotherIsNotBack(t *testing.T) {
	for name, c := range map[string]struct {
		restart func(n *simnet.Node)
		mend    func(n *simnet.Node)
		missing string
	}{
		"never starts again": {func(n *simnet.Node) { n.Stop() }, (*simnet.Node).Start, "it does not answer"},
		"a plugin does not start": {func(n *simnet.Node) {
			n.Stop()
			time.Sleep(time.Minute)
			n.Start()
			n.SetChain("examplel1", simnet.Failed)
		},
			func(n *simnet.Node) { n.SetChain("examplel1", simnet.Running) }, "examplel1"},
		"bootstraps": {func(n *simnet.Node) {
			n.Stop()
			time.Sleep(time.Minute)
			n.Start()
			n.SetChain("C", simnet.Bootstrapping)
		},
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
				if status != http.StatusConflict || !strings.Contains(reason, "echo restarted ") || !strings.Contains(reason, " min ago and is not back: ") ||
					!strings.Contains(reason, c.missing) {
					t.Errorf("%d %s", status, reason)
				}
				if status, reason := w.Get(t, "/is-back?node=echo"); status != http.StatusConflict || !strings.Contains(reason, c.missing) {
					t.Errorf("is echo back: %d %s", status, reason)
				}
				c.mend(echo)
				mended := time.Now()
				for {
					status, reason := w.Get(t, "/is-back?node=echo")
					if status == http.StatusOK {
						break
					}
					if time.Since(mended) > 8*time.Minute {
						t.Fatalf("8 minutes later: %d %s", status, reason)
					}
					time.Sleep(time.Second)
				}
				if took := time.Since(mended); took < 2*time.Minute {
					t.Errorf("back after %s", took)
				}
				if status, reason := mayStop(t, w, "golf"); status != http.StatusOK {
					t.Errorf("echo is back: %d %s", status, reason)
				}
			})
		})
	}
}
