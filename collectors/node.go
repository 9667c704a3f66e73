package collectors

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Node is a configured node.
type Node struct {
	*node.Client

	mu sync.Mutex
	id string
	refusals
	// foreign says that the node belongs to another network than the others: it
	// knows nothing of their validators, nor they of its.
	foreign atomic.Bool
}

// NewNode wraps the client of a node.
func NewNode(c *node.Client) *Node { return &Node{Client: c} }

// ID returns the node's own ID. A node that was known once is known while it
// is down: its validator's entry is looked up just then. Whether an ID has
// changed is found out by the collector identity.
func (n *Node) ID(ctx context.Context) (string, error) {
	if id := n.known(); id != "" {
		return id, nil
	}
	who, err := n.Identity(ctx)
	return who.NodeID, err
}

// known is the node's ID, or empty where it has not told it yet.
func (n *Node) known() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.id
}

// Identity asks who the node is, and remembers its ID.
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
