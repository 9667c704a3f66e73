package status

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
)

const secondsPerDay = 24 * 60 * 60.0

// Plan is a plan of top-ups, as JSON.
type Plan struct {
	Chain string    `json:"chain"`
	Days  int       `json:"days"`
	AsOf  time.Time `json:"as_of"`
	// Validators are the validators with a fee, sorted by the end of their balances.
	Validators []Planned `json:"validators"`
	Total      Nanos     `json:"total_avax"`
	// QuorumLoss lists when the active weight falls below each quorum.
	QuorumLoss []QuorumLoss `json:"quorum_loss"`
}

// Planned is a validator and its top-up.
type Planned struct {
	Name         string   `json:"name,omitempty"` // name of the validator
	Node         string   `json:"node,omitempty"` // configured name of its node
	NodeID       string   `json:"node_id"`
	ValidationID string   `json:"validation_id"`
	Active       bool     `json:"active"`
	Balance      Nanos    `json:"balance_avax"`
	Burn         float64  `json:"burn_avax_per_day"`
	Runway       *float64 `json:"runway_seconds"` // null if the balance never runs out
	TopUp        Nanos    `json:"top_up_avax"`
}

// QuorumLoss is when the active weight falls below a quorum.
type QuorumLoss struct {
	Quorum  string   `json:"quorum"`
	Seconds *float64 `json:"seconds"` // null if the quorum is never lost
}

// Nanos is an amount in nAVAX. As JSON it is written in AVAX, with all digits.
type Nanos uint64

// MarshalJSON writes a number.
func (n Nanos) MarshalJSON() ([]byte, error) {
	text := fmt.Sprintf("%d.%09d", n/1e9, n%1e9)
	return []byte(strings.TrimSuffix(strings.TrimRight(text, "0"), ".")), nil
}

// NoPlan is why there is no plan, as JSON.
type NoPlan struct {
	Verdict Verdict  `json:"-"` // Unknown or NotFound
	Error   string   `json:"error"`
	L1s     []string `json:"l1s,omitempty"` // monitored L1s
}

// Plan returns the plan that keeps all validators of an L1 active for this number of days. Its data is the last result of the collector l1_runway,
// even if /metrics does not serve its series. AsOf is the P-Chain's time of the balances; durations start at this time. Amounts are exact to the nAVAX.
// After its top-up, a validator stays active for at least this number of days from now, at its current burn rate. An inactive validator becomes active.
func (st *Status) Plan(chain string, days int) (*Plan, *NoPlan) {
	l := st.l1ByChain[chain]
	if l == nil || !l.Priced() {
		return nil, st.noPlan(chain)
	}
	l1 := l.Set
	plan, sum := l1.TopUps(days, st.At)
	amounts := make(map[string]uint64, len(plan))
	for _, t := range plan {
		amounts[t.ID] = t.Amount
	}
	answer := &Plan{Chain: chain, Days: days, AsOf: l1.At.UTC(), Total: Nanos(sum), Validators: []Planned{}}
	for _, m := range l1.Set {
		if m.Legacy {
			continue
		}
		v := Planned{
			Name: st.NameOf(m.NodeID, m.ID), Node: st.NodeOf(m.NodeID), NodeID: m.NodeID, ValidationID: m.ID,
			Active: m.Active(), Balance: Nanos(m.Balance), Burn: m.Burn * secondsPerDay / 1e9, TopUp: Nanos(amounts[m.ID]),
		}
		if left, ends := staking.Runway(m.Balance, m.Burn); ends {
			v.Runway = new(math.Floor(left.Seconds()))
		}
		answer.Validators = append(answer.Validators, v)
	}
	slices.SortFunc(answer.Validators, func(a, b Planned) int {
		return cmp.Or(cmp.Compare(endless(a.Runway), endless(b.Runway)), cmp.Compare(a.ValidationID, b.ValidationID))
	})
	for _, q := range staking.Quorums {
		loss := QuorumLoss{Quorum: q.Label}
		if after, lost := staking.QuorumLoss(l1.Set, q.Share); lost {
			loss.Seconds = new(math.Floor(after.Seconds()))
		}
		answer.QuorumLoss = append(answer.QuorumLoss, loss)
	}
	return answer, nil
}

// noPlan returns why there is no plan for a chain.
func (st *Status) noPlan(chain string) *NoPlan {
	var monitored []string // L1s with a result
	pending := false       // true if the requested L1 has no result yet
	for _, j := range st.Jobs {
		switch {
		case j.Good.Facts.L1 != nil:
			monitored = AppendNew(monitored, j.Last.Target.Chain)
		case j.Last.Target.Chain == chain && j.Last.Collector == planCollector && j.Good.Collector == "":
			pending = true
		}
	}
	slices.Sort(monitored)
	if pending || slices.Contains(monitored, chain) {
		what := "the validators of " + chain + " are"
		if st.l1ByChain[chain] != nil && st.l1ByChain[chain].Set != nil {
			what = "the burn rate of " + chain + "'s validators is"
		}
		return &NoPlan{Verdict: Unknown, Error: what + " not known at present: " + st.why(func(k metric.Key) bool {
			return k.Collector == planCollector && k.Target.Chain == chain
		})}
	}
	if why := st.starting(); why != "" {
		return &NoPlan{Verdict: Unknown, Error: why}
	}
	return &NoPlan{Verdict: NotFound, Error: fmt.Sprintf("no L1 %q is monitored", chain), L1s: monitored}
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
