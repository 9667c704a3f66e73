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
	refusals
	// otherNetwork is true where the node belongs to another network than the others.
	otherNetwork atomic.Bool
	// failing holds the error with which each failing health check began to fail.
	failing map[string]string
	made    time.Time
	// probed is true once the collector up has asked the node; down is what it found.
	probed, down bool
	waiting      map[*context.CancelFunc]bool // questions that end when the node is found down

	// Changed, where set, is called when the node has stopped or begun to answer the
	// collector up. It must not block.
	Changed func(answers bool)
}

// NewNode wraps the client of a node.
func NewNode(c *node.Client) *Node { return &Node{Client: c, made: time.Now()} }

// NewObserver wraps the client of an observer: an endpoint that is asked what it knows of
// the network, and of which nothing is told as of a node. Each answer may be another machine's.
func NewObserver(c *node.Client) *Node {
	n := NewNode(c)
	n.observer = true
	return n
}

// ID returns the node's ID. It asks once, so that the ID is known while the node is
// down. The collector identity finds out when it changes. An observer has none.
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

// knownID returns the node's ID, or an empty text while it is not known.
func (n *Node) knownID() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.id
}

// networkID asks for the node's network. The answer may be two minutes old: it changes
// with the machine alone.
func (n *Node) networkID(ctx context.Context) (uint64, error) {
	return n.NetworkID(scrape.MaxAge(ctx, 2*time.Minute))
}

// Identity asks for the node's ID and keys, and stores the ID.
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
