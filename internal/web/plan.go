package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// maxDays is the maximum period of a plan in days.
const maxDays = 3650

// planAnswer is the JSON of plan.
type planAnswer struct {
	Chain string    `json:"chain"`
	Days  int       `json:"days"`
	AsOf  time.Time `json:"as_of"`
	// Validators are the validators with a fee, sorted by the end of their balances.
	Validators []planned `json:"validators"`
	Total      nanos     `json:"total_avax"`
	// QuorumLoss lists when the active weight falls below each quorum.
	QuorumLoss []quorumLoss `json:"quorum_loss"`
}

// planned is a validator and its top-up.
type planned struct {
	Name         string   `json:"name,omitempty"` // name of the validator
	Node         string   `json:"node,omitempty"` // configured name of its node
	NodeID       string   `json:"node_id"`
	ValidationID string   `json:"validation_id"`
	Active       bool     `json:"active"`
	Balance      nanos    `json:"balance_avax"`
	Burn         float64  `json:"burn_avax_per_day"`
	Runway       *float64 `json:"runway_seconds"` // null if the balance never runs out
	TopUp        nanos    `json:"top_up_avax"`
}

type quorumLoss struct {
	Quorum  string   `json:"quorum"`
	Seconds *float64 `json:"seconds"` // null if the quorum is never lost
}

// nanos is an amount in nAVAX. As JSON it is written in AVAX, with all digits.
type nanos uint64

// MarshalJSON writes a number.
func (n nanos) MarshalJSON() ([]byte, error) {
	text := fmt.Sprintf("%d.%09d", n/1e9, n%1e9)
	return []byte(strings.TrimSuffix(strings.TrimRight(text, "0"), ".")), nil
}

// planError is the error of a request for a plan.
type planError struct {
	status int
	Error  string   `json:"error"`
	L1s    []string `json:"l1s,omitempty"` // monitored L1s
}

// plan answers GET /api/v1/l1/<chain>/plan?days=30 for a monitored L1. The answer lists the validators to top up and the
// amounts that keep all of them active for this number of days. It also contains the time of the quorum loss without top-ups.
//
// The data is the last result of the collector l1_runway, even if /metrics does not serve its series. as_of is the P-Chain's
// time of the balances; durations start at this time. Amounts are exact to the nAVAX. After its top-up, a validator stays
// active for at least this number of days from now, at its current burn rate. An inactive validator becomes active.
//
// Errors: 400 if days is not a number from 1 to 3650, 404 if the L1 is not monitored, 503 if its validators or their burn rate
// are currently unknown.
func (s *Site) plan(w http.ResponseWriter, r *http.Request) {
	days := staking.TopUpDays
	if text := r.URL.Query().Get("days"); text != "" {
		var err error
		if days, err = strconv.Atoi(text); err != nil || days < 1 || days > maxDays {
			writeJSON(w, http.StatusBadRequest, planError{Error: fmt.Sprintf("days=%s: write a whole number from 1 to %d", text, maxDays)})
			return
		}
	}
	answer, refused := s.planOf(r.PathValue("chain"), days, time.Now())
	if refused != nil {
		writeJSON(w, refused.status, refused)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *Site) planOf(chain string, days int, now time.Time) (*planAnswer, *planError) {
	jobs := s.Store.Jobs()
	l1 := l1sOf(jobs, now)[chain]
	if l1 == nil || l1.At.IsZero() || l1.Unpriced {
		return nil, s.noPlan(jobs, chain, l1, now)
	}
	names := s.names(jobs)
	plan, sum := l1.TopUps(days, now)
	amounts := make(map[string]uint64, len(plan))
	for _, t := range plan {
		amounts[t.ID] = t.Amount
	}
	answer := &planAnswer{Chain: chain, Days: days, AsOf: l1.At.UTC(), Total: nanos(sum), Validators: []planned{}}
	for _, m := range l1.Set {
		if m.Legacy {
			continue
		}
		v := planned{
			Name: names.nameOf(m.NodeID, m.ID), Node: names.nodeOf(m.NodeID), NodeID: m.NodeID, ValidationID: m.ID, Active: m.Active(), Balance: nanos(m.Balance), Burn: m.Burn * day / 1e9, TopUp: nanos(amounts[m.ID]),
		}
		if left, ends := staking.Runway(m.Balance, m.Burn); ends {
			seconds := math.Floor(left.Seconds())
			v.Runway = &seconds
		}
		answer.Validators = append(answer.Validators, v)
	}
	slices.SortFunc(answer.Validators, func(a, b planned) int {
		return cmp.Or(cmp.Compare(endless(a.Runway), endless(b.Runway)), cmp.Compare(a.ValidationID, b.ValidationID))
	})
	for _, q := range staking.Quorums {
		loss := quorumLoss{Quorum: q.Label}
		if after, lost := staking.QuorumLoss(l1.Set, q.Share); lost {
			seconds := math.Floor(after.Seconds())
			loss.Seconds = &seconds
		}
		answer.QuorumLoss = append(answer.QuorumLoss, loss)
	}
	return answer, nil
}

// noPlan returns why there is no plan for a chain.
func (s *Site) noPlan(jobs []*metric.Job, chain string, known *staking.L1, now time.Time) *planError {
	var monitored []string // L1s with a result
	pending := false       // true if the requested L1 has no result yet
	for _, j := range jobs {
		switch {
		case j.Good.Facts.L1 != nil:
			monitored = appendNew(monitored, j.Last.Target.Chain)
		case j.Last.Target.Chain == chain && j.Last.Collector == planCollector && j.Good.Collector == "":
			pending = true
		}
	}
	slices.Sort(monitored)
	if pending || slices.Contains(monitored, chain) {
		what := "the validators of " + chain + " are"
		if known != nil {
			what = "the burn rate of " + chain + "'s validators is"
		}
		return &planError{status: http.StatusServiceUnavailable, Error: what + " not known at present: " + snapshotAt(jobs, now).why(func(k metric.Key) bool {
			return k.Collector == planCollector && k.Target.Chain == chain
		})}
	}
	if why := s.starting(); why != "" {
		return &planError{status: http.StatusServiceUnavailable, Error: why}
	}
	return &planError{status: http.StatusNotFound, Error: fmt.Sprintf("no L1 %q is monitored", chain), L1s: monitored}
}

// planCollector is the collector with the data of a plan.
const planCollector = "l1_runway"

// endless returns the runway as a sort key: a runway that never ends comes last.
func endless(left *float64) float64 {
	if left == nil {
		return math.Inf(1)
	}
	return *left
}

// writeJSON answers with the value as indented JSON.
func writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		http.Error(w, "the answer cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

// l1sOf returns the validators of the monitored L1s by chain, from the collector l1_runway. If that has no result, it uses the
// collector l1, which has no burn rates.
func l1sOf(jobs []*metric.Job, now time.Time) map[string]*staking.L1 {
	l1s := map[string]*staking.L1{}
	for _, j := range jobs { // sorted: l1_runway comes after l1 and replaces its result
		if l1 := j.Good.Facts.L1; l1 != nil && now.Before(j.Good.Until) {
			l1s[j.Last.Target.Chain] = l1
		}
	}
	return l1s
}

const day = 24 * 60 * 60.0 // seconds
