package metrics_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
)

const (
	v1 = "/v1/avg_tps/43114"
	v2 = "/v2/chains/43114/metrics/avgTps?timeInterval=day"
)

// service answers known paths and queries, and 404 to others. It records the paths of requests.
type service struct {
	answers map[string]string // a body, or a status such as "503"
	asked   []string
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	path := r.URL.RequestURI()
	s.asked = append(s.asked, path)
	body, known := s.answers[path]
	status := http.StatusOK
	if !known {
		status, body = http.StatusNotFound, `{"message":["not known: `+path+`"],"error":"Not Found","statusCode":404}`
	} else if n, err := strconv.Atoi(body[:min(3, len(body))]); err == nil {
		status, body = n, body[3:]
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func client(t *testing.T, transport http.RoundTripper) *metrics.Client {
	t.Helper()
	u, err := scrape.New(scrape.Options{Name: "metrics", URL: "https://metrics.example.com", Transport: transport, Rate: 1e6, RepeatAfter: metrics.RepeatAfter})
	if err != nil {
		t.Fatal(err)
	}
	return metrics.New(u)
}

// day returns the start of a day of August 2024, in Unix seconds.
func day(n int) int64 { return time.Date(2024, 8, n, 0, 0, 0, 0, time.UTC).Unix() }

func page(rest string, points ...int64) string {
	var results []string
	for i, at := range points {
		results = append(results, fmt.Sprintf(`{"timestamp":%d,"value":%d.5}`, at, i))
	}
	return `{"results":[` + strings.Join(results, ",") + `],"status":200` + rest + `}`
}

func lastRun(at int64) string { return fmt.Sprintf(`,"lastRun":%d`, at) }

func TestAverageTPSIsTheNewestCompleteDay(t *testing.T) {
	next := strings.Replace(v2, "?", "?pageToken=1+2&", 1)
	for name, c := range map[string]struct {
		pages map[string]string
		want  int // day; 0: none
	}{
		"newest day incomplete":           {map[string]string{v1: page(lastRun(day(27)+63212), day(27), day(26), day(25))}, 26},
		"day ends at lastRun":             {map[string]string{v1: page(lastRun(day(28)), day(27), day(26))}, 27},
		"lastRun a second before the end": {map[string]string{v1: page(lastRun(day(28)-1), day(27), day(26))}, 26},
		"service without updates":         {map[string]string{v1: page(lastRun(day(26)+1), day(26), day(25))}, 25},
		"unordered":                       {map[string]string{v1: page(lastRun(day(27)+1), day(25), day(27), day(24), day(26))}, 26},
		"gap between days":                {map[string]string{v1: page(lastRun(day(27)+1), day(27), day(26), day(20), day(19))}, 26},
		"one day, complete":               {map[string]string{v1: page(lastRun(day(28)), day(27))}, 27},
		"one day, incomplete":             {map[string]string{v1: page(lastRun(day(27)+80000), day(27))}, 0},
		"no days":                         {map[string]string{v1: page(lastRun(day(27)))}, 0},
		"no lastRun":                      {map[string]string{v1: page("", day(3), day(2))}, 2},
		"no complete day on the first page": {map[string]string{v1: page(lastRun(day(27)+1)+`,"nextPageToken":"a"`, day(27)),
			v1 + "?pageToken=a": page("", day(26), day(25))}, 26},
		"no request after a complete day": {map[string]string{v1: page(lastRun(day(27)+1)+`,"nextPageToken":"lost"`, day(27), day(26))}, 26},
		"oldest first": {map[string]string{v1: page(lastRun(day(27)+1)+`,"nextPageStartKey":"k/1"`, day(22), day(23)),
			v1 + "?startKey=k%2F1": page("", day(26), day(27))}, 26},
		"version 2": {map[string]string{v2: page("", day(27), day(26))}, 26},
		"version 2, next page": {map[string]string{v2: page(`,"nextPageToken":"1 2"`, day(27)), next: page(`,"nextPageToken":""`, day(26), day(25))},
			26},
		"version 2, one day": {map[string]string{v2: page("", day(27))}, 0},
		"version 2, no days": {map[string]string{v2: page("")}, 0},
	} {
		got, err := client(t, &service{answers: c.pages}).AverageTPS(t.Context(), "43114")
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want == 0 && got.Point != nil:
			t.Errorf("%s: got %v", name, got.Point.Timestamp)
		case c.want != 0 && (got.Point == nil || got.Point.Timestamp.Unix() != day(c.want)):
			t.Errorf("%s: got %+v, want day %d", name, got.Point, c.want)
		}
	}
}

func TestAverageTPSReturnsValueAndLastRun(t *testing.T) {
	for body, want := range map[string]struct{ value, lastRun float64 }{
		`{"results":[{"timestamp":1724716800,"value":1.98},{"timestamp":1724630400,"value":"2.5"}],"status":200,"lastRun":1724780812}`: {2.5, 1724780812},
		page("", day(27), day(26)):    {1.5, float64(day(28))}, // the end of the newest day
		`{"results":[],"status":200}`: {},
	} {
		got, err := client(t, &service{answers: map[string]string{v1: body}}).AverageTPS(t.Context(), "43114")
		if err != nil || (got.Point != nil) != (want.value > 0) || (got.LastRun != nil) != (want.lastRun > 0) ||
			got.Point != nil && (float64(got.Point.Value) != want.value || float64(got.LastRun.Unix()) != want.lastRun) {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
}

func TestAverageTPSEndsForAnyPages(t *testing.T) {
	endless := 0
	for want, transport := range map[string]http.RoundTripper{
		"GET /v1/avg_tps/{chainId}: rejected: HTTP 400: expired":                                                        &service{answers: map[string]string{v1: page(`,"nextPageToken":"expired"`), v1 + "?pageToken=expired": `400{"message":"expired"}`}},
		"GET /v1/avg_tps/{chainId}: malformed: the pages repeat: the token of the next page is that of an earlier page": &service{answers: map[string]string{v1: page(`,"nextPageToken":"same"`), v1 + "?pageToken=same": page(`,"nextPageToken":"same"`)}},
		"GET /v1/avg_tps/{chainId}: malformed: more than 500 pages": roundTrip(func(*http.Request) (*http.Response, error) {
			endless++
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(page(fmt.Sprintf(`,"nextPageToken":"%d"`, endless))))},
				nil
		}),
	} {
		if _, err := client(t, transport).AverageTPS(t.Context(), "43114"); err == nil || err.Error() != want {
			t.Errorf("\n got %v\nwant %s", err, want)
		}
	}
}

type roundTrip = promhttp.RoundTripperFunc

func TestPointWithoutValueIsMalformed(t *testing.T) {
	for _, body := range []string{`{"status":200}`, `{"results":[{"timestamp":1}],"status":200}`, `{"results":[{"value":1}],"status":200}`,
		`{"results":[{"timestamp":1,"value":"NaN"}]}`} {
		if got, err := client(t, &service{answers: map[string]string{v1: body}}).AverageTPS(t.Context(), "43114"); scrape.OutcomeOf(err) != scrape.Malformed {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
}

// Version 2 is called if version 1 is gone, for one page and for the newest day. Other errors keep the version.
func TestVersion2IsCalledIfVersion1IsGone(t *testing.T) {
	ok := page("", day(27), day(26))
	for _, c := range []struct {
		one, two string
		calls    int
		err      string
	}{
		{ok, "500", 1, ""},
		{`404{"message":"Cannot GET /v1/avg_tps/43114"}`, ok, 2, ""},
		{"410", ok, 2, ""},
		{`400{"message":["This endpoint is Deprecated"]}`, ok, 2, ""},
		{`400{"message":"chainId must be a number"}`, ok, 1, "GET /v1/avg_tps/{chainId}: rejected: HTTP 400: chainId must be a number"},
		{"401", ok, 1, "GET /v1/avg_tps/{chainId}: forbidden: "},
		{"503", ok, 3, "GET /v1/avg_tps/{chainId}: unavailable: HTTP 503"},
		{`404{"message":"no such chain"}`, "404", 2, "GET /v1/avg_tps/{chainId}: not_found: HTTP 404: no such chain"},
		{"404", "500", 4, "GET /v2/chains/{chainId}/metrics/{metric}: unavailable: HTTP 500"},
	} {
		synctest.Test(t, func(t *testing.T) {
			for what, call := range map[string]func(*metrics.Client) error{
				"newest day": func(m *metrics.Client) error { _, err := m.AverageTPS(t.Context(), "43114"); return err },
				"page": func(m *metrics.Client) error {
					_, err := m.AvgTPSPage(t.Context(), "43114", scrape.Cursor{})
					return err
				},
			} {
				s := &service{answers: map[string]string{v1: c.one, v2: c.two}}
				err := call(client(t, s))
				if (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) || len(s.asked) != c.calls || s.asked[0] != v1 {
					t.Errorf("%s of %q, %q: %v after %q", what, c.one, c.two, err, s.asked)
				}
			}
		})
	}
}

// The pages are unchanged, and each names the next one in the way of the service: with pageToken or startKey.
func TestAvgTPSPagesAreUnchanged(t *testing.T) {
	for param, member := range map[string]string{"pageToken": "nextPageToken", "startKey": "nextPageStartKey"} {
		next := v1 + "?" + param + "=next"
		s := &service{answers: map[string]string{v1: page(`,"`+member+`":"next"`, day(2)), next: page(`,"other":1`, day(1))}}
		var at scrape.Cursor
		for _, path := range []string{v1, next} {
			answer, err := client(t, s).AvgTPSPage(t.Context(), "43114", at)
			if err != nil || string(answer) != s.answers[path] {
				t.Errorf("%s: %s, %v", path, answer, err)
			}
			at = metrics.AvgTPS.Next(answer)
		}
		if at.Value != "" {
			t.Errorf("%v after the last page", at)
		}
	}
}

func TestVersionIsCheckedAgainAfterAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answers: map[string]string{v2: page("", day(27), day(26))}}
		c := client(t, s)
		for _, step := range []struct {
			after time.Duration
			want  []string
		}{{0, []string{v1, v2}}, {time.Hour - time.Second, []string{v2}}, {time.Second, []string{v1, v2}}, {time.Hour, []string{v1}}, {0, []string{v1}}} {
			if time.Sleep(step.after); len(step.want) == 1 && step.want[0] == v1 {
				s.answers[v1] = s.answers[v2]
			}
			s.asked = nil
			if _, err := c.AverageTPS(t.Context(), "43114"); err != nil || !slices.Equal(s.asked, step.want) {
				t.Errorf("requested %q, want %q; error %v", s.asked, step.want, err)
			}
		}
	})
}
