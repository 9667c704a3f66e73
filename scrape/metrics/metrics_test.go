package metrics_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
)

// service answers known paths and queries, and 404 to others.
type service map[string]string

func (s service) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := s[r.URL.RequestURI()]
	status := http.StatusOK
	if !ok {
		status, body = http.StatusNotFound, `{"message":["not known: `+r.URL.RequestURI()+`"],"error":"Not Found","statusCode":404}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func client(t *testing.T, transport http.RoundTripper) *metrics.Client {
	t.Helper()
	u, err := scrape.New(scrape.Options{Name: "metrics", URL: "https://metrics.example.com", Transport: transport, Rate: 1e6})
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

func TestAverageTPSIsTheNewestCompletePoint(t *testing.T) {
	const path = "/v1/avg_tps/43114"
	for name, c := range map[string]struct {
		pages service
		want  int64 // 0: none
	}{
		"newest bucket incomplete":            {service{path: page(lastRun(day(27)+63212), day(27), day(26), day(25))}, day(26)},
		"bucket ends at lastRun":              {service{path: page(lastRun(day(28)), day(27), day(26))}, day(27)},
		"lastRun a second before the end":     {service{path: page(lastRun(day(28)-1), day(27), day(26))}, day(26)},
		"service without updates":             {service{path: page(lastRun(day(26)+1), day(26), day(25))}, day(25)},
		"unordered":                           {service{path: page(lastRun(day(27)+1), day(25), day(27), day(24), day(26))}, day(26)},
		"gap between points":                  {service{path: page(lastRun(day(27)+1), day(27), day(26), day(20), day(19))}, day(26)},
		"hours":                               {service{path: page(lastRun(day(27)+7200), day(27)+3600, day(27))}, day(27) + 3600},
		"one point, complete":                 {service{path: page(lastRun(day(28)), day(27))}, day(27)},
		"one point, incomplete":               {service{path: page(lastRun(day(27)+80000), day(27))}, 0},
		"hours, one point twice":              {service{path: page(lastRun(day(27)+7200), day(27)+3600, day(27), day(27))}, day(27) + 3600},
		"no points":                           {service{path: page(lastRun(day(27)))}, 0},
		"no lastRun":                          {service{path: page("", day(3), day(2))}, day(3)},
		"no complete point on the first page": {service{path: page(lastRun(day(27)+1)+`,"nextPageToken":"a"`, day(27)), path + "?pageToken=a": page("", day(26), day(25))}, day(26)},
		"no request after a complete point":   {service{path: page(lastRun(day(27)+1)+`,"nextPageToken":"lost"`, day(27), day(26))}, day(26)},
		"oldest first":                        {service{path: page(lastRun(day(27)+1)+`,"nextPageStartKey":"k/1"`, day(22), day(23)), path + "?startKey=k%2F1": page("", day(26), day(27))}, day(26)},
	} {
		got, err := client(t, c.pages).AverageTPS(t.Context(), "43114")
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want == 0 && got.Point != nil:
			t.Errorf("%s: got %v", name, got.Point.Timestamp)
		case c.want != 0 && (got.Point == nil || got.Point.Timestamp.Unix() != c.want):
			t.Errorf("%s: got %+v, want %v", name, got.Point, time.Unix(c.want, 0).UTC())
		}
	}
}

func TestAverageTPSReturnsValueAndLastRun(t *testing.T) {
	got, err := client(t, service{"/v1/avg_tps/total": `{"results":[{"timestamp":1724716800,"value":1.98},{"timestamp":1724630400,"value":"2.5"}],"status":200,"lastRun":1724780812}`}).
		AverageTPS(t.Context(), "total")
	if err != nil || got.Point == nil || got.Point.Value != 2.5 || got.LastRun == nil || got.LastRun.Unix() != 1724780812 {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = client(t, service{"/v1/avg_tps/1": `{"results":[],"status":200}`}).AverageTPS(t.Context(), "1")
	if err != nil || got.Point != nil || got.LastRun != nil {
		t.Errorf("empty series: got %+v, %v", got, err)
	}
}

func TestClockEndsABucketWithoutLastRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the synthetic clock starts at midnight
		today := time.Now().Unix()
		c := client(t, service{"/v1/avg_tps/1": page("", today, today-86400, today-2*86400)})
		for range 2 {
			got, err := c.AverageTPS(t.Context(), "1")
			if err != nil || got.Point == nil || got.Point.Timestamp.Unix() != today-86400 {
				t.Errorf("at %v: got %+v, %v", time.Now(), got.Point, err)
			}
			time.Sleep(24*time.Hour - time.Second)
		}
		time.Sleep(2 * time.Second)
		if got, _ := c.AverageTPS(t.Context(), "1"); got.Point == nil || got.Point.Timestamp.Unix() != today {
			t.Errorf("after a day: got %+v", got.Point)
		}
	})
}

func TestNextPageUsesTheTokenNameOfTheService(t *testing.T) {
	const path = "/v1/avg_tps/a%2Fb"
	c := client(t, service{
		path:                     page(`,"nextPageToken":"1 2"`, day(5)),
		path + "?pageToken=1+2":  page(`,"nextPageStartKey":"x&y"`, day(4)),
		path + "?startKey=x%26y": page(`,"nextPageToken":"","nextPageStartKey":null`, day(3)),
	})
	var seen []int64
	for p, err := range c.AvgTPS(t.Context(), "a/b") {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, p.Results[0].Timestamp.Unix())
	}
	if fmt.Sprint(seen) != fmt.Sprint([]int64{day(5), day(4), day(3)}) {
		t.Errorf("got %v", seen)
	}
}

func TestAvgTPSEndsForAnyAnswer(t *testing.T) {
	endless := 0
	for want, transport := range map[string]http.RoundTripper{
		"GET /v1/avg_tps/{chainId}: not_found: HTTP 404: not known: /v1/avg_tps/1?pageToken=expired": service{"/v1/avg_tps/1": page(`,"nextPageToken":"expired"`)},
		"GET /v1/avg_tps/{chainId}: malformed: the next page has the same token as the current page": service{
			"/v1/avg_tps/1":                page(`,"nextPageToken":"same"`),
			"/v1/avg_tps/1?pageToken=same": page(`,"nextPageToken":"same"`),
		},
		"GET /v1/avg_tps/{chainId}: malformed: more than 500 pages": roundTrip(func(*http.Request) (*http.Response, error) {
			endless++
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(page(fmt.Sprintf(`,"nextPageToken":"%d"`, endless))))}, nil
		}),
	} {
		c := client(t, transport)
		var last error
		for _, err := range c.AvgTPS(t.Context(), "1") {
			last = err
		}
		if last == nil || last.Error() != want {
			t.Errorf("\n got %v\nwant %s", last, want)
		}
		if _, err := c.AverageTPS(t.Context(), "1"); err == nil {
			t.Errorf("AverageTPS without error: %s", want)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestPointWithoutValueIsMalformed(t *testing.T) {
	for _, body := range []string{`{"status":200}`, `{"results":[{"timestamp":1}],"status":200}`, `{"results":[{"value":1}],"status":200}`, `{"results":[{"timestamp":1,"value":"NaN"}]}`} {
		if got, err := client(t, service{"/v1/avg_tps/1": body}).AverageTPS(t.Context(), "1"); scrape.OutcomeOf(err) != scrape.Malformed {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
}
