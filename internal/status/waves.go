package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Waves is the answer which nodes may stop together, as JSON.
type Waves struct {
	Reason string   `json:"reason"`
	Waves  []Wave   `json:"waves"`
	Cannot []Cannot `json:"cannot,omitempty"`
}

// Wave is a group of nodes that may stop together, with the shares that stay, smallest first.
type Wave struct {
	Nodes  []string `json:"nodes"`
	Chains []Share  `json:"chains,omitempty"`
}

// Cannot is a node that cannot stop now.
type Cannot struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// Text returns the answer as lines. The first begins with yes, no or not known.
func (w Waves) Text() string {
	lines := []string{w.Reason}
	for i, wave := range w.Waves {
		var leaves []string
		for _, s := range wave.Chains {
			leaves = append(leaves, s.Chain+" "+words.Percent(s.Leaves))
		}
		line := fmt.Sprintf("%d: %s", i+1, strings.Join(wave.Nodes, " "))
		if len(leaves) > 0 {
			line += " (leaves " + strings.Join(leaves, ", ") + ")"
		}
		lines = append(lines, line)
	}
	for _, c := range w.Cannot {
		lines = append(lines, "cannot stop: "+c.Node+": "+c.Reason)
	}
	return strings.Join(lines, "\n")
}

// Waves splits nodes into as few groups as possible that may stop together, if all nodes of a group are back before the next one stops. Without
// names, it is about all nodes.
func (st *Status) Waves(names []string) (Verdict, Waves) {
	facts := st.validatorSets()
	a := Waves{Waves: []Wave{}}
	if len(names) == 0 {
		names = st.NodeNames
	}
	if len(st.NodeNames) == 0 && len(names) == 0 {
		a.Reason = "not known: " + nodes.NoNode
		return Unknown, a
	}
	if len(facts.Nodes) == 0 {
		a.Reason = cmp.Or(st.starting(), "not known: "+st.why(isStop))
		return Unknown, a
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	var together, ids []string
	verdict := Yes
	for _, name := range names {
		if !st.IsNode(name) {
			a.Reason = "unknown node: " + st.NodeList()
			return NotFound, a
		}
		its, stop := st.safeToStop(name, false)
		if its != Yes {
			if verdict == Yes || its == No {
				verdict = its
			}
			_, reason, _ := strings.Cut(stop.Reason, ": ")
			a.Cannot = append(a.Cannot, Cannot{name, reason})
			continue
		}
		together, ids = append(together, name), append(ids, facts.Nodes[name])
	}
	at := st.At.Add(staking.StopAhead)
	sizes, room := facts.Rooms(ids, at)
	var fit, alone [][]int
	for i, size := range sizes {
		fits := true
		for d := range size {
			fits = fits && size[d] <= room[d]
		}
		if fits {
			fit = append(fit, []int{i})
		} else { // only its own view forbids the stop
			alone = append(alone, []int{i})
		}
	}
	few := make([][]uint64, len(fit))
	for k, i := range fit {
		few[k] = sizes[i[0]]
	}
	for _, group := range staking.Waves(few, room) {
		for k := range group {
			group[k] = fit[group[k]][0]
		}
		alone = append(alone, group)
	}
	for _, group := range alone {
		w := Wave{}
		var members []string
		for _, i := range group {
			w.Nodes, members = append(w.Nodes, together[i]), append(members, ids[i])
		}
		slices.Sort(w.Nodes)
		w.Chains, _ = st.shares(facts, members...)
		a.Waves = append(a.Waves, w)
	}
	slices.SortFunc(a.Waves, func(a, b Wave) int {
		return cmp.Or(cmp.Compare(len(b.Nodes), len(a.Nodes)), cmp.Compare(a.Nodes[0], b.Nodes[0]))
	})
	var texts []string
	away, cannot := st.restarts.away(st, "", names...), words.Plural(len(a.Cannot), "node", "nodes")
	switch {
	case len(away) > 0:
		verdict, texts = No, away
	case verdict == No:
		texts = []string{cannot + " cannot stop"}
	case verdict == Unknown:
		texts = []string{"whether " + cannot + " may stop"}
	}
	if len(together) > 0 {
		groups := fmt.Sprintf("%s may stop in %s, if the nodes of a group are back before the next group stops",
			words.Plural(len(together), "node", "nodes"), words.Plural(len(a.Waves), "group", "groups"))
		if len(away) > 0 {
			groups = "then " + groups
		}
		texts = append(texts, groups)
	}
	a.Reason = map[Verdict]string{Yes: "yes: ", No: "no: ", Unknown: "not known: "}[verdict] + strings.Join(texts, "; ")
	if verdict == Yes {
		a.Reason += st.onWordOf()
	}
	return verdict, a
}
