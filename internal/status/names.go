package status

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Names are the identities of the configured nodes, and the names and labels that the user gave to nodes and validators. An identity
// from an earlier run stays valid while the node is down.
type Names struct {
	NodeNames []string                     // configured names of nodes, sorted
	ids       map[string]string            // node IDs by configured names
	called    map[string][]string          // configured names by node ID, nodes that answer first; two names may have the same ID
	up        map[string]float64           // the last probe, by configured name
	given     map[string]map[string]string // labels that the user gave, by name of the node, or by node ID or validation ID of the validator
}

var everInfo = read("avax_node_info", "node", "node_id")

// NamesOf returns the names of nodes and validators, also of configured nodes of which nothing is known yet.
func NamesOf(jobs []*metric.Job, pool Pool) Names {
	ever := samplesAt(jobs, time.Time{}, nodeUp, everInfo)
	n := Names{NodeNames: slices.Clone(once(pool.Nodes)()), ids: map[string]string{}, called: map[string][]string{}, up: map[string]float64{}}
	if pool.Labels != nil {
		n.given = pool.Labels()
	}
	ever.each(nodeUp, func(s sample) {
		n.NodeNames = append(n.NodeNames, s.labels[0])
		n.up[s.labels[0]] = s.V
	})
	slices.Sort(n.NodeNames)
	n.NodeNames = slices.Compact(n.NodeNames)
	ever.each(everInfo, func(s sample) {
		node, id := s.labels[0], s.labels[1]
		n.ids[node] = id
		n.called[id] = AppendNew(n.called[id], node)
	})
	for _, names := range n.called { // a node ID that has moved to another node is that of the node that answers
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(n.up[b], n.up[a]), strings.Compare(a, b))
		})
	}
	return n
}

// NodeList returns which nodes there are, for an answer about an unknown name.
func (n Names) NodeList() string {
	if len(n.NodeNames) == 0 {
		return nodes.NoNode
	}
	return "the nodes are " + words.Brief(n.NodeNames)
}

// IsNode reports whether this is the name of a configured node.
func (n Names) IsNode(name string) bool {
	_, found := slices.BinarySearch(n.NodeNames, name)
	return found
}

// IDOf returns the node ID of a configured node; empty if it is not known.
func (n Names) IDOf(node string) string { return n.ids[node] }

// NodeOf returns the configured name of a node ID, or an empty string. Of two nodes with this ID, it is the one that answers.
func (n Names) NodeOf(id string) string {
	if names := n.called[id]; len(names) > 0 {
		return names[0]
	}
	return ""
}

// AlsoOf returns the nodes except these that report a node ID and answer. Then nobody knows whose it is.
func (n Names) AlsoOf(id string, except ...string) []string {
	return slices.DeleteFunc(slices.Clone(n.called[id]), func(name string) bool { return n.up[name] == 0 || slices.Contains(except, name) })
}

// NameOf returns the name of a validator with this node ID and, on an L1, this validation ID: the name of the validation, else of the
// configured node, else of the node ID. Without a name it returns an empty string.
func (n Names) NameOf(nodeID, validationID string) string {
	return cmp.Or(n.given[validationID]["name"], n.NodeOf(nodeID), n.given[nodeID]["name"])
}

// named returns the node ID or validation ID with this prefix to which the user gave this name; empty if there is none.
func (n Names) named(name string, is func(id string) bool) (found string) {
	for id, given := range n.given {
		if given["name"] == name && is(id) && (found == "" || id < found) {
			found = id
		}
	}
	return found
}

// IDsOf returns the node ID, or else the validation ID, that a word is, or that has this name; both are empty if nothing is known about it.
func (st *Status) IDsOf(word string) (nodeID, validationID string) {
	for _, id := range []string{word, st.named(word, isNodeID)} {
		if id != "" && (st.validators[id] != nil || st.NodeOf(id) != "" || st.given[id] != nil && isNodeID(id)) {
			return id, ""
		}
	}
	for _, id := range []string{word, st.named(word, func(id string) bool { return !isNodeID(id) })} {
		if id != "" && st.validation(id) != nil {
			return "", id
		}
	}
	for _, l := range st.allL1s {
		for _, v := range l.Validators {
			if v.NodeID == word {
				return word, ""
			}
		}
	}
	return "", ""
}

// ChainNames returns the names of the chains that nodes report, and of the monitored ones.
func (st *Status) ChainNames() (names []string) {
	for _, n := range st.nodeByName {
		for name := range n.chains {
			names = AppendNew(names, name)
		}
	}
	return names
}

// LabelsOf returns the labels of a node or validator, as name=value, sorted. The labels of a node are also those of its validator, and the
// reverse.
func (n Names) LabelsOf(node, nodeID, validationID string) (labels []string) {
	for _, given := range []map[string]string{n.given[node], n.given[nodeID], n.given[validationID]} {
		for name, value := range given {
			labels = AppendNew(labels, name+"="+value)
		}
	}
	slices.Sort(labels)
	return labels
}

// IsLabel reports whether the user gave a label with this name.
func (n Names) IsLabel(name string) bool {
	for _, given := range n.given {
		if _, is := given[name]; is {
			return true
		}
	}
	return false
}

// AppendNew appends the item unless the list has it.
func AppendNew(list []string, items ...string) []string {
	for _, item := range items {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}

// L1Names returns the chains of the monitored L1s whose weight is known, sorted.
func L1Names(jobs []*metric.Job, now time.Time) (names []string) {
	samplesAt(jobs, now, l1Fields[0].family).each(l1Fields[0].family, func(s sample) { names = append(names, s.labels[0]) })
	slices.Sort(names)
	return slices.Compact(names)
}
