package nodes

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

// Chains returns the monitored chains, without P and X, which are always monitored. The caller must not change the
// list.
func (p *Pool) Chains() []Chain { return *p.chains.Load() }

// SetChains replaces the chains.
func (p *Pool) SetChains(chains []Chain) { p.chains.Store(&chains) }

// AllChains returns P, X and the monitored chains.
func (p *Pool) AllChains() []Chain {
	return append([]Chain{{"P", "P"}, {"X", "X"}}, p.Chains()...)
}

// SubnetChains returns the monitored chains except the C-Chain, which the primary network validates.
func (p *Pool) SubnetChains() []Chain {
	return slices.DeleteFunc(slices.Clone(p.Chains()), func(c Chain) bool { return c.Ref == "C" })
}

// ChainName returns the configured name of the chain whose alias or blockchain ID is ref. If no monitored chain has
// this alias or ID, ChainName returns ref.
func (p *Pool) ChainName(ref string) string {
	for _, c := range p.AllChains() {
		if c.Ref == ref {
			return c.Name
		}
	}
	return ref
}

// Blockchain requests the P-Chain's entry of the chain from the nodes, as Agreed does. The answer may be as old as StaticAge. The error's
// outcome is NotFound if the P-Chain has no such chain.
func (p *Pool) Blockchain(ctx context.Context, c Chain) (node.Blockchain, error) {
	same := func(a, b node.Blockchain) bool { return a == b }
	return Agreed(scrape.MaxAge(ctx, StaticAge), p, "blockchains", same, func(ctx context.Context, n *Node) (node.Blockchain, error) {
		id := c.Ref
		for range 2 { // the first pass assumes that c.Ref is a blockchain ID, the second that it is an alias
			b, exists, err := n.PlatformBlockchain(ctx, id)
			if err != nil || exists {
				return b, err
			}
			if id, err = n.BlockchainID(ctx, c.Ref); node.IsNoSuchChain(err) {
				break
			} else if err != nil {
				return node.Blockchain{}, err
			}
		}
		return node.Blockchain{}, &SettingError{"AVAX_CHAINS", &scrape.Error{Op: "platform.getBlockchains", Outcome: scrape.NotFound,
			Err: fmt.Errorf("the P-Chain has no chain %q", c.Ref)}}
	})
}

// KnownBlockchain returns the P-Chain's entry of the chain. It calls a node only until the entry is known. So
// collectors can request data of the chain from the Data service while all nodes are down.
func (p *Pool) KnownBlockchain(ctx context.Context, c Chain) (node.Blockchain, error) {
	p.mu.Lock()
	b, known := p.found[c.Ref]
	p.mu.Unlock()
	if known {
		return b, nil
	}
	b, err := p.Blockchain(ctx, c)
	if err != nil {
		return b, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found[c.Ref] = b
	return b, nil
}
