package collectors_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// A release may stop sending a field that describes the node, such as the commit of its source. Only what is made of the field is missing, and the
// collector that exports it says so. Alerts need the other collectors.
func TestLostFieldEndsOnlyWhatIsMadeOfIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		without := ""
		*w.otherwise = func(_, method string, _ []any) string {
			version := map[string]any{
				"version": "avalanchego/1.15.0", "databaseVersion": "v1.4.5", "rpcProtocolVersion": "46", "gitCommit": "aa", "vmVersions": map[string]string{"evm": "v1"},
			}
			delete(version, without)
			if method != "info.getNodeVersion" {
				return ""
			}
			text, _ := json.Marshal(version)
			return answered(string(text))
		}
		for range 5 {
			w.page(t, "identity")
			time.Sleep(time.Minute)
		}
		without = "gitCommit"
		time.Sleep(time.Hour)
		page, err := w.run(t, "identity", "alpha")
		if err == nil || !strings.Contains(err.Error(), "gitCommit is missing") {
			t.Errorf("identity: %v", err)
		}
		wantSeries(t, page, `avax_node_vm_info{node="alpha",vm="evm",version="v1"}`, "1")
		w.network.Node("alpha").SetPartialSync(true) // no X-Chain
		time.Sleep(time.Hour)
		if _, err := w.run(t, "identity", "alpha"); err == nil || !strings.Contains(err.Error(), "gitCommit is missing") {
			t.Errorf("identity without an X-Chain: %v", err)
		}
		wantSeries(t, w.page(t, "connected_stake"), `avax_node_connected_stake_ratio{node="alpha"}`, "1")
	})
}

// What a node answered before and does not answer now is a failure: a path of a chain that the node runs, and a list that is null.
func TestLostAnswerOfAChainIsAFailure(t *testing.T) {
	for _, lost := range []struct{ method, answer, collector, target string }{
		{"avm.getHeight", "404 page not found", "heads", "alpha/X"},
		{"platform.getValidatorsAt", answered("null"), "l1_proposers", "examplel1"},
	} {
		inWorld(t, func(t *testing.T, w world) {
			on := false
			*w.otherwise = func(_, method string, _ []any) string {
				if on && method == lost.method {
					return lost.answer
				}
				return ""
			}
			if page, err := w.run(t, lost.collector, lost.target); err != nil || page == "" {
				t.Fatalf("%s: %v", lost.collector, err)
			}
			on = true
			time.Sleep(2 * time.Hour)
			for range 3 { // an answer like this may concern the whole node: only a second one shows that it does not
				time.Sleep(2 * time.Minute)
				if _, err := w.run(t, lost.collector, lost.target); err == nil || errors.Is(err, metric.ErrNotOffered) {
					t.Errorf("%s without %s: %v", lost.collector, lost.method, err)
				}
			}
		})
	}
}
