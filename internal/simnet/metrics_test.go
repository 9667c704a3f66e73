package simnet_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

type tpsPage struct {
	Results []struct {
		Timestamp int64
		Value     float64
	}
	Status           int
	LastRun          int64
	NextPageToken    string
	NextPageStartKey string
}

func (c client) tps(query string) (p tpsPage) {
	c.t.Helper()
	status, body, err := c.send("GET", "/v1/avg_tps/"+query, "")
	if err != nil || status != 200 {
		c.t.Fatalf("%s: %d %s %v", query, status, body, err)
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		c.t.Fatal(err)
	}
	return p
}

func TestTPSHasDailyPointsNewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		time.Sleep(6*time.Hour + 7*time.Minute)
		metrics := dial(t, net, "metrics")
		p := metrics.tps("99999")
		today := time.Now().UTC().Truncate(24 * time.Hour)
		if p.Status != 200 || p.Results[0].Timestamp != today.Unix() || p.Results[1].Timestamp != today.Add(-24*time.Hour).Unix() {
			t.Errorf("got %+v", p.Results[:2])
		}
		if want := time.Now().Add(-7 * time.Minute).Unix(); p.LastRun != want {
			t.Errorf("lastRun %d, want %d", p.LastRun, want)
		}
		if p := metrics.tps("12345"); len(p.Results) != 0 {
			t.Errorf("unknown chain: %+v", p)
		}
	})
}

func TestTPSPagesEndAndExpire(t *testing.T) {
	for _, startKey := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			net := simnet.New(simnet.Options{StartKeyPaging: startKey})
			metrics := dial(t, net, "metrics")
			param, next := "pageToken", func(p tpsPage) string { return p.NextPageToken }
			if startKey {
				param, next = "startKey", func(p tpsPage) string { return p.NextPageStartKey }
			}
			p := metrics.tps("43112")
			first, days := next(p), len(p.Results)
			last := p.Results[len(p.Results)-1].Timestamp
			for token := first; token != ""; token = next(p) {
				p = metrics.tps(fmt.Sprintf("43112?%s=%s", param, token))
				if p.Results[0].Timestamp != last-86400 {
					t.Fatalf("page starts at %d, previous one ended at %d", p.Results[0].Timestamp, last)
				}
				days += len(p.Results)
				last = p.Results[len(p.Results)-1].Timestamp
			}
			if days != 365 {
				t.Errorf("%d days", days)
			}
			time.Sleep(25 * time.Hour)
			status, body, _ := metrics.send("GET", fmt.Sprintf("/v1/avg_tps/43112?%s=%s", param, first), "")
			if status != 400 || !strings.Contains(body, `"statusCode":400`) {
				t.Errorf("expired token: %d %s", status, body)
			}
		})
	}
}

func TestMetricsServiceFaults(t *testing.T) {
	net := simnet.New(simnet.Options{})
	metrics, service := dial(t, net, "metrics"), net.MetricsService()
	service.Stop()
	if _, _, err := metrics.send("GET", "/v1/avg_tps/43112", ""); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("stopped: %v", err)
	}
	service.Start()
	service.Inject(simnet.Refused(502, "the gateway is tired"), "GET /v1/avg_tps/{chainId}")
	if status, body, _ := metrics.send("GET", "/v1/avg_tps/43112", ""); status != 502 || !strings.Contains(body, `"message":["the gateway is tired"]`) {
		t.Errorf("refused: %d %s", status, body)
	}
	service.Recover()
	if status, body, _ := metrics.send("GET", "/v2/nothing", ""); status != 404 || !strings.Contains(body, `"error":"Not Found"`) {
		t.Errorf("unknown path: %d %s", status, body)
	}
	metrics.tps("total")
}

func TestMetricsVersion2MatchesVersion1(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.New(simnet.Options{})
		time.Sleep(6*time.Hour + 7*time.Minute)
		metrics := dial(t, net, "metrics")
		type point struct {
			Timestamp int64
			Value     float64
		}
		const path = "/v2/chains/99999/metrics/avgTps?timeInterval=day&pageSize=30"
		days := list[point](metrics, path, "results")
		if len(days) != 365 {
			t.Errorf("%d days", len(days))
		}
		for i, old := range metrics.tps("99999").Results {
			if days[i] != point(old) {
				t.Errorf("day %d: %+v and %+v", i, days[i], old)
			}
		}
		end := days[3].Timestamp
		some := list[point](metrics, fmt.Sprintf("%s&startTimestamp=%d&endTimestamp=%d", path, end-86_400, end), "results")
		if len(some) != 2 || some[0] != days[3] {
			t.Errorf("two days: %+v", some)
		}
		for ask, want := range map[string]string{
			"/v2/chains/99999/metrics/txCount?timeInterval=hour": "200",
			"/v2/chains/12345/metrics/avgTps":                    "200",
			"/v2/chains/testnet/metrics/maxTps":                  "200",
			"/v2/chains/beam/metrics/avgTps":                     "400 [chainId must be an EVM chain id or one of: total, mainnet, testnet]",
			"/v2/chains/99999/metrics/avgTps?timeInterval=hour":  "400 [timeInterval must be one of the following values: day]",
			"/v2/chains/99999/metrics/avgTps?pageSize=2161":      "400 [pageSize must not be greater than 2160]",
			"/v2/chains/99999/metrics/speed":                     "400 [metric must be one of the following values: activeAddresses",
		} {
			if got := metrics.get(ask, new(any)); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s", ask, got)
			}
		}
	})
}

func TestRetiredMetricsVersion1IsNotFound(t *testing.T) {
	net := simnet.New(simnet.Options{})
	metrics := dial(t, net, "metrics")
	net.RetireMetricsV1(true)
	if end := metrics.get("/v1/avg_tps/43112", nil); end != "404 [Cannot GET /v1/avg_tps/43112]" {
		t.Error(end)
	}
	if end := metrics.get("/v2/chains/43112/metrics/avgTps", new(any)); end != "200" {
		t.Error(end)
	}
	net.RetireMetricsV1(false)
	metrics.tps("43112")
}
