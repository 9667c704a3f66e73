package collectors

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Targets are the nodes and chains that are followed. Both change while collectors
// run: a run under way goes on with the lists that it has.
type Targets struct {
	// NetworkID is the network that the nodes should belong to: 1 is mainnet, 5
	// is fuji, 0 whichever most of them belong to.
	NetworkID uint64

	nodes  atomic.Pointer[[]*Node]
	chains atomic.Pointer[[]Chain]

	mu        sync.Mutex
	found     map[string]node.Blockchain // by Chain.Ref
	reporters map[string]string
}

// NewTargets returns targets with these nodes and chains.
func NewTargets(nodes []*Node, chains []Chain) *Targets {
	t := &Targets{}
	t.SetNodes(nodes)
	t.SetChains(chains)
	return t
}

// Nodes returns the configured nodes. The caller must not change the list.
func (t *Targets) Nodes() []*Node { return list(&t.nodes) }

// SetNodes replaces the list; runs under way go on with the old one.
func (t *Targets) SetNodes(nodes []*Node) { t.nodes.Store(&nodes) }

// Chains returns the followed chains, without P and X, which are always
// followed. The caller must not change the list.
func (t *Targets) Chains() []Chain { return list(&t.chains) }

// allChains returns P, X and the followed chains.
func (t *Targets) allChains() []Chain {
	return append([]Chain{{"P", "P"}, {"X", "X"}}, t.Chains()...)
}

// SetChains replaces the list; runs under way go on with the old one.
func (t *Targets) SetChains(chains []Chain) { t.chains.Store(&chains) }

func list[T any](p *atomic.Pointer[[]T]) []T {
	if l := p.Load(); l != nil {
		return *l
	}
	return nil
}

// reports tells whether a job reports a fact that others find as well, such as two
// nodes with one ID: one job serves a series. The first one does, for as long as
// present says that it is there.
func (t *Targets) reports(fact, reporter string, present func(reporter string) bool) bool {
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

// nodeReports tells whether the jobs of this node report a fact of its node ID.
func (t *Targets) nodeReports(n *Node, fact string) bool {
	return t.reports(fact, n.Name(), func(name string) bool {
		return slices.ContainsFunc(t.Nodes(), func(other *Node) bool { return other.Name() == name })
	})
}

// chainReports tells whether the jobs of this chain report a fact of its subnet, which
// other followed chains may have as well.
func (t *Targets) chainReports(c Chain, fact string) bool {
	return t.reports(fact, c.Name, func(name string) bool {
		return slices.ContainsFunc(t.Chains(), func(other Chain) bool { return other.Name == name })
	})
}

// subnetChains returns the followed chains but the C-Chain, which the primary
// network validates.
func (t *Targets) subnetChains() []Chain {
	return slices.DeleteFunc(slices.Clone(t.Chains()), func(c Chain) bool { return c.Ref == "C" })
}

// named returns the configured name of what a node calls a chain, by alias or
// blockchain ID; anything else keeps what it is called.
func (t *Targets) named(called string) string {
	for _, c := range t.allChains() {
		if c.Ref == called {
			return c.Name
		}
	}
	return called
}

// Chain is a followed chain.
type Chain struct {
	Name string // the label chain
	Ref  string // the alias or blockchain ID that the nodes are asked for
}

// Blockchain finds the chain on the P-Chain, for a collector that asks more
// than this: what was told ten minutes ago will do.
func (c Chain) Blockchain(ctx context.Context, t *Targets) (node.Blockchain, error) {
	return c.find(scrape.MaxAge(ctx, slowFacts), t)
}

// find asks any node for the chain.
func (c Chain) find(ctx context.Context, t *Targets) (node.Blockchain, error) {
	return first(ctx, t.Nodes(), func(ctx context.Context, n *Node) (node.Blockchain, error) {
		all, err := n.PlatformBlockchains(ctx)
		if err != nil {
			return node.Blockchain{}, err
		}
		id := c.Ref
		for range 2 { // as an ID, then as an alias
			if i := slices.IndexFunc(all, func(b node.Blockchain) bool { return b.ID == id }); i >= 0 {
				return all[i], nil
			}
			if id, err = n.BlockchainID(ctx, c.Ref); node.IsNoSuchChain(err) {
				break
			} else if err != nil {
				return node.Blockchain{}, err
			}
		}
		return node.Blockchain{}, &scrape.Error{Op: "platform.getBlockchains", Outcome: scrape.NotFound,
			Err: fmt.Errorf("the P-Chain has no chain %q: correct AVAX_CHAINS", c.Ref)}
	})
}

// knownBlockchain finds a followed chain on the P-Chain. What was found once is not
// asked again, so that the Data service can be asked while the nodes are down.
func (t *Targets) knownBlockchain(ctx context.Context, c Chain) (node.Blockchain, error) {
	t.mu.Lock()
	b, known := t.found[c.Ref]
	t.mu.Unlock()
	if known {
		return b, nil
	}
	b, err := c.Blockchain(ctx, t)
	if err != nil {
		return b, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.found == nil {
		t.found = map[string]node.Blockchain{}
	}
	t.found[c.Ref] = b
	return b, nil
}

// identified returns the nodes that have told who they are, and asks those that
// have not. This is asked again and again: a node that does not answer is not
// waited for while others are known. Once it answers, its own collectors find out
// who it is.
func (t *Targets) identified(ctx context.Context) ([]*Node, error) {
	var known, unknown []*Node
	for _, n := range t.Nodes() {
		switch {
		case n.known() != "":
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

// sameNetwork returns the nodes that have told who they are and belong to the
// network of the others: those whose views can be compared.
func (t *Targets) sameNetwork(ctx context.Context) ([]*Node, error) {
	nodes, err := t.identified(ctx)
	return slices.DeleteFunc(nodes, func(n *Node) bool { return n.foreign.Load() }), err
}
