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

// Stop is the answer whether a node can stop, as JSON.
type Stop struct {
	Node   string `json:"node"`
	NodeID string `json:"node_id,omitempty"`
	Answer
	Chains []Share    `json:"chains,omitempty"` // smallest first
	AsOf   *time.Time `json:"as_of,omitempty"`
}

// Share is the share of a chain's weight, or of the stake for P, that stays active and connected when a node stops.
type Share struct {
	Chain  string  `json:"chain"`
	Leaves float64 `json:"leaves"`         // the share that stays connected
	View   string  `json:"view,omitempty"` // the node or observer that is connected to this share
}

// asSeenBy returns whose view the share is, as the end of a sentence.
func (s Share) asSeenBy() string {
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

// StopCollector is the collector that counts what stays connected when a node stops.
const StopCollector = "safe_to_stop"

func isStop(k metric.Key) bool { return k.Collector == StopCollector }

// safeToStopRun returns the last good run of this collector; empty if there is none.
func safeToStopRun(jobs []*metric.Job) *metric.Run {
	if i := slices.IndexFunc(jobs, func(j *metric.Job) bool { return isStop(j.Last.Key) }); i >= 0 {
		return jobs[i].Good
	}
	return &metric.Run{}
}

// validatorSets returns the validator sets of the last good run; without sets if it has expired.
func (st *Status) validatorSets() *staking.ValidatorSets {
	if run := st.safeToStopRun; run.Facts.ValidatorSets != nil && st.At.Before(run.Until) {
		return run.Facts.ValidatorSets
	}
	return &staking.ValidatorSets{}
}

// shares returns the shares that remain when nodes stop, smallest first, and the chains of which this is not known. A validator whose balance ends
// within staking.StopAhead does not count.
func (st *Status) shares(facts *staking.ValidatorSets, ids ...string) (shares []Share, unknown []string) {
	for _, set := range facts.Sets {
		if set.Members != nil && !slices.ContainsFunc(ids, func(id string) bool { return set.Members[id] }) {
			continue
		}
		left, by := set.After(ids, facts.Isolated, st.At.Add(staking.StopAhead))
		if set.Members == nil || by == "" {
			unknown = append(unknown, set.Chain)
			continue
		}
		shares = append(shares, Share{set.Chain, left, by})
	}
	slices.SortFunc(shares, func(a, b Share) int {
		return cmp.Or(cmp.Compare(a.Leaves, b.Leaves), CompareChains(a.Chain, b.Chain))
	})
	return shares, unknown
}

// tooSmall returns the shares that are too small.
func tooSmall(shares []Share) (texts []string) {
	for _, s := range shares {
		if s.Leaves < staking.Quorum {
			texts = append(texts, fmt.Sprintf("%s: %s of %s would stay connected, 80 %% is needed%s", s.Chain, words.Percent(s.Leaves), s.whole(), s.asSeenBy()))
		}
	}
	return texts
}

// hung returns the other nodes on which a chain that the node validates hangs, as sentences: such a chain has less in reserve than its weight says.
func (st *Status) hung(facts *staking.ValidatorSets, id string) (texts []string) {
	sets, _ := facts.Of(id)
	for _, set := range sets {
		for other := range set.Hung {
			if name := st.NameOf(other, ""); other != id && name != "" {
				texts = append(texts, fmt.Sprintf("%s: it does not answer on %s, which slows the chain more than a stopped node: restart or stop %[2]s first",
					set.Chain, name))
			}
		}
	}
	slices.Sort(texts)
	return texts
}

// SafeToStop tells whether a node can stop: at least 80 % of the weight of each of its L1s, and of the primary network's stake, stays active and
// connected, no other node that restarted is still away, and no chain of the node hangs on another one. nameOrID is the
// configured name or the node ID of a node, or the name of a validator.
// The endpoint, the command, the pages and avax_node_safe_to_stop give this answer.
func (st *Status) SafeToStop(nameOrID string) (Verdict, Stop) {
	return st.safeToStop(nameOrID, true)
}

// safeToStop is SafeToStop. If requireOthersBack is false, other nodes that are away do not forbid the stop.
func (st *Status) safeToStop(nameOrID string, requireOthersBack bool) (Verdict, Stop) {
	a := Stop{}
	if nameOrID == "" {
		a.Reason = "no node: write /safe-to-stop?node=NAME with a name of AVAX_NODES or a node ID"
		return Invalid, a
	}
	node, own := st.resolve(nameOrID, &a)
	if run := st.safeToStopRun; st.At.Before(run.Until) {
		a.AsOf = &run.At
	}
	facts := st.validatorSets()
	id, counted := facts.Nodes[node]
	if !own && !counted {
		return st.safeToStopOther(a)
	}
	var unknown []string
	if counted {
		a.Chains, unknown = st.shares(facts, id)
	} else {
		unknown = []string{"P"}
	}
	reasons := tooSmall(a.Chains)
	if requireOthersBack {
		reasons = append(append(reasons, st.hung(facts, id)...), st.restarts.away(st, node)...)
	}
	verdict := a.decide(reasons, st.notCounted(unknown),
		func() string { return cmp.Or(st.uncounted(), facts.Uncounted[node]) },
		func() string { return whatStays(a.Chains) + st.newerProtocol(node) + st.onWordOf() })
	return verdict, a
}

// notCounted returns that the shares of these sets are not known.
func (st *Status) notCounted(sets []string) []string {
	if len(sets) == 0 {
		return nil
	}
	return []string{"how much of " + strings.Join(sets, ", ") + " would stay connected: " + st.why(isStop)}
}

// resolve sets the name and the ID of the node, and returns the name that collectors use and whether the node is configured.
func (st *Status) resolve(nameOrID string, a *Stop) (node string, own bool) {
	if st.IsNode(nameOrID) {
		a.Node, a.NodeID = nameOrID, st.IDOf(nameOrID)
		return nameOrID, true
	}
	a.NodeID = cmp.Or(st.named(nameOrID, isNodeID), nameOrID)
	a.Node = cmp.Or(st.NameOf(a.NodeID, ""), nameOrID)
	if its := st.NodeOf(a.NodeID); its != "" {
		return its, true
	}
	return nameOrID, false
}

// whatStays is the reason of a yes, with the smallest of the shares, which are sorted.
func whatStays(shares []Share) string {
	if len(shares) == 0 {
		return "it validates no monitored chain"
	}
	least := shares[0]
	text := fmt.Sprintf("without it %s of the %s of %s would stay connected, 80 %% is needed%s",
		words.Percent(least.Leaves), least.whole(), least.Chain, least.asSeenBy())
	if !slices.ContainsFunc(shares, func(s Share) bool { return s.Chain == "P" }) {
		text += "; it does not validate P: its stop changes nothing there"
	}
	return text
}

// newerProtocol returns that another node runs a newer RPC protocol than this one, which has plugins: after an upgrade to that release, they do not start
// until they are upgraded, too. It is the end of a sentence; empty if there is no such node.
func (st *Status) newerProtocol(node string) string {
	n := st.Node(node)
	var plugins []string
	for _, c := range n.Chains {
		if !slices.Contains([]string{"P", "X", "C"}, c.Name) && c.Bootstrapped.Known {
			plugins = append(plugins, c.Name)
		}
	}
	if len(plugins) == 0 || n.protocol == 0 {
		return ""
	}
	newest := n
	for _, name := range st.NodeNames {
		if o := st.Node(name); o.protocol > newest.protocol {
			newest = o
		}
	}
	if newest == n {
		return ""
	}
	return fmt.Sprintf("; %s runs RPC protocol %d, %s %d: before an upgrade to the release of %[1]s, install plugins with protocol %[2]d for %[5]s",
		newest.Name, newest.protocol, node, n.protocol, words.Brief(plugins))
}

// safeToStopOther answers about a node that is not configured. At most the L1s that it validates are known.
func (st *Status) safeToStopOther(a Stop) (Verdict, Stop) {
	reasons, is := st.tooSmallOther(a.NodeID, "")
	switch {
	case len(reasons) > 0:
		a.Set(No, "no: "+strings.Join(reasons, "; "))
		return No, a
	case is:
		a.Reason = "not known: its L1s would stay above 80 %, but the primary network is only computed for the nodes of AVAX_NODES"
		return Unknown, a
	}
	if a.Reason = st.starting(); a.Reason != "" {
		return Unknown, a
	}
	a.Reason = "unknown node: " + st.NodeList()
	return NotFound, a
}

// tooSmallOther returns the L1s except one of which too little stays when a node stops that is not configured, and whether it validates any.
func (st *Status) tooSmallOther(nodeID, except string) (texts []string, is bool) {
	for _, l := range st.allL1s {
		if safe, validates := l.safe[nodeID]; validates && l.Chain != except {
			if is = true; safe.Is(0) {
				texts = append(texts, l.Chain+": less than 80 % of weight would stay connected")
			}
		}
	}
	return texts, is
}

func isNodeID(id string) bool { return strings.HasPrefix(id, "NodeID-") }

var safeToStopFamily = read("avax_node_safe_to_stop", "node")
