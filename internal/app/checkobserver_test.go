package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// The command check predicts the number of calls to observers if no node answers. The prediction equals the number that it counts when
// no node answers.
func TestCheckCountsCallsToObservers(t *testing.T) {
	rates := func(t *testing.T, stopped bool) (answering, alone float64, methods []string) {
		synctest.Test(t, func(t *testing.T) {
			network := simnet.New(simnet.Options{Seed: 1})
			if stopped {
				network.Node("alpha").Stop()
			}
			env := withoutRules()
			env["CHAINS"] = "C" // while the node does not answer, auto finds nothing
			env["NODES"], env["OBSERVERS"], env["VALIDATORS"] = "alpha=http://alpha.sim", "public=http://observer.sim", network.NodeID("charlie")
			c := must.Get(env.Parse())(t)
			c.Transport = network.Transport()
			var out strings.Builder
			if err := app.Check(t.Context(), c, &out, false); (err != nil) != stopped {
				t.Errorf("%v\n%s", err, &out)
			}
			_, line, _ := strings.Cut(out.String(), "observer public: ")
			if _, err := fmt.Sscanf(line, "about %f calls per minute, %f if no node answers; limit 60", &answering, &alone); err != nil {
				t.Errorf("%v\n%s", err, &out)
			}
			for _, c := range network.Calls() {
				if c.Upstream == "observer" && !slices.Contains(methods, c.Method) {
					methods = append(methods, c.Method)
				}
			}
		})
		return answering, alone, methods
	}
	usual, expected, methods := rates(t, false)
	counted, same, needed := rates(t, true)
	t.Logf("%.1f calls per minute while the node answers; %.1f expected and %.1f counted while it does not", usual, expected, counted)
	const failover = "platform.getCurrentSupply" // only if no node answers
	if !slices.Contains(methods, failover) || !slices.Contains(needed, failover) {
		t.Errorf("%s not called: %q, %q", failover, methods, needed)
	}
	// Collectors share answers, and any of them may send the request.
	for _, other := range []float64{usual, counted, same} {
		if other == 0 || expected < other/2 || expected > 2*other {
			t.Errorf("if no node answers: %.1f calls per minute expected; %.1f", expected, other)
		}
	}
}
