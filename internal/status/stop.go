package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Stop is the answer whether a node can stop, as JSON. Safe is absent if it is unknown.
type Stop struct {
	Node   string     `json:"node"`
	NodeID string     `json:"node_id,omitempty"`
	Safe   *bool      `json:"safe,omitempty"`
	Reason string     `json:"reason"`
	Chains []Share    `json:"chains,omitempty"` // smallest first
	AsOf   *time.Time `json:"as_of,omitempty"`
}

// Share is the share of a chain's weight, or of the stake for P, that stays active and connected when a node stops.
type Share struct {
	Chain  string  `json:"chain"`
	Leaves float64 `json:"leaves"`
	View   string  `json:"view,omitempty"` // the node or observer that is connected to this share
}

// seen returns whose view the share is, as the end of a sentence.
func (s Share) seen() string {
	if s.View == "" {
		return ""
	}
	return ", as " + s.View + " sees it"
}

func (s Share) whole() string {
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

// CountedAsSilent returns the nodes that the last good run of safe_to_stop counted as not connected, because they did not answer.
func (st *Status) CountedAsSilent() []string { return stopRun(st.Jobs).Facts.Unreachable }

// shares returns the shares that remain when a node stops, smallest first.
func (st *Status) shares(node string) (shares []Share) {
	n := st.nodes[node]
	if n == nil {
		return nil
	}
	for _, c := range n.chains {
		if c.StopLeaves.Known {
			shares = append(shares, Share{c.Name, c.StopLeaves.V, stopRun(st.Jobs).Facts.StopViews[[2]string{node, c.Name}]})
		}
	}
	slices.SortFunc(shares, func(a, b Share) int {
		return cmp.Or(cmp.Compare(a.Leaves, b.Leaves), CompareChains(a.Chain, b.Chain))
	})
	return shares
}

// SafeToStop tells whether a node can stop: at least 80 % of the weight of each of its L1s, and of the primary network's stake, stays active and
// connected. nameOrID is the configured name or the node ID of a node, or the name of a validator.
func (st *Status) SafeToStop(p Pool, nameOrID string) (Verdict, Stop) {
	a := Stop{}
	if nameOrID == "" {
		a.Reason = "no node: write /safe-to-stop?node=NAME with a name of AVAX_NODES or a node ID"
		return Invalid, a
	}
	node, own := nameOrID, st.IsNode(nameOrID)
	if own {
		a.Node, a.NodeID = node, st.IDOf(node)
	} else {
		a.NodeID = cmp.Or(st.named(nameOrID, isNodeID), nameOrID)
		if its := st.NodeOf(a.NodeID); its != "" {
			node, own = its, true
		}
		a.Node = cmp.Or(st.NameOf(a.NodeID, ""), nameOrID)
	}
	a.Chains = st.shares(node)
	if run := stopRun(st.Jobs); st.At.Before(run.Until) {
		a.AsOf = &run.At
	}
	var against []string
	known := map[string]bool{}
	for _, s := range a.Chains {
		if known[s.Chain] = true; s.Leaves < staking.Quorum {
			against = append(against, fmt.Sprintf("%s: %s of %s would stay connected, 80 %% is needed%s", s.Chain, words.Percent(s.Leaves), s.whole(), s.seen()))
		}
	}
	var l1s []string // whose validator it is
	for _, l := range st.chains {
		safe, is := l.safe[a.NodeID]
		if !is {
			continue
		}
		l1s = append(l1s, l.Chain)
		if !known[l.Chain] && safe.Is(0) {
			against = append(against, l.Chain+": less than 80 % of weight would stay connected")
		}
	}
	var safe Value
	if n := st.nodes[node]; n != nil {
		safe = n.SafeToStop
	}
	yes, no := true, false
	switch {
	case len(against) > 0:
		a.Safe, a.Reason = &no, "no: "+strings.Join(against, "; ")
		return No, a
	case safe.Is(1):
		if missed := st.uncounted(p); missed != "" {
			a.Reason = "not known: " + missed
			break
		}
		a.Safe, a.Reason = &yes, "yes: it validates no monitored chain"
		if len(a.Chains) > 0 {
			least := a.Chains[0]
			a.Reason = fmt.Sprintf("yes: without it %s of the %s of %s would stay connected, 80 %% is needed%s",
				words.Percent(least.Leaves), least.whole(), least.Chain, least.seen())
		}
		return Yes, a
	case safe.Known: // 0, although no known share is too small
		a.Safe, a.Reason = &no, "no: "+safe.Family.Name+" is 0"
		return No, a
	case own:
		unknown := slices.DeleteFunc(append([]string{"P"}, l1s...), func(chain string) bool { return known[chain] })
		what := "whether it validates further chains"
		if len(unknown) > 0 {
			what = "how much of " + strings.Join(unknown, ", ") + " would stay connected"
		}
		a.Reason = "not known: " + what + ": " + st.why(isStop)
	case len(l1s) > 0:
		a.Reason = "not known: its L1s would stay above 80 %, but the primary network is only computed for the nodes of AVAX_NODES"
	default:
		if a.Reason = p.starting(); a.Reason != "" {
			break
		}
		a.Reason = "unknown node: the nodes are " + words.Brief(st.All)
		return NotFound, a
	}
	return Unknown, a
}

func isNodeID(id string) bool { return strings.HasPrefix(id, "NodeID-") }
