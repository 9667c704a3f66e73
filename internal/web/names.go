package web

import (
	"cmp"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// nodeNames are the identities of the configured nodes, and the names and labels that the user gave to nodes and validators. An identity
// from an earlier run stays valid while the node is down.
type nodeNames struct {
	all    []string                     // configured names
	ids    map[string]string            // node IDs by configured names
	called map[string][]string          // configured names by node ID, sorted; two names may have the same ID
	given  map[string]map[string]string // labels, see Site.Labels
}

func (s *Site) names(jobs []*metric.Job) nodeNames {
	ever := snapshotAt(jobs, time.Time{})
	return nodeNames{
		all: ever.by("avax_node_up", "node").names(), ids: ever.texts("avax_node_info", "node", "node_id"), called: ever.lists("node_id", "node", anyValue, "avax_node_info"), given: s.Labels(),
	}
}

// nodeOf returns the configured name of a node ID, or an empty string.
func (n nodeNames) nodeOf(id string) string {
	if names := n.called[id]; len(names) > 0 {
		return names[0]
	}
	return ""
}

// nameOf returns the name of a validator with this node ID and, on an L1, this validation ID: the name of the validation, else of the
// configured node, else of the node ID. Without a name it returns an empty string.
func (n nodeNames) nameOf(nodeID, validationID string) string {
	return cmp.Or(n.given[validationID]["name"], n.nodeOf(nodeID), n.given[nodeID]["name"])
}

// idOf returns the node ID or validation ID with this prefix to which the user gave this name; empty if there is none.
func (n nodeNames) idOf(name string, is func(id string) bool) (found string) {
	for id, given := range n.given {
		if given["name"] == name && is(id) && (found == "" || id < found) {
			found = id
		}
	}
	return found
}

// labelsOf returns the labels of a node or validator, as name=value, sorted. The labels of a node are also those of its validator, and the
// reverse.
func (n nodeNames) labelsOf(node, nodeID, validationID string) (labels []string) {
	for _, given := range []map[string]string{n.given[node], n.given[nodeID], n.given[validationID]} {
		for name, value := range given {
			labels = appendNew(labels, name+"="+value)
		}
	}
	slices.Sort(labels)
	return labels
}
