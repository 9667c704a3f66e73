package nodes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Node is a configured node or an observer.
type Node struct {
	*node.Client
	// Observer: the endpoint is not one of your nodes, and reports only facts about the network. Collectors of facts about
	// a node do not call observers, because each answer may come from a different machine.
	Observer bool
	// Changed, if set, is called when the result of the up probe changes. It must not block.
	Changed func(answers bool)

	// otherNetwork is true if the node does not belong to the expected network.
	otherNetwork atomic.Bool
	discovered   atomic.Bool // whether Discover has found out the node's chains
	added        time.Time   // time at which the exporter added the node

	mu sync.Mutex
	id string
	// probed is true after the first up probe: a run of the collector "up". down is true if the node did not answer the
	// latest up probe.
	probed, down bool
	failed       map[string]int // failed calls of a chain in a row, by its reference
	// answering ends when the node does not answer an up probe. stop ends it.
	answering context.Context
	stop      context.CancelFunc
}

// New returns a node with this client.
func New(c *node.Client) *Node {
	n := &Node{Client: c, added: time.Now()}
	n.answering, n.stop = context.WithCancel(context.Background())
	return n
}

// NewObserver returns an observer with this client.
func NewObserver(c *node.Client) *Node {
	n := New(c)
	n.Observer = true
	return n
}

// ID returns the node's ID, which is empty for an observer. It calls the node only while the ID is not known, so the ID
// stays known while the node is down. The collectors "identity" and "fleet" call Identity, which updates the ID.
func (n *Node) ID(ctx context.Context) (string, error) {
	if n.Observer {
		return "", nil
	}
	if id := n.KnownID(); id != "" {
		return id, nil
	}
	who, err := n.Identity(ctx)
	return who.NodeID, err
}

// KnownID returns the node's ID without a call. It is empty if the ID is not known.
func (n *Node) KnownID() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.id
}

// Identity requests the node's ID and BLS key, and stores the ID for later calls of ID.
func (n *Node) Identity(ctx context.Context) (node.Identity, error) {
	who, err := n.NodeID(ctx)
	if err != nil {
		return node.Identity{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.id = who.NodeID
	return who, nil
}

// evmNetworks are the networks of the C-Chain, by the chain ID that wallets use.
var evmNetworks = map[uint64]uint64{43114: 1, 43113: 5}

// NetworkID returns the ID of the node's network. If an observer blocks info.getNetworkID, the chain ID of its C-Chain tells the
// network.
func (n *Node) NetworkID(ctx context.Context) (uint64, error) {
	id, err := n.Client.NetworkID(ctx)
	if !n.Observer || !node.IsNotServed(err) {
		return id, err
	}
	if evm, evmErr := n.EthChainID(ctx, "C"); evmErr == nil && evmNetworks[evm] != 0 {
		return evmNetworks[evm], nil
	}
	return id, err
}

// OtherNetwork reports whether the node belongs to another network than the expected one.
func (n *Node) OtherNetwork() bool { return n.otherNetwork.Load() }

// SetOtherNetwork stores whether the node belongs to another network than the expected one.
func (n *Node) SetOtherNetwork(other bool) { n.otherNetwork.Store(other) }

// Probed reports whether the collector "up" has called the node.
func (n *Node) Probed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.probed
}

// SetProbed stores whether the node answered the up probe. If the node did not answer, SetProbed cancels the calls that
// wait for the node while others could answer.
func (n *Node) SetProbed(answers bool) {
	n.mu.Lock()
	changed := n.down == answers
	n.probed, n.down = true, !answers
	if !answers {
		n.stop()
		n.answering, n.stop = context.WithCancel(context.Background())
	}
	n.mu.Unlock()
	if changed && n.Changed != nil {
		n.Changed(answers)
	}
}

// ChainFailed counts a call of a chain that failed or hung while the node itself answered.
func (n *Node) ChainFailed(ref string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failed == nil {
		n.failed = map[string]int{}
	}
	n.failed[ref]++
}

// ChainAnswered ends the count of ChainFailed.
func (n *Node) ChainAnswered(ref string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.failed, ref)
}

// ChainStopped reports whether the last two calls of the chain failed or hung while the node itself answered, as after the end of the
// chain's VM.
func (n *Node) ChainStopped(ref string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failed[ref] >= 2
}

// ChainStopped returns the IDs of the configured nodes on which the chain has stopped. Their peers may still report them as connected.
func (p *Pool) ChainStopped(ref string) map[string]bool {
	ids := map[string]bool{}
	for _, n := range p.Nodes() {
		if id := n.KnownID(); id != "" && n.ChainStopped(ref) {
			ids[id] = true
		}
	}
	return ids
}

// whileAnswering returns a context that also ends when the node does not answer an up probe.
func (n *Node) whileAnswering(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	stop := context.AfterFunc(n.answering, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// Run runs a collect function that calls the node or observer. It returns an error if the observer belongs to another
// network.
func (n *Node) Run(collect func() error) error {
	if n.Observer && n.OtherNetwork() {
		return fmt.Errorf("%w: the observer does not belong to the network of the nodes: configure an observer of that network", ErrNotOffered)
	}
	return n.explain(collect())
}

// explain converts the error of an observer that does not offer a method into ErrNotOffered.
func (n *Node) explain(err error) error {
	if n.Observer && node.IsNotServed(err) && !errors.Is(err, ErrNotOffered) {
		return fmt.Errorf("%w: %w", ErrNotOffered, err)
	}
	return err
}
