package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// The command check says how many calls an observer gets, whether the node answers or not. The whole answer takes seconds, although the calls to an
// observer are limited.
func TestCheckCountsCallsToObservers(t *testing.T) {
	of := func(t *testing.T, stopped bool) (rate float64, methods []string) {
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
			begun := time.Now()
			if err := app.Check(t.Context(), c, &out, false); (err != nil) != stopped {
				t.Errorf("%v\n%s", err, &out)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			_, line, _ := strings.Cut(out.String(), "observer public: ")
			if _, err := fmt.Sscanf(line, "about %f calls per minute; limit 60", &rate); err != nil {
				t.Errorf("%v\n%s", err, &out)
			}
			for _, c := range network.Calls() {
				if c.Upstream == "observer" && !slices.Contains(methods, c.Method) {
					methods = append(methods, c.Method)
				}
			}
		})
		return rate, methods
	}
	const failover = "platform.getCurrentSupply" // only if no node answers
	usual, methods := of(t, false)
	if usual == 0 || slices.Contains(methods, failover) {
		t.Errorf("while the node answers: %.1f, %q", usual, methods)
	}
	alone, methods := of(t, true)
	if alone == 0 || !slices.Contains(methods, failover) {
		t.Errorf("while it does not: %.1f, %q", alone, methods)
	}
}
