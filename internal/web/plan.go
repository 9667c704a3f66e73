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

	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// mostDays is how far ahead a plan may look.
const mostDays = 3650

// planAnswer is the JSON of plan.
type planAnswer struct {
	Chain string    `json:"chain"`
	Days  int       `json:"days"`
	AsOf  time.Time `json:"as_of"`
	// Validators are those that pay a fee, in the order in which they run dry.
	Validators []planned `json:"validators"`
	Total      nanos     `json:"total_avax"`
	// QuorumLoss is when run-outs take the active weight under each share.
	QuorumLoss []quorumLoss `json:"quorum_loss"`
}

// planned is a validator with what it lacks.
type planned struct {
	NodeID       string   `json:"node_id"`
	ValidationID string   `json:"validation_id"`
	Active       bool     `json:"active"`
	Balance      nanos    `json:"balance_avax"`
	Burn         float64  `json:"burn_avax_per_day"`
	Runway       *float64 `json:"runway_seconds"` // null where it never ends
	TopUp        nanos    `json:"top_up_avax"`
}

type quorumLoss struct {
	Quorum  string   `json:"quorum"`
	Seconds *float64 `json:"seconds"` // null where it is never lost
}

// nanos are nAVAX, written in AVAX to the last digit.
type nanos uint64

// MarshalJSON writes a number.
func (n nanos) MarshalJSON() ([]byte, error) {
	text := fmt.Sprintf("%d.%09d", n/1e9, n%1e9)
	return []byte(strings.TrimSuffix(strings.TrimRight(text, "0"), ".")), nil
}

// refusal is why there is no plan.
type refusal struct {
	status int
	Error  string   `json:"error"`
	L1s    []string `json:"l1s,omitempty"` // that are followed
}

// plan answers GET /api/v1/l1/<chain>/plan?days=30: which validators of a
// followed L1 to top up by how much, so that all of them stay active for so many
// days, and when the L1 loses its quorum if nobody does. It is reckoned from the
// samples that /metrics serves. The balances are as of as_of, and times count from
// there. Amounts are exact to the nAVAX, and suffice: a validator that is topped
// up as told lasts at least so many days from the answer on, at what it burns
// now; an inactive one comes back. 400 says that the days are no number from 1 to 3650, 404
// that no such L1 is followed, 503 that its validators or what they burn are not
// known at present.
func (s *Site) plan(w http.ResponseWriter, r *http.Request) {
	days := topUpDays
	if text := r.URL.Query().Get("days"); text != "" {
		var err error
		if days, err = strconv.Atoi(text); err != nil || days < 1 || days > mostDays {
			writeJSON(w, http.StatusBadRequest, refusal{Error: fmt.Sprintf("days=%s: want a whole number from 1 to %d", text, mostDays)})
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

func (s *Site) planOf(chain string, days int, now time.Time) (*planAnswer, *refusal) {
	// Of all jobs those that may tell of the chain, or of the P-Chain's time.
	jobs := slices.DeleteFunc(s.Store.Jobs(), func(j snapshot.Job) bool {
		target := j.Last.Target
		return target != chain && target != network && !strings.HasSuffix(target, "/P")
	})
	// The collectors that tell of an L1's validators and of what they burn.
	sources := func(k snapshot.Key) bool {
		return (k.Collector == "l1" || k.Collector == "l1_runway") && (k.Target == chain || k.Target == network)
	}
	unknown := func(what string) *refusal {
		return &refusal{status: http.StatusServiceUnavailable, Error: what + " not known at present: " + s.why(jobs, now, sources)}
	}
	set := factsOf(jobs, now).l1Sets(jobs, now)[chain]
	switch {
	case set == nil:
		return nil, s.noSet(chain, unknown)
	case set.missing != "":
		return nil, unknown(set.missing)
	case set.at.IsZero():
		return nil, unknown("when the balances were told is")
	}
	amounts, sum := set.topUps(days, now)
	answer := &planAnswer{Chain: chain, Days: days, AsOf: set.at.UTC(), Total: nanos(sum), Validators: []planned{}}
	for _, m := range set.members {
		if m.Legacy {
			continue
		}
		v := planned{
			NodeID: m.nodeID, ValidationID: m.ID, Active: m.Active(), Balance: nanos(m.Balance), Burn: m.Burn * day / 1e9, TopUp: nanos(amounts[m.ID]),
		}
		if left, ends := staking.Runway(m.Balance, m.Burn); ends {
			seconds := math.Floor(left.Seconds())
			v.Runway = &seconds
		}
		answer.Validators = append(answer.Validators, v)
	}
	slices.SortStableFunc(answer.Validators, func(a, b planned) int {
		return cmp.Compare(endless(a.Runway), endless(b.Runway))
	})
	for _, q := range quorums {
		loss := quorumLoss{Quorum: q.label}
		if after, lost := staking.QuorumLoss(set.validators(), q.share); lost {
			seconds := math.Floor(after.Seconds())
			loss.Seconds = &seconds
		}
		answer.QuorumLoss = append(answer.QuorumLoss, loss)
	}
	return answer, nil
}

// noSet says why nothing fresh is told of an L1.
func (s *Site) noSet(chain string, unknown func(string) *refusal) *refusal {
	jobs := s.Store.Jobs()
	var followed []string
	for l := range factsOf(jobs, time.Time{}).by("avax_l1_weight", "chain") {
		followed = append(followed, l[0])
	}
	slices.Sort(followed)
	pending := slices.ContainsFunc(jobs, func(j snapshot.Job) bool {
		return j.Last.Collector == "l1" && j.Last.Target == chain && j.Good.Collector == ""
	})
	if pending || slices.Contains(followed, chain) {
		return unknown("the validators of " + chain + " are")
	}
	if ran, of := s.Progress(); ran < of || of == 0 {
		return &refusal{status: http.StatusServiceUnavailable, Error: fmt.Sprintf("not known yet: %d of %d collectors have run", ran, of)}
	}
	return &refusal{status: http.StatusNotFound, Error: fmt.Sprintf("no L1 %q is followed", chain), L1s: followed}
}

// endless puts what never ends last.
func endless(left *float64) float64 {
	if left == nil {
		return math.Inf(1)
	}
	return *left
}

// writeJSON answers with the value, indented for those who look at it.
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
