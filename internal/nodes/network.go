package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// A node or observer of another network must not answer questions about the network. So the pool knows the network of each one before the
// first such question, whichever collectors run: First, Each, Identified and Run request it.

const (
	// NetworkAge is the maximum age of the network ID that the collectors request: two runs use one answer. It changes only if another machine answers.
	NetworkAge = 90 * time.Second
	// networkRetry is how long others do not wait again for the network of a node that did not tell it.
	networkRetry = 30 * time.Second
	// networkCheck is how long a known network of a node counts without another request: longer than the period of the collectors that
	// request it anyway.
	networkCheck = 90 * time.Second
	// observerCheck is the same for an observer, whose requests count against a budget.
	observerCheck = 5 * time.Minute
	// networkTimeout is the maximum time to find out the networks of all nodes.
	networkTimeout = 10 * time.Second
)

// evmNetworks are the networks of the C-Chain, by the chain ID that wallets use.
var evmNetworks = map[uint64]uint64{43114: 1, 43113: 5}

// errOtherNetwork is the error of a question about the network to a node or observer of another one.
var errOtherNetwork = fmt.Errorf("%w: it does not belong to the expected network: monitor it with another exporter", metric.ErrNotOffered)

// NetworkID requests the ID of the node's network, and stores it. If an observer blocks info.getNetworkID, the chain ID of its C-Chain
// tells the network.
func (n *Node) NetworkID(ctx context.Context) (uint64, error) {
	id, err := n.Client.NetworkID(ctx)
	if n.Observer && node.IsNotServed(err) {
		if evm, evmErr := n.EthChainID(ctx, "C"); evmErr == nil && evmNetworks[evm] != 0 {
			id, err = evmNetworks[evm], nil
		}
	}
	if err != nil && !node.IsNotServed(err) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.networkFailed = time.Now()
		return id, err
	}
	n.mu.Lock()
	if scrape.IsLost(err) { // an endpoint that hides its network from now on stays in the one that it named
		n.networkAt = time.Now()
		n.mu.Unlock()
		return id, err
	}
	changed := n.network != id
	n.network, n.networkAt = id, time.Now() // 0 if the endpoint hides it
	n.mu.Unlock()
	if p := n.pool.Load(); p != nil && changed {
		p.count()
	}
	return id, err
}

// knownNetwork returns the last known network of the node, and whether it was requested recently. The network is 0 if it is not known.
func (n *Node) knownNetwork() (id uint64, recent bool) {
	age := networkCheck
	if n.Observer {
		age = observerCheck
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.network, !n.networkAt.IsZero() && time.Since(n.networkAt) < age
}

// awaited reports whether the expected network depends on that of the node, which nothing has told yet. It does not if the node does not
// answer: a question to others would wait for it.
func (n *Node) awaited() bool {
	id, recent := n.knownNetwork()
	n.mu.Lock()
	failed := !n.networkFailed.IsZero() && time.Since(n.networkFailed) < networkRetry
	n.mu.Unlock()
	return id == 0 && !recent && !failed && n.Healthy()
}

// Belongs returns an error if the node or observer belongs to another network than the expected one, or if its network was never known and
// cannot be found out now. An endpoint that hides its network counts as belonging to it.
func (n *Node) Belongs(ctx context.Context) error {
	p := n.pool.Load()
	if p == nil {
		return nil
	}
	id, recent := n.knownNetwork()
	if !recent {
		found, err := n.NetworkID(scrape.Aside(ctx, NetworkAge))
		switch {
		case err == nil:
			id = found
		case id == 0 && !node.IsNotServed(err):
			return err
		}
	}
	if id == 0 {
		return nil
	}
	expected, err := p.Network(ctx)
	if err == nil && id != expected {
		err = errOtherNetwork
	}
	return err
}

// OtherNetwork reports whether the node is known to belong to another network than the expected one.
func (n *Node) OtherNetwork() bool {
	p := n.pool.Load()
	if p == nil {
		return false
	}
	id, _ := n.knownNetwork()
	expected := p.knownNetwork()
	return id != 0 && expected != 0 && id != expected
}

// knownNetwork returns the expected network; 0 if it is not known.
func (p *Pool) knownNetwork() uint64 {
	if p.NetworkID != 0 {
		return p.NetworkID
	}
	return p.majority.Load()
}

// count updates the network that most nodes belong to. If two have the same number of nodes, the first node decides. Observers count only
// while the network of no node is known.
func (p *Pool) count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	unknown := 0
	for _, all := range [][]*Node{p.Nodes(), p.Observers()} {
		var order []uint64
		number := map[uint64]int{}
		for _, n := range all {
			if id, _ := n.knownNetwork(); id != 0 {
				order = append(order, id)
				number[id]++
			}
		}
		if unknown += len(all) - len(order); len(order) > 0 {
			p.majority.Store(slices.MaxFunc(order, func(a, b uint64) int { return number[a] - number[b] }))
			p.settled.Store(unknown == 0)
			return
		}
	}
	p.majority.Store(0)
}

// Network returns the ID of the expected network: NetworkID if it is set, else the network of most nodes, else of most observers. It requests
// the networks that are not known, but does not wait for a node that does not answer if others do.
func (p *Pool) Network(ctx context.Context) (uint64, error) {
	if p.NetworkID != 0 {
		return p.NetworkID, nil
	}
	if id := p.majority.Load(); id != 0 && p.settled.Load() { // each of a thousand nodes asks, before each of its calls about the network
		return id, nil
	}
	var failed error
	for _, all := range [][]*Node{p.Nodes(), p.Observers()} {
		var unknown []*Node
		known := false
		for _, n := range all {
			id, _ := n.knownNetwork()
			known = known || id != 0
			if n.awaited() {
				unknown = append(unknown, n)
			}
		}
		if len(unknown) == 0 && !known {
			unknown = all
		}
		if len(unknown) > 0 {
			failed = errors.Join(failed, p.findNetworks(ctx, unknown))
		}
		p.count() // another goroutine may have stored the network of a node, and not have counted it yet
		if id := p.majority.Load(); id != 0 {
			return id, nil
		}
	}
	if failed == nil {
		failed = &SettingError{"AVAX_NETWORK", errors.New("no node or observer reports its network")}
	}
	return 0, failed
}

// checkNetworks finds out the networks of the nodes that answer, and the expected network, as far as they are not known. A node whose network
// stays unknown counts as belonging to the expected one.
func (p *Pool) checkNetworks(ctx context.Context, all []*Node) {
	_, _ = p.Network(ctx)
	stale := slices.DeleteFunc(slices.Clone(all), func(n *Node) bool {
		_, recent := n.knownNetwork()
		return recent || !n.Healthy()
	})
	_, _ = each(ctx, stale, func(ctx context.Context, n *Node) (uint64, error) { return 0, n.Belongs(ctx) })
}

// findNetworks requests the networks of these nodes. Concurrent calls share the requests, because many runs begin at the same time.
func (p *Pool) findNetworks(ctx context.Context, unknown []*Node) error {
	found := p.finding.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), networkTimeout)
		defer cancel()
		return each(scrape.Aside(ctx, NetworkAge), unknown, func(ctx context.Context, n *Node) (uint64, error) { return n.NetworkID(ctx) })
	})
	select {
	case result := <-found:
		return result.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Known is what a node reports about itself.
type Known struct {
	*Node
	node.Identity
	Network uint64
}

// Identities requests the identity and the network of every node. It omits nodes that do not answer, and returns an error only if none does.
func (p *Pool) Identities(ctx context.Context) ([]Known, error) {
	ctx, cancel := DivideTime(ctx, 2)
	defer cancel()
	return each(ctx, p.Nodes(), func(ctx context.Context, n *Node) (Known, error) {
		who, err := n.Identity(ctx)
		if err != nil {
			return Known{}, err
		}
		network, err := n.NetworkID(scrape.MaxAge(ctx, NetworkAge))
		return Known{n, who, network}, err
	})
}
