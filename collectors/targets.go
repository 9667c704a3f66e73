package collectors

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Targets are the configured nodes and the monitored chains. Both lists may be replaced while collectors run. A run
// in progress keeps the previous lists.
type Targets struct {
	// NetworkID is the expected network of the nodes: 1 is Mainnet, 5 is Fuji. 0: the network that most nodes belong
	// to.
	NetworkID uint64
	// Partial is true if other shards monitor further nodes, which the list of nodes does not contain.
	Partial bool

	nodes  atomic.Pointer[nodesByRole]
	chains atomic.Pointer[[]Chain]

	mu        sync.Mutex
	found     map[string]node.Blockchain // by Chain.Ref
	reporters map[string]string          // see setsSeries; by fact
}

// nodesByRole are the configured nodes, the observers, and both.
type nodesByRole struct{ nodes, observers, all []*Node }

// NewTargets returns targets with these chains and nodes. The nodes may include observers.
func NewTargets(nodes []*Node, chains []Chain) *Targets {
	t := &Targets{}
	t.SetNodes(nodes)
	t.SetChains(chains)
	return t
}

// Nodes returns the configured nodes, without observers. The caller must not change the list.
func (t *Targets) Nodes() []*Node { return t.nodes.Load().nodes }

// Observers returns the configured observers. The caller must not change the list.
func (t *Targets) Observers() []*Node { return t.nodes.Load().observers }

// nodesAndObservers returns the configured nodes, then the observers. The caller must not change the list.
func (t *Targets) nodesAndObservers() []*Node { return t.nodes.Load().all }

// ofThisNetwork returns the nodes and observers that belong to the expected network.
func (t *Targets) ofThisNetwork() []*Node {
	return slices.DeleteFunc(slices.Clone(t.nodesAndObservers()), func(n *Node) bool { return n.otherNetwork.Load() })
}

// comparedNodes are the nodes and observers of the expected network whose answers are compared. The field others has
// the nodes that are called only if no compared node answers.
type comparedNodes struct{ nodes, others []*Node }

// compared returns the nodes of this shard, and the observers, as compared nodes. If they are fewer than maxViews,
// nodes of other shards are added up to this number.
func (t *Targets) compared() (c comparedNodes) {
	for _, n := range t.ofThisNetwork() {
		if n.OtherShard && len(c.nodes) >= maxViews {
			c.others = append(c.others, n)
		} else {
			c.nodes = append(c.nodes, n)
		}
	}
	return c
}

// network returns the ID of the network that observers should belong to. That is NetworkID if it is set, else the
// network of the nodes. Without nodes it is the network of the first observer.
func (t *Targets) network(ctx context.Context) (uint64, error) {
	if t.NetworkID != 0 {
		return t.NetworkID, nil
	}
	nodes := slices.DeleteFunc(slices.Clone(t.Nodes()), func(n *Node) bool { return n.otherNetwork.Load() })
	if len(nodes) == 0 {
		nodes = t.Observers()[:1]
	}
	return firstOf(ctx, nodes, func(ctx context.Context, n *Node) (uint64, error) {
		return n.NetworkID(scrape.MaxAge(ctx, slowFacts))
	})
}

// Gentle reports whether the job for this target calls only observers.
func (t *Targets) Gentle(target metric.Target) bool {
	if len(t.Nodes()) == 0 {
		return true
	}
	return slices.ContainsFunc(t.Observers(), func(n *Node) bool { return n.Name() == target.Node })
}

// SetNodes replaces the nodes and the observers.
func (t *Targets) SetNodes(nodes []*Node) {
	a := &nodesByRole{}
	for _, n := range nodes {
		if n.observer {
			a.observers = append(a.observers, n)
		} else {
			a.nodes = append(a.nodes, n)
		}
	}
	a.all = slices.Concat(a.nodes, a.observers)
	t.nodes.Store(a)
}

// Chains returns the monitored chains, without P and X, which are always monitored. The caller must not
// change the list.
func (t *Targets) Chains() []Chain { return *t.chains.Load() }

// allChains returns P, X and the monitored chains.
func (t *Targets) allChains() []Chain {
	return append([]Chain{{"P", "P"}, {"X", "X"}}, t.Chains()...)
}

// SetChains replaces the chains.
func (t *Targets) SetChains(chains []Chain) { t.chains.Store(&chains) }

// setsSeries returns whether the jobs of a reporter set the series of a fact. A reporter is a node or a chain, by name.
// Several reporters may have the same fact, such as two nodes with the same node ID. Only the first reporter sets the
// series. If present returns false for the first reporter, this reporter replaces it.
func (t *Targets) setsSeries(fact, reporter string, present func(reporter string) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first, known := t.reporters[fact]; known && first != reporter && present(first) {
		return false
	}
	if t.reporters == nil {
		t.reporters = map[string]string{}
	}
	t.reporters[fact] = reporter
	return true
}

// nodeSetsSeries returns whether the jobs of this node set the series of a fact. Two nodes with the same ID have the
// same fact.
func (t *Targets) nodeSetsSeries(n *Node, fact string) bool {
	return t.setsSeries(fact, n.Name(), func(name string) bool {
		return slices.ContainsFunc(t.nodesAndObservers(), func(other *Node) bool { return other.Name() == name })
	})
}

// chainSetsSeries returns whether the jobs of this chain set the series of a fact. Two monitored chains of the same
// subnet have the same fact.
func (t *Targets) chainSetsSeries(c Chain, fact string) bool {
	return t.setsSeries(fact, c.Name, func(name string) bool {
		return slices.ContainsFunc(t.Chains(), func(other Chain) bool { return other.Name == name })
	})
}

// subnetChains returns the monitored chains except the C-Chain, which the primary network validates.
func (t *Targets) subnetChains() []Chain {
	return slices.DeleteFunc(slices.Clone(t.Chains()), func(c Chain) bool { return c.Ref == "C" })
}

// chainName returns the configured name of the chain whose alias or blockchain ID is ref. If no monitored chain has
// this alias or ID, chainName returns ref.
func (t *Targets) chainName(ref string) string {
	for _, c := range t.allChains() {
		if c.Ref == ref {
			return c.Name
		}
	}
	return ref
}

// identified returns the nodes whose node ID is known. It requests missing IDs only from healthy nodes, because the
// many runs that call identified must not wait for a node that does not answer. If no ID is known and no node is
// healthy, it calls all nodes.
func (t *Targets) identified(ctx context.Context) ([]*Node, error) {
	var known, unknown []*Node
	for _, n := range t.Nodes() {
		switch {
		case n.knownID() != "":
			known = append(known, n)
		case n.Healthy():
			unknown = append(unknown, n)
		}
	}
	if len(known) == 0 && len(unknown) == 0 {
		unknown = t.Nodes()
	}
	if len(unknown) > 0 || len(known) == 0 {
		found, err := each(ctx, unknown, func(ctx context.Context, n *Node) (*Node, error) {
			_, err := n.ID(ctx)
			return n, err
		})
		if known = append(known, found...); len(known) == 0 {
			return nil, err
		}
	}
	return known, nil
}

// sameNetwork returns the identified nodes that belong to the expected network.
func (t *Targets) sameNetwork(ctx context.Context) ([]*Node, error) {
	nodes, err := t.identified(ctx)
	return slices.DeleteFunc(nodes, func(n *Node) bool { return n.otherNetwork.Load() }), err
}
