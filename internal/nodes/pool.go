// Package nodes holds the monitored nodes, observers and chains. It knows which nodes answer, and decides which of them
// to call.
package nodes

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Pool holds the configured nodes, the observers and the monitored chains. The lists may be replaced while collectors
// run. A run in progress keeps the previous lists.
type Pool struct {
	// NetworkID is the expected network of the nodes: 1 is Mainnet, 5 is Fuji. 0: the network that most nodes belong
	// to.
	NetworkID uint64

	nodes    atomic.Pointer[byRole]
	chains   atomic.Pointer[[]Chain]
	majority atomic.Uint64 // network that most nodes belong to; 0 if none is known
	settled  atomic.Bool   // whether the network of each node is known, or that of each observer if there is no node
	finding  singleflight.Group

	mu           sync.Mutex
	found        map[string]node.Blockchain        // by Chain.Ref
	contradicted map[contradictedKey]contradiction // by node and fact

	auto    map[string]*discovered // chains that Discover has found, by Chain.Ref; only Discover uses it
	leftOut atomic.Int64
}

// byRole are the configured nodes and the observers.
type byRole struct{ nodes, observers []*Node }

// StaticAge is the maximum age of answers that change only with an upgrade or a transaction, such as identities and the
// list of blockchains.
const StaticAge = 10 * time.Minute

// NewPool returns a pool with these chains and nodes. The nodes may include observers.
func NewPool(all []*Node, chains []Chain) *Pool {
	p := &Pool{found: map[string]node.Blockchain{}, contradicted: map[contradictedKey]contradiction{}, auto: map[string]*discovered{}}
	p.SetNodes(all)
	p.SetChains(chains)
	return p
}

// Nodes returns the configured nodes, without observers. The caller must not change the list.
func (p *Pool) Nodes() []*Node { return p.nodes.Load().nodes }

// Observers returns the configured observers. The caller must not change the list.
func (p *Pool) Observers() []*Node { return p.nodes.Load().observers }

// OfNetwork returns the nodes and the observers that are not known to belong to another network. Each checks the network before it calls them. The caller
// must not change the lists.
func (p *Pool) OfNetwork() (own, observers []*Node) {
	return ofNetwork(p.Nodes()), ofNetwork(p.Observers())
}

func ofNetwork(all []*Node) []*Node {
	if !slices.ContainsFunc(all, (*Node).OtherNetwork) {
		return all // no copy of a thousand, for each of a thousand
	}
	return slices.DeleteFunc(slices.Clone(all), (*Node).OtherNetwork)
}

// SetNodes replaces the nodes and the observers.
func (p *Pool) SetNodes(all []*Node) {
	r := &byRole{}
	for _, n := range all {
		if n.Observer {
			r.observers = append(r.observers, n)
		} else {
			r.nodes = append(r.nodes, n)
		}
	}
	p.nodes.Store(r)
	for _, n := range all {
		n.pool.Store(p)
	}
	p.count()
}

func named(all []*Node, name string) bool {
	return slices.ContainsFunc(all, func(n *Node) bool { return n.Name() == name })
}

// LeftOut returns the number of chains that nodes track and that Discover leaves out, because they are too many.
func (p *Pool) LeftOut() int { return int(p.leftOut.Load()) }

// IsEmpty reports whether neither a node nor an observer is configured.
func (p *Pool) IsEmpty() bool { return len(p.Nodes())+len(p.Observers()) == 0 }

// OnlyObservers reports whether the jobs about this node, or the jobs about the network if the name is empty, call only
// observers.
func (p *Pool) OnlyObservers(name string) bool {
	return len(p.Nodes()) == 0 || named(p.Observers(), name)
}

// Identified returns the configured nodes of the expected network whose node ID is known. It requests missing IDs only
// from healthy nodes, because the many runs that call Identified must not wait for a node that does not answer. If no
// ID is known and no node is healthy, it calls all nodes.
func (p *Pool) Identified(ctx context.Context) ([]*Node, error) {
	var known, unknown []*Node
	for _, n := range p.Nodes() {
		switch {
		case n.KnownID() != "":
			known = append(known, n)
		case n.Healthy():
			unknown = append(unknown, n)
		}
	}
	if len(known) == 0 && len(unknown) == 0 {
		unknown = p.Nodes()
	}
	if len(unknown) > 0 || len(known) == 0 {
		limited, cancel := DivideTime(ctx, 2)
		found, err := each(limited, unknown, func(ctx context.Context, n *Node) (*Node, error) {
			_, err := n.ID(ctx)
			return n, err
		})
		cancel()
		if known = append(known, found...); len(known) == 0 {
			return nil, err
		}
	}
	p.checkNetworks(ctx, known)
	return ofNetwork(known), nil
}
