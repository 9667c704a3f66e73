package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// mayStop requests whether a node may be stopped, without stopping it.
func mayStop(t *testing.T, w *apptest.World, node string) (status int, reason string) {
	t.Helper()
	status, reason = w.Get(t, "/safe-to-stop?hold=false&node="+node)
	return status, strings.TrimSpace(reason)
}

// Another node dies at different seconds of a minute, with four requests per second: from the moment that the exporter knows, the
// answer is never yes. Its peers see it as connected for up to half a minute more.
func TestSafeToStopIsNeverOutdated(t *testing.T) {
	t.Parallel()
	const known = `avax_node_up{node="foxtrot"}`
	step := 5 // seconds
	if testing.Short() {
		step = 20
	}
	for _, death := range []string{"hangs", "is killed"} {
		for moment := 0; moment < 30; moment += step {
			t.Run(fmt.Sprintf("%s/%ds", death, moment), func(t *testing.T) {
				apptest.Run(t, func(t *testing.T, w *apptest.World) {
					w.Env["NODES"] = "alpha=http://alpha.sim,echo=http://echo.sim,foxtrot=http://foxtrot.sim"

					w.Start(t)
					// The L1 has 370: 350 without echo, 250 without echo and foxtrot.
					time.Sleep(time.Minute + time.Duration(moment)*time.Second + 130*time.Millisecond)
					if status, reason := mayStop(t, w, "echo"); status != http.StatusOK {
						t.Fatalf("before: %d %s", status, reason)
					}
					foxtrot := w.Network.Node("foxtrot")
					if death == "hangs" {
						foxtrot.Inject(simnet.Hung())
					} else {
						foxtrot.Kill(45 * time.Second)
					}
					noticed := -1
					for quarter := range 4 * 60 {
						time.Sleep(250 * time.Millisecond)
						page := w.Samples(t)
						status, reason := mayStop(t, w, "echo")
						if page[known] == 1 {
							continue
						}
						if noticed < 0 {
							noticed = quarter
						}
						if status == http.StatusOK {
							t.Errorf("%v after its death, foxtrot counts as down: %s", time.Duration(quarter)*time.Second/4, reason)
						}
						if quarter < noticed+8 {
							continue
						}
						// Two seconds later a run has counted it.
						if status != http.StatusConflict {
							t.Errorf("%v after its death: %d %s", time.Duration(quarter)*time.Second/4, status, reason)
						}
						if safe, exported := page[`avax_l1_safe_to_stop{chain="examplel1",node_id="`+w.Network.NodeID("echo")+`"}`]; !exported || safe != 0 {
							t.Errorf("avax_l1_safe_to_stop %v, %v", safe, exported)
						}
						for _, node := range []string{"alpha", "echo"} {
							if weight := page[`avax_l1_connected_weight{node="`+node+`",chain="examplel1"}`]; weight != 270 {
								t.Errorf("%s: connected weight %v", node, weight)
							}
						}
					}
					if noticed < 0 {
						t.Error("death not noticed")
					}
				})
			})
		}
	}
}
