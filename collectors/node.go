package collectors

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Node is a configured node, or an observer.
type Node struct {
	*node.Client
	observer bool

	mu sync.Mutex
	id string
	rejections
	// otherNetwork is true if the node belongs to another network than the others.
	otherNetwork atomic.Bool
	// failing holds the first error of each failing health check.
	failing map[string]string
	made    time.Time
	// probed is true after the first call of the collector up; down is its result.
	probed, down bool
	waiting      map[*context.CancelFunc]bool // calls that end when the node is found down

	// Changed, if set, is called when the node has stopped or begun to answer the collector up. It must not
	// block.
	Changed func(answers bool)
}

// NewNode returns a node with this client.
func NewNode(c *node.Client) *Node { return &Node{Client: c, made: time.Now()} }

// NewObserver returns an observer: an endpoint that reports what it knows about the network. It is not
// monitored as a node, because each answer may come from another machine.
func NewObserver(c *node.Client) *Node {
	n := NewNode(c)
	n.observer = true
	return n
}

// ID returns the node's ID. It calls the node only once, so that the ID is known while the node is down. The
// collector identity notices changes. An observer has none.
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

// knownID returns the node's ID, or an empty string while it is not known.
func (n *Node) knownID() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.id
}

// networkID returns the node's network. The answer may be two minutes old, because it changes only with
// the machine.
func (n *Node) networkID(ctx context.Context) (uint64, error) {
	return n.NetworkID(scrape.MaxAge(ctx, 2*time.Minute))
}

// Identity requests the node's ID and keys, and stores the ID.
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
