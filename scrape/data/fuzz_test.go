package data_test

import (
	"net/http"
	"testing"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// FuzzAnswerIsAValueOrAnError gives each endpoint any answer, for a single call and for a walk. The seeds are the
// documented answers.
func FuzzAnswerIsAValueOrAnError(f *testing.F) {
	for i, c := range conversations {
		f.Add(uint8(i), string(fixture(f, c.fixture)))
	}
	f.Fuzz(func(t *testing.T, which uint8, answer string) {
		c := conversations[int(which)%len(conversations)]
		u := open(t, func(*http.Request) (*http.Response, error) { return respond(http.StatusOK, answer), nil })
		_, err := c.ask(t.Context(), u)
		if err != nil && scrape.OutcomeOf(err) == scrape.OK {
			t.Errorf("%s: %q: error without outcome: %v", c.op, answer, err)
		}
		if c.walk == nil {
			return
		}
		if _, err := c.walk(t.Context(), u); err != nil && scrape.OutcomeOf(err) == scrape.OK {
			t.Errorf("%s: walk over %q: error without outcome: %v", c.op, answer, err)
		}
	})
}
