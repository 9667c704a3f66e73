package node_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/recorded"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Each number of each answer of a node may be anything.
func TestHugeNumbersAreFiniteOrErrors(t *testing.T) {
	all, done := node.Methods(), map[string]int{}
	for _, a := range must.Get(recorded.Load("client_healthy"))(t) {
		i := slices.IndexFunc(all, func(m *scrape.Method) bool { return strings.Contains(a.Request, `"`+m.Name+`"`) })
		var answer struct{ Result json.RawMessage }
		if i < 0 || a.Status != http.StatusOK || len(a.Response) > 64<<10 || done[all[i].Name] > 2_000 || json.Unmarshal([]byte(a.Response), &answer) != nil ||
			answer.Result == nil {
			continue
		}
		done[all[i].Name] += testworld.HugeNumbers(t, all[i].Name, string(answer.Result), func(text string) (any, error) { return all[i].Decode(jsontext.Value(text)) })
	}
	// The recorded nodes have no C-Chain of Helicon.
	block := method("eth_getBlockByNumber")
	done[block.Name] += testworld.HugeNumbers(t, block.Name, `{"number":"0x1","hash":"0x1","parentHash":"0x1","timestamp":"0x1","gasLimit":"0x1","gasUsed":"0x1",
		"transactions":[],"settledHeight":"0x1","minPriceExponent":"0x1","targetExponent":"0x1","minDelayExcess":"0x1"}`,
		func(text string) (any, error) { return block.Decode(jsontext.Value(text)) })
	if len(done) < 20 {
		t.Errorf("only %d methods have a recorded answer", len(done))
	}
}
