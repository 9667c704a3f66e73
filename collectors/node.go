package collectors

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Node is a configured node or an observer.
type Node struct {
	*node.Client
	observer bool

	mu sync.Mutex
	id string
	rejections
	// otherNetwork is true if the node does not belong to the expected network.
	otherNetwork atomic.Bool
	// failing holds the first error of each failing health check.
	failing map[string]string
	added   time.Time // time at which the exporter added the node
	// probed is true after the first up probe: a run of the collector "up". down is true if the node did not answer the
	// latest up probe.
	probed, down bool
	waiting      map[*context.CancelFunc]bool // cancels the calls that wait for the node; used when down becomes true

	// OtherShard is true if another shard monitors the node. That shard exports the samples about the node.
	OtherShard bool

	// Changed, if set, is called when the result of the up probe changes. It must not block.
	Changed func(answers bool)
}

// NewNode returns a node with this client.
func NewNode(c *node.Client) *Node { return &Node{Client: c, added: time.Now()} }

// NewObserver returns an observer: an endpoint that is not one of your nodes and reports facts about the network.
// Collectors of facts about a node do not call observers, because each answer may come from a different machine.
func NewObserver(c *node.Client) *Node {
	n := NewNode(c)
	n.observer = true
	return n
}

// ID returns the node's ID, which is empty for an observer. It calls the node only while the ID is not known, so the ID
// stays known while the node is down. The collectors "identity" and "fleet" call Identity, which updates the ID.
func (n *Node) ID(ctx context.Context) (string, error) {
	if n.observer {
		return "", nil
	}
	if id := n.knownID(); id != "" {
		return id, nil
	}
	who, err := n.Identity(ctx)
	return who.NodeID, err
}

// knownID returns the node's ID without a call. It is empty if the ID is not known.
func (n *Node) knownID() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.id
}

// networkID returns the ID of the node's network. The answer may be two minutes old, because the network changes only
// if another machine answers.
func (n *Node) networkID(ctx context.Context) (uint64, error) {
	return n.NetworkID(scrape.MaxAge(ctx, 2*time.Minute))
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
