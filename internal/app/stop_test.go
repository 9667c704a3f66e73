package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
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

// A node that answers with one node ID after the other, such as those of another validator and of nobody, is never told that it may stop, also
// after a restart of the exporter: nobody knows which node that is. An hour after the last change the ID counts.
func TestNodeWithChangingIDsMayNotStop(t *testing.T) {
	testworld.Story(t)
	for name, every := range map[string]time.Duration{"each minute": time.Minute, "each half hour": 30 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				w.Env["NODES"] = apptest.URLs("alpha", "foxtrot", "echo")
				w.Env["COLLECTORS"], w.Env["METRICS_URL"] = "up,fleet,identity,bootstrap,heads,health,safe_to_stop", ""
				w.Env["STATE_DIR"] = t.TempDir()
				began, ids := time.Now(), []string{w.Network.NodeID("foxtrot"), w.NewNodeID(1)}
				last := began.Add(2 * time.Hour)
				network := w.Transport
				w.Transport = wiretest.Between(network, func(c *wiretest.Call) (*http.Response, error) {
					turn := min(time.Since(began), last.Sub(began)) / every
					if c.Upstream != "echo" || c.Method != "info.getNodeID" || turn == 0 {
						return c.Ask()
					}
					return c.Changed(func(answer map[string]any) {
						if result, is := answer["result"].(map[string]any); is {
							result["nodeID"] = ids[turn%2]
						}
					})
				})
				w.Start(t)
				time.Sleep(2 * time.Minute)
				said := 0
				for restarted := false; time.Now().Before(last.Add(30 * time.Minute)); time.Sleep(7*time.Minute + 13*time.Second) {
					if time.Since(began) > 80*time.Minute && !restarted {
						restarted = true
						w.Stop()
						w.Start(t)
						time.Sleep(5 * time.Minute)
					}
					status, reason := mayStop(t, w, "echo")
					if status == http.StatusOK && time.Since(began) > every+2*time.Minute {
						t.Errorf("after %v: %s", time.Since(began), reason)
					} else if strings.HasPrefix(reason, "not known: its node ID changed from NodeID-") {
						said++
					}
				}
				if said == 0 {
					t.Error("no answer says that the node ID changed")
				}
				time.Sleep(time.Hour)
				if status, reason := mayStop(t, w, "echo"); status == http.StatusServiceUnavailable {
					t.Errorf("an hour and a half after the last change: %s", reason)
				}
			})
		})
	}
}
