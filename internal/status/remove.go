package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Removal is the answer whether a validator can be removed, as JSON. A value is absent if it is unknown.
type Removal struct {
	Name         string `json:"name,omitempty"` // name of the validator
	ValidationID string `json:"validation_id,omitempty"`
	Chain        string `json:"chain,omitempty"`
	NodeID       string `json:"node_id,omitempty"`
	Answer
	// LeavesRemoved and LeavesWithoutBalance are the shares of the weight that stay active and connected if the validator is removed, and if its balance
	// runs out. An inactive validator keeps its weight.
	LeavesRemoved        *float64 `json:"leaves_removed,omitempty"`
	LeavesWithoutBalance *float64 `json:"leaves_without_balance,omitempty"`
	// Proposers is the number of other validators that can build the next block.
	Proposers *float64 `json:"proposers_left,omitempty"`
}

// SafeToRemove tells whether a validator can be removed and its node be stopped: at least 80 % of the remaining weight is active and connected,
// another validator of the recorded view can build the next block, and SafeToStop has nothing against the stop but the chain of this validator.
// nameOrID is the validation ID or the name of a validator.
func (st *Status) SafeToRemove(nameOrID string) (Verdict, Removal) {
	a := Removal{}
	if nameOrID == "" {
		a.Reason = "no validation: write /safe-to-remove?validation=ID with the validation ID of an L1 validator"
		return Invalid, a
	}
	a.ValidationID = cmp.Or(st.named(nameOrID, func(id string) bool { return !isNodeID(id) }), nameOrID)
	v := st.validation(a.ValidationID)
	if v == nil {
		switch called := st.validationsOf(nameOrID); {
		case len(called) == 1:
			v = called[0]
			a.ValidationID = v.ValidationID
		case len(called) > 1:
			var ids []string
			for _, one := range called {
				ids = append(ids, one.ValidationID+" ("+one.Chain+")")
			}
			a.ValidationID, a.Name = "", nameOrID
			a.Reason = nameOrID + " has several validations: write the validation ID of one: " + strings.Join(ids, ", ")
			return NotFound, a
		}
	}
	if v != nil {
		a.Chain, a.NodeID = v.Chain, v.NodeID
	}
	a.Name = st.NameOf(a.NodeID, a.ValidationID)
	if v == nil {
		if a.Reason = st.starting(); a.Reason != "" {
			return Unknown, a
		}
		a.Reason = "unknown validation: no monitored chain has it: " + l1ValidatorInfo.Name + " lists the validation IDs"
		return NotFound, a
	}
	against, unknown := st.removal(v, &a)
	forbids, unclear := st.stopElsewhere(v)
	against, unknown = append(against, forbids...), append(unknown, unclear...)
	verdict := a.decide(against, unknown, st.uncounted, func() string {
		instead := ""
		if a.LeavesWithoutBalance != nil {
			instead = "; if its balance runs out instead, " + words.Percent(*a.LeavesWithoutBalance)
		}
		return fmt.Sprintf("without %s %s of the remaining weight of %s is connected, 80 %% is needed%s; "+
			"validators that can build the next block without it: %.0f%s",
			cmp.Or(a.Name, "it"), words.Percent(*a.LeavesRemoved), a.Chain, instead, *a.Proposers, st.onWordOf())
	})
	return verdict, a
}

// stopElsewhere returns what forbids the stop of the validator's node on other chains than the one that the validator leaves, and what is not known.
// A node that does not answer already counts as stopped. Of a node that is not configured, at most its L1s are known.
func (st *Status) stopElsewhere(v *L1Validator) (against, unknown []string) {
	node, facts := st.NodeOf(v.NodeID), st.validatorSets()
	id, counted := facts.Nodes[node]
	switch {
	case node == "":
		against, _ = st.tooSmallOther(v.NodeID, v.Chain)
	case st.Node(node).Down():
		return nil, nil
	case !counted:
		return nil, st.notCounted([]string{"P"})
	default:
		shares, unclear := st.shares(facts, id)
		against = tooSmall(slices.DeleteFunc(shares, func(s Share) bool { return s.Chain == v.Chain }))
		against = append(append(against, st.hung(facts, id)...), st.restarts.away(st, node)...)
		unknown = st.notCounted(Missing(unclear, []string{v.Chain}))
		if missed := facts.Uncounted[node]; missed != "" {
			unknown = append(unknown, missed)
		}
	}
	for i := range against {
		against[i] = "its node must not stop: " + against[i]
	}
	return against, unknown
}

// leftWithout returns the share of the weight of a validator's chain that stays active and connected without it, and without validators whose balance ends
// within staking.StopAhead. All of it comes from one run, in which a node that has stopped counts once.
func (st *Status) leftWithout(v *L1Validator) (share float64, known bool) {
	for _, set := range st.validatorSets().Sets {
		if left, known := set.Left[v.NodeID]; known && set.Chain == v.Chain && st.l1ByChain[v.Chain].Weight.Known {
			ending := float64(set.Ending(v.NodeID, st.At.Add(staking.StopAhead)))
			return max(left-ending/st.l1ByChain[v.Chain].Weight.V, 0), true
		}
	}
	return 0, false
}

// validationsOf returns the validations of the validators with this name or node ID, by chain.
func (st *Status) validationsOf(nameOrID string) (found []*L1Validator) {
	for _, l := range st.allL1s {
		for _, v := range l.Validators {
			if v.NodeID == nameOrID || st.NameOf(v.NodeID, v.ValidationID) == nameOrID {
				found = append(found, v)
			}
		}
	}
	return found
}

var l1ValidatorInfo = read("avax_l1_validator_info", "validation_id")

// removal sets the values of the answer. It returns what speaks against the removal, and what is not known.
func (st *Status) removal(v *L1Validator, a *Removal) (against, unknown []string) {
	l := st.l1ByChain[v.Chain]
	of := func(collector string) func(metric.Key) bool {
		return func(k metric.Key) bool {
			return k.Collector == collector && (k.Target.Chain == a.Chain || k.Target.Chain == "")
		}
	}
	if left, known := st.leftWithout(v); !known {
		unknown = append(unknown, "how much weight would stay connected: "+st.why(isStop))
	} else {
		removed := 0.0
		if rest := l.Weight.V - v.Weight.V; rest > 0 {
			removed = min(left*l.Weight.V/rest, 1)
		}
		if a.LeavesRemoved = &removed; !v.End.Known { // a validator of a permissioned subnet has no balance
			a.LeavesWithoutBalance = &left
		}
		if removed < staking.Quorum {
			against = append(against, fmt.Sprintf("%s: %s of the remaining weight would be connected, 80 %% is needed", a.Chain, words.Percent(removed)))
		}
	}
	if !l.ProposersLeft.Known {
		return against, append(unknown, "who can build the next block: "+st.why(of("l1_proposers")))
	}
	others := l.ProposersLeft.V
	if v.CanBuild.Is(1) {
		others--
	}
	a.Proposers = &others
	if others <= 0 {
		against = append(against, "no other validator of "+a.Chain+
			" can build the next block: before its node stops, send a transaction that is accepted after the change")
	}
	return against, unknown
}
