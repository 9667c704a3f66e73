package collectors

import (
	"context"
	"fmt"
	"slices"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Chain is a monitored chain.
type Chain struct {
	Name string // the label chain
	Ref  string // alias or blockchain ID, for calls to nodes
}

// Blockchain returns the P-Chain's entry of the chain. The answer may be as old as slowFacts.
func (c Chain) Blockchain(ctx context.Context, t *Targets) (node.Blockchain, error) {
	return c.find(scrape.MaxAge(ctx, slowFacts), t)
}

// find requests the P-Chain's entry of the chain from any node. The error's outcome is NotFound if the P-Chain has no
// such chain.
func (c Chain) find(ctx context.Context, t *Targets) (node.Blockchain, error) {
	return first(ctx, t, func(ctx context.Context, n *Node) (node.Blockchain, error) {
		all, err := n.PlatformBlockchains(ctx)
		if err != nil {
			return node.Blockchain{}, err
		}
		id := c.Ref
		for range 2 { // the first pass assumes that c.Ref is a blockchain ID, the second that it is an alias
			if i := slices.IndexFunc(all, func(b node.Blockchain) bool { return b.ID == id }); i >= 0 {
				return all[i], nil
			}
			if id, err = n.BlockchainID(ctx, c.Ref); node.IsNoSuchChain(err) {
				break
			} else if err != nil {
				return node.Blockchain{}, err
			}
		}
		return node.Blockchain{}, &SettingError{SettingChains, &scrape.Error{Op: "platform.getBlockchains", Outcome: scrape.NotFound,
			Err: fmt.Errorf("the P-Chain has no chain %q", c.Ref)}}
	})
}

// knownBlockchain returns the P-Chain's entry of the chain. It calls a node only until the entry is known. So
// collectors can request data of the chain from the Data service while all nodes are down.
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
