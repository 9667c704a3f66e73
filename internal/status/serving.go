package status

import (
	"fmt"
	"slices"
	"strings"
)

// Serving is the answer whether a node can serve clients of a chain, as JSON.
type Serving struct {
	Node        string   `json:"node"`
	Chain       string   `json:"chain"`
	Serving     bool     `json:"serving"`
	Reason      string   `json:"reason"`
	Blocks      *float64 `json:"blocks_behind,omitempty"`
	Seconds     *float64 `json:"seconds_behind,omitempty"`
	Others      int      `json:"others"`                 // nodes and observers whose heights were compared
	BlocksAhead float64  `json:"blocks_ahead,omitempty"` // of all others, of which there are at least two
	by          string   // the last one that was needed to decide
}

// servingCollectors are the collectors whose samples decide whether a node serves.
var servingCollectors = []string{"up", "bootstrap", "heads"}

// maxAhead is how many blocks a node may be ahead of all others without a remark. It may have read its height later.
const maxAhead = 20

// Serves tells whether a node can serve clients of a chain: it answers, is bootstrapped, executes what it accepts, and is at most so many blocks and
// seconds behind what most others have reached, own nodes and observers. A negative limit does not count. Without recent samples the answer is no.
func (st *Status) Serves(name, chain string, blocks, seconds float64) (Verdict, Serving) {
	a := Serving{Node: name, Chain: chain}
	if name == "" || chain == "" {
		a.Reason = "no node or no chain: write /serving?node=NAME&chain=C with a name of AVAX_NODES and a name of AVAX_CHAINS"
		return Invalid, a
	}
	if !st.IsNode(name) {
		a.Reason = "unknown node: " + st.NodeList()
		return NotFound, a
	}
	if a.Reason = st.servesNot(name, chain, blocks, seconds, &a); a.Reason != "" {
		return Unknown, a
	}
	a.Serving, a.Reason = true, "yes: "+name+" serves "+chain
	switch {
	case a.Blocks == nil:
		a.Reason += "; no other node or observer reports a height"
	case a.BlocksAhead > max(blocks, maxAhead):
		a.Reason += fmt.Sprintf(", alone: it reports a height that is %.0f blocks above that of all others", a.BlocksAhead)
	case *a.Blocks < 1:
		a.Reason += " at the best height"
	default:
		a.Reason += fmt.Sprintf(", %.0f blocks behind", *a.Blocks)
	}
	if a.Others == 1 {
		a.Reason += "; compared with " + a.by + " alone"
	}
	return Yes, a
}

// servesNot returns why a node cannot serve; empty if it can.
func (st *Status) servesNot(name, chain string, blocks, seconds float64, a *Serving) string {
	n, c := st.Node(name), st.Node(name).chains[chain]
	for _, j := range st.Jobs {
		its := j.Last.Target.Node == name && (j.Last.Target.Chain == "" || j.Last.Target.Chain == chain) && slices.Contains(servingCollectors, j.Last.Collector)
		if its && j.Last.Err != nil {
			text, _, _ := strings.Cut(j.Last.Err.Error(), "\n")
			return "no: collector " + j.Last.Collector + " fails: " + text
		}
	}
	switch {
	case n.Down():
		return "no: the node does not answer"
	case !n.Up.Recent(st.At):
		return "no: no recent answer of the node"
	case c == nil || !c.Bootstrapped.Known && !c.Height.Known:
		return "no: nothing is known about " + chain + " on the node: check AVAX_CHAINS"
	case c.StartFailed.Is(1):
		return "no: " + chain + " did not start"
	case !c.Bootstrapped.Recent(st.At):
		return "no: not known recently whether " + chain + " is bootstrapped"
	case c.Bootstrapped.V == 0:
		return "no: " + chain + " is bootstrapping"
	case !c.Height.Recent(st.At):
		return "no: the height of " + chain + " is not recent"
	case c.Forked.Is(1):
		return "no: " + chain + " has another block than other nodes"
	}
	wrong := ""
	st.samples.each(rpcFailure, func(s sample) {
		if s.labels[0] == name && s.labels[1] == chain && s.labels[3] == "wrong" && s.Recent(st.At) {
			wrong = s.labels[2]
		}
	})
	if wrong != "" {
		return "no: most nodes give another answer to the RPC check " + wrong
	}
	// Blocks that came between two reads do not count. No chain has more than one block per second for long.
	if c.Accepted.Known {
		later := max(0, c.Accepted.At.Sub(c.Height.At).Seconds())
		if waits := c.Accepted.V - c.Height.V - later; waits > max(blocks, 20) {
			return fmt.Sprintf("no: the node has accepted %.0f blocks that it has not executed", c.Accepted.V-c.Height.V)
		}
	}
	lag := st.lagOf(n, chain)
	if lag.others == 0 {
		return ""
	}
	a.Blocks, a.Seconds, a.Others, a.BlocksAhead = &lag.blocks, &lag.seconds, lag.others, lag.ahead
	a.by = lag.by
	alone := ""
	if lag.others == 1 {
		alone = ", which is the only other report"
	}
	if blocks >= 0 && lag.blocks > blocks {
		return fmt.Sprintf("no: %.0f blocks behind %s%s, %.0f allowed", lag.blocks, lag.by, alone, blocks)
	}
	if seconds >= 0 && lag.seconds > seconds {
		return fmt.Sprintf("no: %.0f s behind others%s, %.0f allowed", lag.seconds, alone, seconds)
	}
	return ""
}

// behind returns by how many blocks and seconds a node is behind another one. If the other height was read later, the blocks of the time between do not
// count: their number is estimated from the times of the blocks.
func behind(c, o *NodeChain) (blocks, seconds float64) {
	blocks = max(0, o.Height.V-c.Height.V)
	later := max(0, o.Height.At.Sub(c.Height.At).Seconds())
	if !c.Head.Known || !o.Head.Known || o.Head.V <= c.Head.V {
		if later > 0 {
			return 0, 0
		}
		return blocks, 0
	}
	apart := o.Head.V - c.Head.V
	seconds = max(0, apart-later)
	return blocks * seconds / apart, seconds
}
