package metric

import "cmp"

// Target is the subject of one job of a collector. Fields that do not apply are empty. The zero Target is the network.
type Target struct {
	Node  string // configured name of a node
	Chain string // configured name of a chain
	// Item is another configured item: an address, an asset, a validator, a token, a probe, or a service.
	Item string
}

// String returns the value of the label target: the parts that apply, separated by a slash, or "network". It is never
// parsed.
func (t Target) String() string {
	if subject := cmp.Or(t.Node, t.Item); subject != "" && t.Chain != "" {
		return subject + "/" + t.Chain
	}
	return cmp.Or(t.Node, t.Item, t.Chain, "network")
}

// Compare orders targets: the network, chains, items and nodes.
func (t Target) Compare(o Target) int {
	return cmp.Or(cmp.Compare(t.Node, o.Node), cmp.Compare(t.Item, o.Item), cmp.Compare(t.Chain, o.Chain))
}

// MarshalText returns the text.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Group returns the group of the target's job. Jobs of one group start together and share answers. If the target has a node or an
// item, the group is the target without its chain. Otherwise it is the target itself.
func (t Target) Group() Target {
	if t.Node+t.Item != "" {
		t.Chain = ""
	}
	return t
}
