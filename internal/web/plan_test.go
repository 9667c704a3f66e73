package web

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// l1Lines are the samples of an L1's validators: name, active, weight, balance.
func l1Lines(chain string, validators ...string) string {
	var lines strings.Builder
	for _, v := range validators {
		var id, active, weight, balance string
		if _, err := fmt.Sscan(v, &id, &active, &weight, &balance); err != nil {
			panic(err)
		}
		labels := fmt.Sprintf(`{chain=%q,node_id="NodeID-%s",validation_id=%q}`, chain, id, id)
		fmt.Fprintf(&lines, "avax_l1_validator_active%[1]s %[2]s\navax_l1_validator_weight%[1]s %[3]s\n", labels, active, weight)
		if balance != "legacy" {
			fmt.Fprintf(&lines, "avax_l1_validator_balance_avax%s %s\n", labels, balance)
		}
	}
	return lines.String() + fmt.Sprintf("avax_l1_weight{chain=%q} 100\n", chain)
}

// burnLines are the samples of what they burn.
func burnLines(chain string, perDay float64, ids ...string) string {
	var lines strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&lines, "avax_l1_validator_burn_avax_per_day{chain=%q,node_id=\"NodeID-%[2]s\",validation_id=%[2]q} %[3]v\n", chain, id, perDay)
	}
	return lines.String()
}

const floor = 0.0442368 // AVAX a day: 512 nAVAX a second

// asked returns the status and the body of a page.
func asked(t *testing.T, s *Site, path string, header ...string) (status int, body string) {
	t.Helper()
	answer := ask(t, s, http.MethodGet, path, header...)
	return answer.StatusCode, read(t, answer.Body)
}

func TestThePlanSaysWhomToTopUpByHowMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		put(t, s, snapshot.Key{Collector: "l1", Target: "one"}, l1Lines("one",
			"b-rich 1 45 50", "c-poor 1 15 0.125000283", "a-soon 1 15 1.327104", "d-dry 0 15 0", "e-old 1 10 legacy"))
		put(t, s, snapshot.Key{Collector: "l1_runway", Target: "one"}, burnLines("one", floor, "b-rich", "c-poor", "a-soon", "d-dry"))
		status, body := asked(t, s, "/api/v1/l1/one/plan")
		want := `{
  "chain": "one",
  "days": 30,
  "as_of": "2000-01-01T00:00:00Z",
  "validators": [
    {
      "node_id": "NodeID-d-dry",
      "validation_id": "d-dry",
      "active": false,
      "balance_avax": 0,
      "burn_avax_per_day": 0.0442368,
      "runway_seconds": 0,
      "top_up_avax": 1.327104
    },
    {
      "node_id": "NodeID-c-poor",
      "validation_id": "c-poor",
      "active": true,
      "balance_avax": 0.125000283,
      "burn_avax_per_day": 0.0442368,
      "runway_seconds": 244141,
      "top_up_avax": 1.202103717
    },
    {
      "node_id": "NodeID-a-soon",
      "validation_id": "a-soon",
      "active": true,
      "balance_avax": 1.327104,
      "burn_avax_per_day": 0.0442368,
      "runway_seconds": 2592000,
      "top_up_avax": 0
    },
    {
      "node_id": "NodeID-b-rich",
      "validation_id": "b-rich",
      "active": true,
      "balance_avax": 50,
      "burn_avax_per_day": 0.0442368,
      "runway_seconds": 97656250,
      "top_up_avax": 0
    }
  ],
  "total_avax": 2.529207717,
  "quorum_loss": [
    {
      "quorum": "0.80",
      "seconds": 244141
    },
    {
      "quorum": "0.75",
      "seconds": 244141
    },
    {
      "quorum": "0.67",
      "seconds": 2592000
    }
  ]
}
`
		if diff := cmp.Diff(want, body); diff != "" || status != http.StatusOK {
			t.Errorf("%d:\n%s", status, diff)
		}

		// What has burned since the balances were told is topped up too.
		time.Sleep(10 * time.Second)
		_, body = asked(t, s, "/api/v1/l1/one/plan?days=1")
		if want := `"total_avax": 0.04424192` + ","; !strings.Contains(body, want) { // a day and ten seconds of d-dry
			t.Errorf("after ten seconds, want %s:\n%s", want, body)
		}
	})
}

// On a P-Chain without blocks balances stand still, and are spent nevertheless.
func TestThePlanCountsFromTheTimeOfThePChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told(t, `
			avax_chain_head_timestamp_seconds{node="a",chain="P"} `+in(-2*time.Hour)+`
			avax_chain_head_timestamp_seconds{node="b",chain="P"} `+in(-time.Hour)+`
			avax_chain_head_timestamp_seconds{node="b",chain="C"} `+in(-time.Second)+`
			`+burnLines("one", floor, "a"))
		put(t, s, snapshot.Key{Collector: "l1", Target: "one"}, l1Lines("one", "a 1 100 0.1"))
		_, body := asked(t, s, "/api/v1/l1/one/plan?days=30")
		for _, want := range []string{`"as_of": "1999-12-31T23:00:00Z"`, `"top_up_avax": 1.2289472`} { // 30 days and an hour, less 0.1
			if !strings.Contains(body, want) {
				t.Errorf("want %s:\n%s", want, body)
			}
		}
	})
}

// Whatever is asked for, paying it suffices and a nAVAX less does not.
func TestAPlanSufficesToTheNanoAVAX(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price := rapid.Uint64Range(1, 1<<20).Draw(t, "nAVAX a second")
		balance := rapid.Uint64Range(1, 1<<50).Draw(t, "balance in nAVAX")
		days := rapid.IntRange(1, mostDays).Draw(t, "days")
		set := l1Set{members: []l1Member{{nodeID: "a"}}}
		set.members[0].ID = "a"
		set.members[0].Balance = nanoAVAX(float64(balance) / 1e9)
		set.members[0].Burn = nanosPerSecond(float64(price) * day / 1e9)
		if set.members[0].Balance != balance || set.members[0].Burn != float64(price) {
			t.Fatalf("read back %d and %v, want %d and %d", set.members[0].Balance, set.members[0].Burn, balance, price)
		}
		_, sum := set.topUps(days, time.Now())
		need := price * uint64(days) * 86400
		if balance+sum < need || sum > 0 && float64(balance+sum-need) > 1e-9*float64(need)+1 {
			t.Errorf("%d and %d of %d", balance, sum, need)
		}
	})
}

func TestNoPlanIsBetterThanAWrongOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		l1, runway := snapshot.Key{Collector: "l1", Target: "one"}, snapshot.Key{Collector: "l1_runway", Target: "one"}
		refused := func(when, path string, wantStatus int, wants ...string) {
			t.Helper()
			status, body := asked(t, s, path)
			if status != wantStatus {
				t.Errorf("%s: %d, want %d:\n%s", when, status, wantStatus, body)
			}
			var answer struct{ Error string }
			if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Error == "" {
				t.Errorf("%s: %v in %s", when, err, body)
			}
			for _, want := range wants {
				if !strings.Contains(body, want) {
					t.Errorf("%s: nothing of %s in\n%s", when, want, body)
				}
			}
		}
		for _, days := range []string{"0", "-1", "3651", "many", "1.5", "99999999999999999999"} {
			refused("days="+days, "/api/v1/l1/one/plan?days="+days, http.StatusBadRequest, "from 1 to 3650")
		}
		s.Progress = func() (ran, of int) { return 2, 60 }
		refused("at the start", "/api/v1/l1/one/plan", http.StatusServiceUnavailable, "2 of 60 collectors have run")
		s.Progress = func() (ran, of int) { return 60, 60 }
		fail(s, "l1", "one", outcome("platform.getCurrentValidators", scrape.Timeout, "no answer"))
		refused("never told", "/api/v1/l1/one/plan", http.StatusServiceUnavailable, "platform.getCurrentValidators: timeout")
		put(t, s, snapshot.Key{Collector: "l1", Target: "C"}, `avax_l1_validators{chain="other",state="active"} 1`)
		undated := told(t, l1Lines("one", "a 1 100 5")+burnLines("one", floor, "a"))
		if status, body := asked(t, undated, "/api/v1/l1/one/plan"); status != http.StatusServiceUnavailable || !strings.Contains(body, "when the balances were told") {
			t.Errorf("not known when it was told: %d: %s", status, body)
		}
		put(t, s, l1, l1Lines("one", "a 1 100 5", "b 1 5 legacy"))
		refused("no such L1", "/api/v1/l1/two/plan", http.StatusNotFound, `no L1 \"two\" is followed`, `"one"`)
		refused("no L1 at all", "/api/v1/l1/C/plan", http.StatusNotFound)
		refused("burn not told", "/api/v1/l1/one/plan", http.StatusServiceUnavailable, "what NodeID-a burns is not known at present")
		put(t, s, runway, burnLines("one", floor, "a"))
		if status, body := asked(t, s, "/api/v1/l1/one/plan"); status != http.StatusOK {
			t.Errorf("all told: %d: %s", status, body)
		}
		time.Sleep(50 * time.Second)
		fail(s, "l1", "one", outcome("platform.getCurrentValidators", scrape.Unreachable, "connection refused"))
		put(t, s, runway, burnLines("one", floor, "a"))
		time.Sleep(20 * time.Second)
		refused("stale", "/api/v1/l1/one/plan", http.StatusServiceUnavailable, "the validators of one are not known at present", "connection refused")
	})
}

func TestAmountsAreWrittenToTheLastDigit(t *testing.T) {
	for nano, want := range map[uint64]string{
		0: "0", 1: "0.000000001", 1e9: "1", 1_500_000_000: "1.5", 10e9: "10", math.MaxUint64: "18446744073.709551615",
	} {
		if got, err := json.Marshal(nanos(nano)); err != nil || string(got) != want {
			t.Errorf("%d is written %s, want %s (%v)", nano, got, want, err)
		}
	}
}

// The plan on the page is that of the API, rounded up.
func TestThePageAndThePlanAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		put(t, s, snapshot.Key{Collector: "l1", Target: "one"}, l1Lines("one", "a 1 50 0.5", "b 1 50 0.123456789"))
		put(t, s, snapshot.Key{Collector: "l1_runway", Target: "one"}, burnLines("one", floor, "a", "b"))
		v := s.view(time.Now()).L1s[0]
		if v.Plan != "api/v1/l1/one/plan" {
			t.Errorf("the plan is at %q", v.Plan)
		}
		var shown []string
		for _, r := range v.Rows {
			shown = append(shown, r.ID+" "+r.TopUp.Text)
		}
		slices.Sort(shown)
		if want := []string{"NodeID-a 0.8272", "NodeID-b 1.2037"}; !slices.Equal(shown, want) {
			t.Errorf("the page says %q, want %q", shown, want)
		}
	})
}
