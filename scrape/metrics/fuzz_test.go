package metrics_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// FuzzAnswerIsAValueOrAnError gives any answer to every page request, first and last.
func FuzzAnswerIsAValueOrAnError(f *testing.F) {
	f.Add(page(lastRun(day(27)+63212), day(27), day(26), day(25)))
	f.Add(page(`,"nextPageToken":"t"`, day(27)))
	f.Fuzz(func(t *testing.T, answer string) {
		c := client(t, roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}, nil
		}))
		average, err := c.AverageTPS(t.Context(), "43114")
		if point := average.Point; err != nil && point != nil {
			t.Errorf("%q: both value %v and error %v", answer, point, err)
		}
		if err != nil && scrape.OutcomeOf(err) == scrape.OK {
			t.Errorf("%q: error without outcome: %v", answer, err)
		}
		_, _ = c.AvgTPSPage(t.Context(), "43114", scrape.Cursor{})
	})
}
