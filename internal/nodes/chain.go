package nodes

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/cb58"
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

// ChainName returns the configured name of the chain with this Ref. If no monitored chain has it, ChainName returns ref. RefsOf finds the Refs for
// the names that a node uses.
func (p *Pool) ChainName(ref string) string {
	for _, c := range p.AllChains() {
		if c.Ref == ref {
			return c.Name
		}
	}
	return ref
}

// maxAliases is the maximum number of names that RefsOf asks a node about: a node has a health check for each of its chains and ten more.
const maxAliases = 200

// RefsOf returns the Refs of the monitored chains that the node calls by these names in health checks, loggers and lists of benched peers: its first
// alias there, or the blockchain ID. A name that means no monitored chain is its own Ref, and so are all names if there are too many. Answers of
// the node may be as old as StaticAge.
func (p *Pool) RefsOf(ctx context.Context, n *Node, called iter.Seq[string]) (map[string]string, error) {
	refs := map[string]string{}
	for name := range called {
		refs[name] = name
	}
	if len(refs) > maxAliases {
		return refs, nil
	}
	for name := range refs {
		ref, err := p.refOf(ctx, n, name)
		if err != nil {
			return nil, err
		}
		refs[name] = ref
	}
	return refs, nil
}

func (p *Pool) refOf(ctx context.Context, n *Node, called string) (string, error) {
	all := p.AllChains()
	if called != "C" && slices.Contains(ownChecks, called) || slices.ContainsFunc(all, func(c Chain) bool { return c.Ref == called }) {
		return called, nil
	}
	idOf := func(ref string) (string, error) {
		if isID(ref) {
			return ref, nil
		}
		id, err := n.BlockchainID(scrape.MaxAge(ctx, StaticAge), ref)
		if node.IsNoSuchChain(err) || node.IsNotServed(err) {
			return "", nil
		}
		return id, err
	}
	id, err := idOf(called)
	if id == "" || err != nil {
		return called, err
	}
	for _, c := range all {
		if c.Ref == id {
			return c.Ref, nil
		}
		if slices.Contains(ownChecks, c.Ref) || isID(c.Ref) { // a node calls P, X and C so, and another ID is another chain
			continue
		}
		if of, err := idOf(c.Ref); of == id || err != nil {
			return c.Ref, err
		}
	}
	return called, nil
}

// isID reports whether a name of a chain is a blockchain ID, not an alias.
func isID(ref string) bool {
	id, err := cb58.Decode(ref)
	return err == nil && len(id) == 32
}

// Blockchain requests the P-Chain's entry of the chain from the nodes, as Agreed does. The answer may be as old as StaticAge. The error's
// outcome is NotFound if the P-Chain has no such chain.
func (p *Pool) Blockchain(ctx context.Context, c Chain) (node.Blockchain, error) {
	same := func(a, b node.Blockchain) bool { return a == b }
	return Agreed(scrape.MaxAge(ctx, StaticAge), p, FactBlockchains, same, func(ctx context.Context, n *Node) (node.Blockchain, error) {
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
		why := fmt.Errorf("the P-Chain has no chain %q", c.Ref)
		if instead := meant(ctx, n, c.Ref); instead != "" {
			why = fmt.Errorf("%w: %s", why, instead)
		}
		return node.Blockchain{}, &SettingError{"AVAX_CHAINS", &scrape.Error{Op: "platform.getBlockchains", Outcome: scrape.NotFound, Err: why}}
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
