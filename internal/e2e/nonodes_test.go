package e2e

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// A set of nodes may be scaled to zero. Then no collector fails in a way that its author did not expect, and the nodes may come back.
func TestEmptyNodesFileIsAState(t *testing.T) {
	t.Parallel()
	urls := testworld.Serve(t, simnet.New(simnet.Options{Seed: 1}))
	one := fmt.Sprintf(`[{targets: ["%s"], labels: {node: alpha}}]`, urls["alpha"])
	file := testworld.File(t, "[]")
	exporter := testworld.StartExporter(t, "AVAX_NODES_FILE="+file, "AVAX_CHAINS=C,auto", "AVAX_SCHEDULES="+strings.Join([]string{
		"up=@every 1s", "subnets=@every 1s", "chain_info=@every 1s", "safe_to_stop=@every 1s", "reward_budget=@every 1s", "forks=@every 1s",
	}, ";"))
	runs := func(collector string) func(testworld.Samples) error {
		return func(s testworld.Samples) error {
			for name := range s {
				if strings.HasPrefix(name, "avax_exporter_collector_success{") && strings.Contains(name, `"`+collector+`"`) {
					return nil
				}
			}
			return errors.New("it has not run")
		}
	}
	sane := func() {
		t.Helper()
		if strings.Contains(exporter.Log(), "panic") || strings.Contains(exporter.Log(), `"level":"ERROR"`) {
			t.Errorf("log:\n%s", exporter.Log())
		}
	}
	exporter.Until("subnets has run without a node", runs("subnets"))
	sane()
	if err := os.WriteFile(file, []byte(one), 0o600); err != nil {
		t.Fatal(err)
	}
	exporter.Until("the node is there", testworld.Is(`avax_node_up{node="alpha"}`, 1))
	if err := os.WriteFile(file, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	exporter.Until("the node is gone", func(s testworld.Samples) error {
		if _, there := s[`avax_node_up{node="alpha"}`]; there {
			return errors.New("it is still there")
		}
		return nil
	})
	exporter.Until("subnets has run without a node", runs("subnets"))
	sane()
}
