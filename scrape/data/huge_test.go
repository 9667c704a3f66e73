package data_test

import (
	"os"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// Each number of each answer of the Data service may be anything.
func TestHugeNumbersAreFiniteOrErrors(t *testing.T) {
	all, done := data.Methods(), map[string]int{}
	for _, e := range examples {
		i := slices.IndexFunc(all, func(m *scrape.Method) bool { return m.Name == e.name })
		if e.fixture == "" || i < 0 || done[e.name] > 0 {
			continue
		}
		answer := must.Get(os.ReadFile("testdata/" + e.fixture + ".json"))(t)
		done[e.name] = testworld.HugeNumbers(t, e.name, string(answer), func(text string) (any, error) { return all[i].Decode(jsontext.Value(text)) })
	}
	if len(done) < 15 {
		t.Errorf("only %d methods have an example", len(done))
	}
}
