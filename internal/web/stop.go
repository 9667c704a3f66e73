package web

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// stop is the predicted effect of stopping one node, computed from the samples.
type stop struct {
	safe   *float64   // 1 if every share is known and sufficient, nil if unknown
	leaves []setShare // shares that remain, smallest first
}

// setShare is the share of a chain's weight, or of the stake for P, that stays active and connected.
type setShare struct {
	Chain  string  `json:"chain"`
	Leaves float64 `json:"leaves"`
	View   string  `json:"view,omitempty"` // the node or observer that is connected to this share
}

// seen returns whose view the share is, as the end of a sentence.
func (s setShare) seen() string {
	if s.View == "" {
		return ""
	}
	return ", as " + s.View + " sees it"
}

func (s setShare) whole() string {
	if s.Chain == "P" {
		return "stake"
	}
	return "weight"
}

// stops returns the predicted effect for each node.
func (f *facts) stops() map[string]*stop {
	all := map[string]*stop{}
	of := func(node string) *stop {
		if all[node] == nil {
			all[node] = &stop{}
		}
		return all[node]
	}
	var views map[[2]string]string
	for _, j := range f.jobs {
		if isStop(j.Last.Key) && f.now.Before(j.Good.Until) {
			views = j.Good.Facts.StopViews
		}
	}
	for l, safe := range f.by("avax_node_safe_to_stop", "node") {
		of(l[0]).safe = &safe
	}
	for l, leaves := range f.by("avax_node_stop_leaves_ratio", "node", "chain") {
		s := of(l[0])
		s.leaves = append(s.leaves, setShare{l[1], leaves, views[[2]string{l[0], l[1]}]})
	}
	for _, s := range all {
		slices.SortFunc(s.leaves, func(a, b setShare) int {
			return cmp.Or(cmp.Compare(a.Leaves, b.Leaves), compareChains(a.Chain, b.Chain))
		})
	}
	return all
}

// against returns the chains whose remaining share is too small.
func (s *stop) against() []setShare {
	return slices.DeleteFunc(slices.Clone(s.leaves), func(l setShare) bool { return l.Leaves >= staking.Quorum })
}

// reason returns why a node may not be stopped.
func (s setShare) reason() string {
	return fmt.Sprintf("%s: %s of %s would stay connected, 80 %% is needed%s", s.Chain, percent(s.Leaves), s.whole(), s.seen())
}

// stopAnswer is the JSON of safeToStop. Safe is absent if it is unknown.
type stopAnswer struct {
	Node   string     `json:"node"`
	NodeID string     `json:"node_id,omitempty"`
	Safe   *bool      `json:"safe,omitempty"`
	Reason string     `json:"reason"`
	Chains []setShare `json:"chains,omitempty"` // smallest first
	AsOf   *time.Time `json:"as_of,omitempty"`
}

// safeToStop answers GET /safe-to-stop?node=…, with the configured name or the node ID of a node. Statuses:
//
//   - 200: the node can be stopped. At least 80 % of the weight of each of its L1s, and of the primary network's stake, stays
//     active and connected.
//   - 409: the node must not be stopped, with the reason.
//   - 503: currently unknown, with the reason.
//   - 400: no node parameter.
//   - 404: unknown node.
//
// The answer is one line of text, or JSON if the request accepts application/json. docs/operating.md has a script for rolling
// upgrades that uses it.
func (s *Site) safeToStop(w http.ResponseWriter, r *http.Request) {
	jobs := s.Store.Jobs()
	status, answer := s.stopAnswer(factsAt(jobs, time.Now()), nodesOf(jobs), r.URL.Query().Get("node"))
	if status == http.StatusOK {
		if silent := s.silent(r.Context(), jobs); len(silent) > 0 {
			status, answer.Safe, answer.Reason = http.StatusServiceUnavailable, nil, "not known: "+brief(silent)+" did not answer within 2 s and counts as connected: retry in a few seconds"
		}
	}
	writeVerdict(w, r, status, answer, answer.Reason)
}

// writeVerdict writes an answer as JSON if the request accepts it, otherwise its reason as text.
func writeVerdict(w http.ResponseWriter, r *http.Request, status int, answer any, reason string) {
	w.Header().Add("Vary", "Accept")
	if strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "application/json") {
		writeJSON(w, status, answer)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, reason)
}

// silent calls the nodes now. It returns those that do not answer, although the last run counted them as connected.
func (s *Site) silent(ctx context.Context, jobs []*metric.Job) []string {
	if s.Probe == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return slices.DeleteFunc(s.Probe(ctx), func(name string) bool {
		return slices.ContainsFunc(jobs, func(j *metric.Job) bool {
			return isStop(j.Last.Key) && j.Good.Facts.Unreachable != nil && slices.Contains(*j.Good.Facts.Unreachable, name)
		})
	})
}

// stopCollector is the collector that exports whether a node can be stopped.
const stopCollector = "safe_to_stop"

func (s *Site) stopAnswer(f *facts, nodes nodeNames, nameOrID string) (status int, a stopAnswer) {
	if nameOrID == "" {
		a.Reason = "no node: write /safe-to-stop?node=NAME with a name of AVAX_NODES or a node ID"
		return http.StatusBadRequest, a
	}
	a.Node, a.NodeID = nameOrID, nodes.ids[nameOrID]
	if names := nodes.called[nameOrID]; len(names) > 0 {
		a.Node, a.NodeID = names[0], nameOrID
	}
	found := f.stops()[a.Node]
	own := slices.Contains(nodes.all, a.Node) || found != nil // true for a configured node of this shard
	if !own {
		a.NodeID = nameOrID
	}
	if found == nil {
		found = &stop{}
	}
	verdicts := map[string]float64{} // safe to stop, by L1 that the node validates
	for l, safe := range f.by("avax_l1_safe_to_stop", "node_id", "chain") {
		if l[0] == a.NodeID && a.NodeID != "" {
			verdicts[l[1]] = safe
		}
	}
	a.Chains = found.leaves
	for _, j := range f.jobs {
		if j.Last.Collector == stopCollector && f.now.Before(j.Good.Until) {
			a.AsOf = &j.Good.At
		}
	}

	var against []string
	for _, l := range found.against() {
		against = append(against, l.reason())
	}
	for _, chain := range slices.Sorted(maps.Keys(verdicts)) {
		if known := slices.ContainsFunc(found.leaves, func(l setShare) bool { return l.Chain == chain }); !known && verdicts[chain] == 0 {
			against = append(against, chain+": less than 80 % of weight would stay connected")
		}
	}
	yes, no := true, false
	switch {
	case len(against) > 0:
		a.Safe, a.Reason = &no, "no: "+strings.Join(against, "; ")
		return http.StatusConflict, a
	case found.safe != nil && *found.safe == 1:
		if missed := s.uncounted(f); missed != "" {
			a.Reason = "not known: " + missed
			break
		}
		a.Safe, a.Reason = &yes, "yes: it validates no monitored chain"
		if len(found.leaves) > 0 {
			least := found.leaves[0]
			a.Reason = fmt.Sprintf("yes: without it %s of the %s of %s would stay connected, 80 %% is needed%s", percent(least.Leaves), least.whole(), least.Chain, least.seen())
		}
		return http.StatusOK, a
	case found.safe != nil: // 0, although no known share is too small
		a.Safe, a.Reason = &no, "no: avax_node_safe_to_stop is 0"
		return http.StatusConflict, a
	case own:
		a.Reason = "not known: " + f.missingOf(a, verdicts)
	case len(verdicts) > 0:
		a.Reason = "not known: its L1s would stay above 80 %, but the primary network is only computed for the nodes of AVAX_NODES"
	default:
		if ran, of := s.Progress(); ran < of || of == 0 {
			a.Reason = fmt.Sprintf("not known: %d of %d collectors have run", ran, of)
			break
		}
		a.Reason = "unknown node: the nodes are " + brief(nodes.all)
		return http.StatusNotFound, a
	}
	return http.StatusServiceUnavailable, a
}

// uncounted returns why the last good run may be incomplete or outdated: the chains of a node are not known yet, the run is old or
// did not count a chain, or nodes have stopped answering that the run counted as connected. Otherwise it returns an empty string.
func (s *Site) uncounted(f *facts) string {
	if s.Undiscovered != nil {
		if missing := s.Undiscovered(); len(missing) > 0 {
			return "the chains of " + brief(missing) + " are not known yet: retry in a few seconds"
		}
	}
	for _, j := range f.jobs {
		if j.Last.Collector != stopCollector {
			continue
		}
		oldest := j.Good.Period * 3 / 2 // a run may take half a period
		if age := f.now.Sub(j.Good.At); age > oldest {
			return fmt.Sprintf("the last answer is %s old: %s", seconds(age.Seconds()), f.why(isStop))
		}
		if s.Chains != nil && j.Good.Facts.Chains != nil {
			if added := slices.DeleteFunc(s.Chains(), func(chain string) bool { return slices.Contains(j.Good.Facts.Chains, chain) }); len(added) > 0 {
				return "chain " + brief(added) + " is not counted yet: retry in a few seconds"
			}
		}
		if s.Unreachable == nil || j.Good.Facts.Unreachable == nil {
			continue
		}
		missed := slices.DeleteFunc(s.Unreachable(oldest), func(name string) bool { return slices.Contains(*j.Good.Facts.Unreachable, name) })
		if len(missed) > 0 {
			return brief(missed) + " stopped answering and still counts as connected: retry in a few seconds"
		}
	}
	return ""
}

func isStop(k metric.Key) bool { return k.Collector == stopCollector }

// missingOf returns which values have no valid sample, and why.
func (f *facts) missingOf(a stopAnswer, verdicts map[string]float64) string {
	chains := slices.Sorted(maps.Keys(verdicts))
	chains = slices.DeleteFunc(append([]string{"P"}, chains...), func(chain string) bool {
		return slices.ContainsFunc(a.Chains, func(l setShare) bool { return l.Chain == chain })
	})
	text := "how much of " + strings.Join(chains, ", ") + " would stay connected"
	if len(chains) == 0 {
		text = "whether it validates further chains"
	}
	return text + ": " + f.why(isStop)
}
