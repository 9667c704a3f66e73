package node_test

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// saying is a node in memory that gives the same answer to every call.
type saying string

func (s saying) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(s)))}, nil
}

// FuzzAnswerIsAValueOrAnError gives each method any answer. The seeds are recorded answers of real nodes.
func FuzzAnswerIsAValueOrAnError(f *testing.F) {
	names := slices.Sorted(maps.Keys(typed))
	questions, seen := map[string]question{}, map[string]bool{}
	for _, r := range recordings(f) {
		questions[r.method] = r.question
		if seed := r.method + r.response; r.status == http.StatusOK && len(r.response) < 4<<10 && !seen[seed] {
			seen[seed] = true
			f.Add(uint8(slices.Index(names, r.method)), r.response)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, answer string) {
		name := names[int(which)%len(names)]
		u, err := scrape.New(scrape.Options{URL: "http://node.example.com", Transport: saying(answer), MaxBody: 64 << 10})
		if err != nil {
			t.Fatal(err)
		}
		value, err := typed[name](t.Context(), node.New(u), questions[name])
		if err != nil {
			fits(t, err)
			return
		}
		if value == nil {
			t.Errorf("%s: neither value nor error for %q", name, answer)
		}
	})
}

// fits fails if an error does not fit into a line of the log.
func fits(t *testing.T, err error) {
	t.Helper()
	if scrape.OutcomeOf(err) == scrape.OK || len(err.Error()) > 2<<10 || strings.ContainsAny(err.Error(), "\r\n\x1b\x00") {
		t.Errorf("error of another form: %q", err)
	}
}
