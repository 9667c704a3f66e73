package node_test

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/hostile"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// once is a body that is read once.
type once struct{ io.ReadCloser }

func (o once) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: o}, nil
}

func TestDecodingMemoryIsBoundedByAnswerSize(t *testing.T) {
	longest := map[string]hostile.Question{}
	for _, r := range recordings(t) {
		if r.status != http.StatusOK || len(r.response) > 64<<10 || len(r.response) <= len(longest[r.method].Good) {
			continue
		}
		ask := func(answer io.ReadCloser, maxBody int) error {
			u, err := scrape.New(scrape.Options{URL: "http://node.example.com", Transport: once{answer}, MaxBody: int64(maxBody)})
			if err != nil {
				return err
			}
			_, err = typed[r.method](t.Context(), node.New(u), r.question)
			return err
		}
		if ask(io.NopCloser(strings.NewReader(r.response)), 64<<10) == nil {
			longest[r.method] = hostile.Question{Name: r.method, Good: []byte(r.response), Ask: ask}
		}
	}
	if len(longest) < 40 {
		t.Errorf("%d methods have a valid answer", len(longest))
	}
	hostile.Check(t, slices.Collect(maps.Values(longest)))
}
