package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// setShare is the share of a chain's weight, or of the stake for P, that stays active and connected when a node stops.
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

// stopCollector is the collector that exports whether a node can be stopped.
const stopCollector = "safe_to_stop"

func isStop(k metric.Key) bool { return k.Collector == stopCollector }

// stopRun returns the last good run of this collector; empty if there is none.
func stopRun(jobs []*metric.Job) *metric.Run {
	if i := slices.IndexFunc(jobs, func(j *metric.Job) bool { return isStop(j.Last.Key) }); i >= 0 {
		return jobs[i].Good
	}
	return &metric.Run{}
}

// shares returns the shares that remain when a node stops, smallest first.
func (f *snapshot) shares(node string) (shares []setShare) {
	for l, leaves := range f.by("avax_node_stop_leaves_ratio", "node", "chain") {
		if l[0] == node {
			shares = append(shares, setShare{l[1], leaves, stopRun(f.jobs).Facts.StopViews[[2]string{node, l[1]}]})
		}
	}
	slices.SortFunc(shares, func(a, b setShare) int {
		return cmp.Or(cmp.Compare(a.Leaves, b.Leaves), compareChains(a.Chain, b.Chain))
	})
	return shares
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

// safeToStop answers GET /safe-to-stop?node=…, with the configured name or the node ID of a node, or the name of a validator. Statuses:
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
	status, answer := s.answerStop(snapshotAt(jobs, time.Now()), s.names(jobs), r.URL.Query().Get("node"))
	if status == http.StatusOK {
		if silent := s.probeSilent(r.Context(), jobs); len(silent) > 0 {
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

// missing returns the names that are not in the list.
func missing(names, list []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(list, name) })
}

// probeSilent calls the nodes now. It returns those that do not answer, although the last run counted them as connected.
func (s *Site) probeSilent(ctx context.Context, jobs []*metric.Job) []string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return missing(s.Probe(ctx), stopRun(jobs).Facts.Unreachable)
}

func (s *Site) answerStop(f *snapshot, nodes nodeNames, nameOrID string) (status int, a stopAnswer) {
	if nameOrID == "" {
		a.Reason = "no node: write /safe-to-stop?node=NAME with a name of AVAX_NODES or a node ID"
		return http.StatusBadRequest, a
	}
	node, own := nameOrID, slices.Contains(nodes.all, nameOrID)
	if own {
		a.Node, a.NodeID = node, nodes.ids[node]
	} else {
		a.NodeID = cmp.Or(nodes.idOf(nameOrID, isNodeID), nameOrID)
		if its := nodes.nodeOf(a.NodeID); its != "" {
			node, own = its, true
		}
		a.Node = cmp.Or(nodes.nameOf(a.NodeID, ""), nameOrID)
	}
	a.Chains = f.shares(node)
	if run := stopRun(f.jobs); f.now.Before(run.Until) {
		a.AsOf = &run.At
	}
	var against []string
	known := map[string]bool{}
	for _, l := range a.Chains {
		if known[l.Chain] = true; l.Leaves < staking.Quorum {
			against = append(against, fmt.Sprintf("%s: %s of %s would stay connected, 80 %% is needed%s", l.Chain, percent(l.Leaves), l.whole(), l.seen()))
		}
	}
	l1s := f.lists("node_id", "chain", anyValue, "avax_l1_safe_to_stop")[a.NodeID]
	for _, chain := range l1s {
		if !known[chain] && f.is(0, subject{{"node_id", a.NodeID}, {"chain", chain}}, "avax_l1_safe_to_stop") {
			against = append(against, chain+": less than 80 % of weight would stay connected")
		}
	}
	safe := f.value(subject{{"node", node}}, "avax_node_safe_to_stop")
	yes, no := true, false
	switch {
	case len(against) > 0:
		a.Safe, a.Reason = &no, "no: "+strings.Join(against, "; ")
		return http.StatusConflict, a
	case safe != nil && *safe == 1:
		if missed := s.uncounted(f); missed != "" {
			a.Reason = "not known: " + missed
			break
		}
		a.Safe, a.Reason = &yes, "yes: it validates no monitored chain"
		if len(a.Chains) > 0 {
			least := a.Chains[0]
			a.Reason = fmt.Sprintf("yes: without it %s of the %s of %s would stay connected, 80 %% is needed%s", percent(least.Leaves), least.whole(), least.Chain, least.seen())
		}
		return http.StatusOK, a
	case safe != nil: // 0, although no known share is too small
		a.Safe, a.Reason = &no, "no: avax_node_safe_to_stop is 0"
		return http.StatusConflict, a
	case own:
		unknown := slices.DeleteFunc(append([]string{"P"}, l1s...), func(chain string) bool { return known[chain] })
		what := "whether it validates further chains"
		if len(unknown) > 0 {
			what = "how much of " + strings.Join(unknown, ", ") + " would stay connected"
		}
		a.Reason = "not known: " + what + ": " + f.why(isStop)
	case len(l1s) > 0:
		a.Reason = "not known: its L1s would stay above 80 %, but the primary network is only computed for the nodes of AVAX_NODES"
	default:
		if a.Reason = s.starting(); a.Reason != "" {
			break
		}
		a.Reason = "unknown node: the nodes are " + brief(nodes.all)
		return http.StatusNotFound, a
	}
	return http.StatusServiceUnavailable, a
}

func isNodeID(id string) bool { return strings.HasPrefix(id, "NodeID-") }

// starting returns why nothing is known while the collectors run for the first time; empty afterwards.
func (s *Site) starting() string {
	if ran, of := s.Progress(); ran < of || of == 0 {
		return fmt.Sprintf("not known: %d of %d collectors have run", ran, of)
	}
	return ""
}

// uncounted returns why the last good run may be incomplete or outdated: the chains of a node are not known yet, the run is old or
// did not count a chain, or nodes have stopped answering that the run counted as connected. Otherwise it returns an empty string.
func (s *Site) uncounted(f *snapshot) string {
	if s.Undiscovered != nil {
		if nodes := s.Undiscovered(); len(nodes) > 0 {
			return "the chains of " + brief(nodes) + " are not known yet: retry in a few seconds"
		}
	}
	run := stopRun(f.jobs)
	oldest := run.Period * 3 / 2 // a run may take half a period
	if age := f.now.Sub(run.At); age > oldest && run.Collector != "" {
		return fmt.Sprintf("the last answer is %s old: %s", seconds(age.Seconds()), f.why(isStop))
	}
	if added := missing(s.Chains(), run.Facts.Chains); len(added) > 0 {
		return "chain " + brief(added) + " is not counted yet: retry in a few seconds"
	}
	if missed := missing(s.Unreachable(oldest), run.Facts.Unreachable); len(missed) > 0 {
		return brief(missed) + " stopped answering and still counts as connected: retry in a few seconds"
	}
	return ""
}
