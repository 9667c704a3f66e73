package metrics_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape/metrics"
)

const (
	v1 = "/v1/avg_tps/43114"
	v2 = "/v2/chains/43114/metrics/avgTps?timeInterval=day"
)

// noted records the paths of requests.
type noted struct {
	answers func(path string) (status int, body string)
	asked   []string
}

func (n *noted) RoundTrip(r *http.Request) (*http.Response, error) {
	n.asked = append(n.asked, r.URL.RequestURI())
	status, body := n.answers(r.URL.RequestURI())
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func TestVersion2IsUsedWhenVersion1IsGone(t *testing.T) {
	for name, gone := range map[string]struct {
		status int
		body   string
	}{
		"404":        {404, `{"message":"Cannot GET /v1/avg_tps/43114","error":"Not Found","statusCode":404}`},
		"410":        {410, ``},
		"deprecated": {400, `{"message":["This endpoint is Deprecated"],"error":"Bad Request","statusCode":400}`},
	} {
		s := &noted{answers: func(path string) (int, string) {
			if path == v2 {
				return 200, page("", day(27), day(26), day(25))
			}
			return gone.status, gone.body
		}}
		got, err := client(t, s).AverageTPS(t.Context(), "43114")
		if err != nil || got.Point == nil || got.Point.Timestamp.Unix() != day(26) || got.Point.Value != 1.5 || got.LastRun == nil || got.LastRun.Unix() != day(28) { // the end of the newest day
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if want := []string{v1, v2}; !slices.Equal(s.asked, want) {
			t.Errorf("%s: requested %q, want %q", name, s.asked, want)
		}
	}
}

func TestAvgTPSPageUsesTheAvailableVersion(t *testing.T) {
	const first = `{"results":[{"timestamp":1700000000,"value":1.5}],"nextPageToken":"next"}`
	for name, c := range map[string]struct {
		one, two int // HTTP status of each version
		want     []string
		err      string
	}{
		"version 1": {200, 500, []string{v1, v1 + "?pageToken=next"}, ""},
		"version 2": {404, 200, []string{v1, v2, v1 + "?pageToken=next", strings.Replace(v2, "?", "?pageToken=next&", 1)}, ""},
		"neither":   {404, 404, []string{v1, v2}, "GET /v1/avg_tps/{chainId}: not_found: "},
		"outage":    {404, 401, []string{v1, v2}, "GET /v2/chains/{chainId}/metrics/{metric}: forbidden: "},
	} {
		s := &noted{answers: func(path string) (int, string) {
			if strings.HasPrefix(path, "/v2/") {
				return c.two, first
			}
			return c.one, first
		}}
		for _, token := range []string{"", "next"} {
			answer, err := client(t, s).AvgTPSPage(t.Context(), "43114", token)
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
			if err != nil || string(answer) != first {
				t.Errorf("%s: %s, %v", name, answer, err)
			}
		}
		if !slices.Equal(s.asked, c.want) {
			t.Errorf("%s: requested %q, want %q", name, s.asked, c.want)
		}
	}
}

func TestNewestDayOfVersion2IsIncomplete(t *testing.T) {
	for name, c := range map[string]struct {
		pages service
		want  int64 // 0: none
	}{
		"old points":      {service{v2: page("", day(27), day(26))}, day(26)},
		"unordered":       {service{v2: page("", day(25), day(27), day(24), day(26))}, day(26)},
		"alone":           {service{v2: page("", day(27))}, 0},
		"no points":       {service{v2: page("")}, 0},
		"on another page": {service{v2: page(`,"nextPageToken":"1 2"`, day(27)), "/v2/chains/43114/metrics/avgTps?pageToken=1+2&timeInterval=day": page("", day(26), day(25))}, day(26)},
		"empty token":     {service{v2: page(`,"nextPageToken":""`, day(27))}, 0},
		"oldest first":    {service{v2: page(`,"nextPageToken":"a"`, day(22), day(23)), "/v2/chains/43114/metrics/avgTps?pageToken=a&timeInterval=day": page("", day(24))}, day(23)},
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

func TestVersionIsCheckedAgainAfterAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := false
		s := &noted{answers: func(path string) (int, string) {
			if strings.HasPrefix(path, "/v2") || back {
				return 200, page("", day(27), day(26))
			}
			return 404, ""
		}}
		c := client(t, s)
		ask := func(want ...string) {
			t.Helper()
			s.asked = nil
			if _, err := c.AverageTPS(t.Context(), "43114"); err != nil {
				t.Error(err)
			}
			if !slices.Equal(s.asked, want) {
				t.Errorf("requested %q, want %q", s.asked, want)
			}
		}
		ask(v1, v2)
		time.Sleep(time.Hour - time.Second)
		ask(v2)
		time.Sleep(time.Second)
		ask(v1, v2)
		time.Sleep(time.Hour)
		back = true
		ask(v1)
		ask(v1)
	})
}

func TestOtherErrorsKeepTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			status, other int
			body          string
			want          string
			asked         int
		}{
			{400, 200, `{"message":"chainId must be a number"}`, "GET /v1/avg_tps/{chainId}: rejected: HTTP 400: chainId must be a number", 1},
			{401, 200, ``, "GET /v1/avg_tps/{chainId}: forbidden: ", 1},
			{503, 200, ``, "GET /v1/avg_tps/{chainId}: unavailable: HTTP 503", 3},
			{404, 404, `{"message":"no such chain"}`, "GET /v1/avg_tps/{chainId}: not_found: HTTP 404: no such chain", 2},
			{404, 500, ``, "GET /v2/chains/{chainId}/metrics/{metric}: unavailable: HTTP 500", 4},
		} {
			s := &noted{answers: func(path string) (int, string) {
				if strings.HasPrefix(path, "/v2") {
					return c.other, c.body
				}
				return c.status, c.body
			}}
			client := client(t, s)
			for range 2 { // failures are not cached
				s.asked = nil
				if _, err := client.AverageTPS(t.Context(), "43114"); err == nil || !strings.HasPrefix(err.Error(), c.want) || len(s.asked) != c.asked || s.asked[0] != v1 {
					t.Errorf("%d, %d: got %v after %q", c.status, c.other, err, s.asked)
				}
			}
		}
	})
}

func TestDailyReturnsPages(t *testing.T) {
	const path = "/v2/chains/1/metrics/a%2Fb"
	c := client(t, service{path + "?timeInterval=day": page(`,"nextPageToken":"x"`, day(5)), path + "?pageToken=x&timeInterval=day": page("", day(4))})
	var seen []int64
	for p, err := range c.Daily(t.Context(), "1", "a/b") {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, p.Results[0].Timestamp.Unix())
	}
	if !slices.Equal(seen, []int64{day(5), day(4)}) || metrics.AvgTPSMetric != "avgTps" {
		t.Errorf("got %v", seen)
	}
}
