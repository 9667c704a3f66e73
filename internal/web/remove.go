package web

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// removeAnswer is the JSON of safeToRemove. A value is absent if it is unknown.
type removeAnswer struct {
	Name         string `json:"name,omitempty"` // name of the validator
	ValidationID string `json:"validation_id,omitempty"`
	Chain        string `json:"chain,omitempty"`
	NodeID       string `json:"node_id,omitempty"`
	Safe         *bool  `json:"safe,omitempty"`
	Reason       string `json:"reason"`
	// Removed and Dry are the shares of the weight that stay active and connected if the validator is removed, and if its balance
	// runs out. An inactive validator keeps its weight.
	Removed *float64 `json:"leaves_removed,omitempty"`
	Dry     *float64 `json:"leaves_dry,omitempty"`
	// Proposers is the number of other validators that can build the next block.
	Proposers *float64 `json:"proposers_left,omitempty"`
}

// safeToRemove answers GET /safe-to-remove?validation=…, with the validation ID or the name of a validator of a monitored L1 or permissioned
// subnet. Statuses:
//
//   - 200: the validator can be removed and its node stopped. At least 80 % of the remaining weight is active and connected, and
//     another validator of the recorded view can build the next block.
//   - 409: it must not be removed, with the reason.
//   - 503: currently unknown, with the reason.
//   - 400: no validation parameter.
//   - 404: unknown validation ID.
//
// The answer is one line of text, or JSON if the request accepts application/json. It also tells what happens if the balance of the
// validator runs out.
func (s *Site) safeToRemove(w http.ResponseWriter, r *http.Request) {
	jobs := s.Store.Jobs()
	status, answer := s.answerRemove(snapshotAt(jobs, time.Now()), s.names(jobs), r.URL.Query().Get("validation"))
	writeVerdict(w, r, status, answer, answer.Reason)
}

func (s *Site) answerRemove(f *snapshot, names nodeNames, nameOrID string) (status int, a removeAnswer) {
	if nameOrID == "" {
		a.Reason = "no validation: write /safe-to-remove?validation=ID with the validation ID of an L1 validator"
		return http.StatusBadRequest, a
	}
	id := cmp.Or(names.idOf(nameOrID, func(id string) bool { return !isNodeID(id) }), nameOrID)
	a.ValidationID = id
	var weight float64
	for l, value := range f.by("avax_l1_validator_weight", "validation_id", "chain", "node_id") {
		if l[0] == id {
			a.Chain, a.NodeID, weight = l[1], l[2], value
		}
	}
	a.Name = names.nameOf(a.NodeID, id)
	if a.Chain == "" {
		if a.Reason = s.starting(); a.Reason != "" {
			return http.StatusServiceUnavailable, a
		}
		a.Reason = "unknown validation: no monitored chain has it: avax_l1_validator_info lists the validation IDs"
		return http.StatusNotFound, a
	}
	of := func(collector string) func(metric.Key) bool {
		return func(k metric.Key) bool {
			return k.Collector == collector && (k.Target.Chain == a.Chain || k.Target.Chain == "")
		}
	}
	on := subject{{"chain", a.Chain}}
	var against, unknown []string
	total, connected := f.value(on, "avax_l1_weight"), f.connectedWeights().of(a.Chain)
	switch safe := f.value(subject{{"chain", a.Chain}, {"node_id", a.NodeID}}, "avax_l1_safe_to_stop"); {
	case total == nil || connected == nil || *total == 0:
		unknown = append(unknown, "how much weight is connected: "+f.why(of("l1_views")))
	case safe == nil:
		unknown = append(unknown, "how much weight would stay connected: "+f.why(isStop))
	default:
		up := *connected
		const reports = "avax_l1_validator_connected"
		unseen := f.lists("validation_id", "node", anyValue, reports)[id] != nil && f.lists("validation_id", "node", isOne, reports)[id] == nil // a node does not report itself
		if f.is(1, subject{{"validation_id", id}}, "avax_l1_validator_active") && !unseen {
			up = max(up-weight, 0)
		}
		dry, removed := up / *total, 0.0
		if rest := *total - weight; rest > 0 {
			removed = min(up/rest, 1)
		}
		a.Dry, a.Removed = &dry, &removed
		if removed < staking.Quorum {
			against = append(against, fmt.Sprintf("%s: %s of the remaining weight would be connected, 80 %% is needed", a.Chain, percent(removed)))
		}
	}
	switch left := f.value(on, "avax_l1_proposers_left"); {
	case left == nil:
		unknown = append(unknown, "who can build the next block: "+f.why(of("l1_proposers")))
	default:
		others := *left
		if f.is(1, subject{{"chain", a.Chain}, {"node_id", a.NodeID}}, "avax_l1_proposer_can_build") {
			others--
		}
		a.Proposers = &others
		if others <= 0 {
			against = append(against, "no other validator of "+a.Chain+" can build the next block: before its node stops, send a transaction that is accepted after the change")
		}
	}
	if len(against) == 0 && len(unknown) == 0 {
		if missed := s.uncounted(f); missed != "" {
			unknown = append(unknown, missed)
		}
	}
	safe := len(against) == 0
	switch {
	case !safe:
		a.Safe, a.Reason = &safe, "no: "+strings.Join(against, "; ")
		return http.StatusConflict, a
	case len(unknown) > 0:
		a.Reason = "not known: " + strings.Join(unknown, "; ")
		return http.StatusServiceUnavailable, a
	}
	a.Safe = &safe
	a.Reason = fmt.Sprintf("yes: without %s %s of the remaining weight of %s is connected, 80 %% is needed; if its balance runs out instead, %s; validators that can build the next block without it: %.0f",
		cmp.Or(a.Name, "it"), percent(*a.Removed), a.Chain, percent(*a.Dry), *a.Proposers)
	return http.StatusOK, a
}
