package data_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

func TestCheckAcceptsOnlyAnswersOfItsEndpoint(t *testing.T) {
	accepted := map[string]bool{}
	for _, c := range conversations {
		i := slices.IndexFunc(data.Endpoints(), func(e data.Endpoint) bool { return e.Op() == c.op })
		if i < 0 {
			continue // of the Metrics service
		}
		e, answer := data.Endpoints()[i], jsontext.Value{}
		if c.fixture != "" {
			answer = fixture(t, c.fixture)
		}
		if err := e.Check(t.Context(), answer); err != nil {
			t.Error(err)
		}
		accepted[e.Name] = true
	}
	for _, e := range data.Endpoints() {
		if !accepted[e.Name] {
			t.Errorf("%s: not checked", e.Name)
		}
		if err := e.Check(t.Context(), jsontext.Value(`[1]`)); scrape.OutcomeOf(err) != scrape.Malformed || !strings.HasPrefix(err.Error(), e.Op()) {
			t.Errorf("%s: error for a list: %v", e.Name, err)
		}
	}
}
