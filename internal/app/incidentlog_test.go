package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// One incident is one line, and so is its end, whatever the failure of the node and however many nodes there are.
func TestOneIncidentIsOneLineOfTheLog(t *testing.T) {
	testworld.Story(t)
	for name, c := range map[string]struct {
		nodes []string
		fail  func(n *simnet.Node)
	}{
		"stopped, the only node":  {[]string{"alpha"}, (*simnet.Node).Stop},
		"stopped, one of two":     {[]string{"alpha", "bravo"}, (*simnet.Node).Stop},
		"hangs":                   {[]string{"alpha"}, func(n *simnet.Node) { n.Inject(simnet.Hung()) }},
		"wrong host":              {[]string{"alpha", "bravo"}, func(n *simnet.Node) { n.Inject(simnet.WrongHost()) }},
		"hangs, and then stopped": {[]string{"alpha", "bravo"}, func(n *simnet.Node) { n.Inject(simnet.Hung()); time.Sleep(3 * time.Minute); n.Stop() }},
	} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				w.Use(w.Network, c.nodes...)
				w.Env["METRICS_URL"] = ""
				w.Env["COLLECTORS"] = "-l1_proposers" // it compares the nodes' views of an epoch, which may differ
				w.Start(t)
				before := len(w.Log.String())
				c.fail(w.Node("alpha"))
				time.Sleep(20 * time.Minute)
				during := w.Log.String()[before:]
				before += len(during)
				if strings.Count(during, "collector failed") != 1 || !strings.Contains(during, `msg="collector failed" target=alpha`) ||
					!strings.Contains(during, "remedy=") {
					t.Errorf("want one line about alpha with a remedy:\n%s", during)
				}
				w.Node("alpha").Recover()
				if strings.Contains(name, "stopped") {
					w.Node("alpha").Start()
				}
				time.Sleep(20 * time.Minute)
				after := w.Log.String()[before:]
				ended := 0
				for line := range strings.Lines(after) {
					if strings.Contains(line, "collectors recovered") && !strings.Contains(line, "outcome=bootstrapping") { // after its start, the node bootstraps
						ended++
					}
				}
				if ended != 1 || !strings.Contains(after, `msg="collectors recovered" target=alpha`) {
					t.Errorf("want one line about the end:\n%s", after)
				}
			})
		})
	}
}
