package web

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// floor is the minimum burn rate of a validator, in nAVAX per second.
const floor = staking.MainnetFloor

// l1Told returns an L1 with the current time. Each validator is given as ID, weight, and balance in AVAX, or the end in hours for a
// legacy validator. All validators have this burn rate in nAVAX per second.
func l1Told(burn float64, validators ...string) *staking.L1 {
	l1 := &staking.L1{At: time.Now()}
	for _, text := range validators {
		var balance string
		v := staking.Validator{Burn: burn}
		if _, err := fmt.Sscan(text, &v.ID, &v.Weight, &balance); err != nil {
			panic(err)
		}
		v.NodeID = "NodeID-" + v.ID
		if hours, legacy := strings.CutPrefix(balance, "legacy"); legacy {
			v.Legacy, v.Burn = true, 0
			if end, err := time.ParseDuration(hours); err == nil {
				v.End = l1.At.Add(end)
			}
		} else {
			avax, err := strconv.ParseFloat(balance, 64)
			if err != nil {
				panic(err)
			}
			v.Balance = uint64(math.Round(avax * 1e9))
		}
		l1.Set = append(l1.Set, v)
	}
	return l1
}

// keepL1 stores an L1 as the result of l1_runway.
func keepL1(s *Site, chain string, l1 *staking.L1) {
	keepAs(s, metric.Key{Collector: "l1_runway", Target: metric.Target{Chain: chain}}, l1)
}

// keepUnpriced stores an L1 as the result of l1, which has no price.
func keepUnpriced(s *Site, chain string, validators ...string) {
	l1 := l1Told(0, validators...)
	l1.At, l1.Unpriced = time.Time{}, true
	keepAs(s, metric.Key{Collector: "l1", Target: metric.Target{Chain: chain}}, l1)
}

func keepAs(s *Site, key metric.Key, l1 *staking.L1) {
	s.Store.Put(metric.Run{Key: key, At: time.Now(), Until: time.Now().Add(time.Minute), Facts: metric.Facts{L1: l1}})
}

// get returns the status and the body of a page.
func get(t *testing.T, s *Site, path string, header ...string) (status int, body string) {
	t.Helper()
	answer := ask(t, s, http.MethodGet, path, header...)
	return answer.StatusCode, read(t, answer.Body)
}

func TestPlanListsTopUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		keepL1(s, "one", l1Told(floor, "b-rich 45 50", "c-poor 15 0.125000283", "a-soon 15 1.327104", "d-dry 15 0", "e-old 10 legacy"))
		status, body := get(t, s, "/api/v1/l1/one/plan")
		const burn = `"burn_avax_per_day": 0.0442368`
		want := `{"chain": "one", "days": 30, "as_of": "2000-01-01T00:00:00Z", "total_avax": 2.529207717, "validators": [
			{"node_id": "NodeID-d-dry", "validation_id": "d-dry", "active": false, "balance_avax": 0, ` + burn + `, "runway_seconds": 0, "top_up_avax": 1.327104},
			{"node_id": "NodeID-c-poor", "validation_id": "c-poor", "active": true, "balance_avax": 0.125000283, ` + burn +
			`, "runway_seconds": 244141, "top_up_avax": 1.202103717},
			{"node_id": "NodeID-a-soon", "validation_id": "a-soon", "active": true, "balance_avax": 1.327104, ` + burn + `, "runway_seconds": 2592000, "top_up_avax": 0},
			{"node_id": "NodeID-b-rich", "validation_id": "b-rich", "active": true, "balance_avax": 50, ` + burn + `, "runway_seconds": 97656250, "top_up_avax": 0}
		], "quorum_loss": [{"quorum": "0.80", "seconds": 244141}, {"quorum": "0.75", "seconds": 244141}, {"quorum": "0.67", "seconds": 2592000}]}`
		if diff := cmp.Diff(decoded(t, want), decoded(t, body)); diff != "" || status != http.StatusOK {
			t.Errorf("%d:\n%s", status, diff)
		}

		// The top-up also replaces the amount that was burned since the balances were read.
		time.Sleep(10 * time.Second)
		_, body = get(t, s, "/api/v1/l1/one/plan?days=1")
		if want := `"total_avax": 0.04424192` + ","; !strings.Contains(body, want) { // a day and ten seconds of d-dry
			t.Errorf("after ten seconds, want %s:\n%s", want, body)
		}

		// Without P-Chain blocks the reported balances do not change, but validators still burn them.
		l1 := l1Told(floor, "a 100 0.1")
		l1.At = l1.At.Add(-time.Hour)
		keepL1(s, "two", l1)
		_, body = get(t, s, "/api/v1/l1/two/plan?days=30")
		demand(t, body, `"as_of": "1999-12-31T23:00:10Z"`, `"top_up_avax": 1.2289472`) // 30 days and an hour, minus 0.1
	})
}

func TestMissingPlanNamesItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		refused := func(when, path string, wantStatus int, wants ...string) {
			t.Helper()
			status, body := get(t, s, path)
			if status != wantStatus {
				t.Errorf("%s: %d, want %d:\n%s", when, status, wantStatus, body)
			}
			var answer struct{ Error string }
			if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Error == "" {
				t.Errorf("%s: %v in %s", when, err, body)
			}
			for _, want := range wants {
				if !strings.Contains(body, want) {
					t.Errorf("%s: %s missing in\n%s", when, want, body)
				}
			}
		}
		for _, days := range []string{"0", "-1", "3651", "many", "1.5", "99999999999999999999"} {
			refused("days="+days, "/api/v1/l1/one/plan?days="+days, http.StatusBadRequest, "from 1 to 3650")
		}
		s.Progress = func() (ran, of int) { return 2, 60 }
		refused("at the start", "/api/v1/l1/one/plan", http.StatusServiceUnavailable, "2 of 60 collectors have run")
		s.Progress = func() (ran, of int) { return 60, 60 }
		fail(s, "l1_runway", metric.Target{Chain: "one"}, outcome("platform.getCurrentValidators", scrape.Timeout, "no answer"))
		refused("no run succeeded", "/api/v1/l1/one/plan", http.StatusServiceUnavailable, "the validators of one are", "platform.getCurrentValidators: timeout")
		put(t, s, metric.Key{Collector: "l1", Target: metric.Target{Chain: "C"}}, `avax_l1_validators{chain="other",state="active"} 1`)
		keepUnpriced(s, "one", "a 100 5")
		refused("l1_runway fails", "/api/v1/l1/one/plan", http.StatusServiceUnavailable,
			"the burn rate of one's validators is not known at present", "platform.getCurrentValidators: timeout")
		refused("no such L1", "/api/v1/l1/two/plan", http.StatusNotFound, `no L1 \"two\" is monitored`, `"one"`)
		refused("no L1 at all", "/api/v1/l1/C/plan", http.StatusNotFound)
		unpriced := l1Told(0, "a 100 5", "b 5 legacy")
		unpriced.Unpriced = true
		keepL1(s, "one", unpriced)
		refused("unknown burn rate", "/api/v1/l1/one/plan", http.StatusServiceUnavailable, "the burn rate of one's validators is not known at present",
			"did not report it")
		keepL1(s, "one", l1Told(floor, "a 100 5", "b 5 legacy"))
		if status, body := get(t, s, "/api/v1/l1/one/plan"); status != http.StatusOK {
			t.Errorf("with all data: %d: %s", status, body)
		}
		time.Sleep(50 * time.Second)
		fail(s, "l1_runway", metric.Target{Chain: "one"}, outcome("platform.getCurrentValidators", scrape.Unreachable, "connection refused"))
		time.Sleep(20 * time.Second)
		refused("stale", "/api/v1/l1/one/plan", http.StatusServiceUnavailable, "the validators of one are not known at present", "connection refused")
		legacy := l1Told(0, "b 5 legacy")
		legacy.At = time.Time{}
		keepAs(s, metric.Key{Collector: "l1", Target: metric.Target{Chain: "one"}}, legacy)
		refused("unknown time of the balances", "/api/v1/l1/one/plan", http.StatusServiceUnavailable, "connection refused")
		s = newSite()
		keepUnpriced(s, "one", "a 100 5")
		refused("l1_runway is disabled", "/api/v1/l1/one/plan", http.StatusServiceUnavailable, "disabled")
	})
}
