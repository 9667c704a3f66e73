package collectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Upstreams is whom the collectors may ask, and about what.
type Upstreams struct {
	Watch Watch
	// WatchAddresses are addresses on the P- or the X-Chain, such as P-avax1….
	WatchAddresses []string
	// WatchAssets are assets of the X-Chain, by asset ID.
	WatchAssets []string
	// NetworkID is the network that the nodes should belong to: 1 is mainnet, 5
	// is fuji, 0 whichever most of them belong to.
	NetworkID uint64
	// Metrics is the Metrics service; nil where it is not configured.
	Metrics *metrics.Client

	// Data is the Data service; nil where it is not configured. What follows is
	// asked of it alone.
	Data *data.Client
	// Network is what the Data service calls the network: mainnet, fuji or testnet.
	Network string
	// Currency is that in which it tells what something is worth, such as usd.
	Currency string
	// WatchEVM are addresses on the followed EVM chains, such as 0x1f….
	WatchEVM []string
	// WatchContracts are EVM addresses whose deployments are counted.
	WatchContracts []string
	// WatchTokens are NFTs whose metadata is watched.
	WatchTokens []Token
	// WatchSignatures are synthetic probes of the signature aggregator.
	WatchSignatures []Probe
	// State remembers how far lists were read. Nil, what was read is forgotten
	// when the exporter stops.
	State *state.Dir

	nodes  atomic.Pointer[[]*Node]
	chains atomic.Pointer[[]Chain]
	service
}

// Token is a watched NFT.
type Token struct {
	Chain    string // the name of a followed chain
	Contract string // the address of its collection, such as 0x1f…
	ID       string // decimal
	// Reindex says that the Data service is asked to read the metadata again,
	// once an hour at most, while it has no good copy.
	Reindex bool
}

// Probe is a transaction of the P- or X-Chain whose message the signature
// aggregator is asked to have signed, again and again, to see whether it can.
type Probe struct {
	Name   string // the label probe
	TxHash string
}

// Nodes returns the configured nodes. The caller must not change the list.
func (ups *Upstreams) Nodes() []*Node { return load(&ups.nodes) }

// SetNodes replaces the list; runs under way go on with the old one.
func (ups *Upstreams) SetNodes(nodes []*Node) { ups.nodes.Store(&nodes) }

// With returns upstreams that differ in the nodes alone.
func (ups *Upstreams) With(nodes []*Node) *Upstreams {
	other := &Upstreams{
		Watch: ups.Watch, WatchAddresses: ups.WatchAddresses, WatchAssets: ups.WatchAssets, NetworkID: ups.NetworkID,
		Metrics: ups.Metrics,
		Data:    ups.Data, Network: ups.Network, Currency: ups.Currency,
		WatchEVM: ups.WatchEVM, WatchContracts: ups.WatchContracts, WatchTokens: ups.WatchTokens, WatchSignatures: ups.WatchSignatures,
		State: ups.State,
	}
	other.SetNodes(nodes)
	other.SetChains(ups.Chains())
	return other
}

// Chains returns the followed chains, without P and X, which are always
// followed. The caller must not change the list.
func (ups *Upstreams) Chains() []Chain { return load(&ups.chains) }

// allChains returns P, X and the followed chains.
func (ups *Upstreams) allChains() []Chain {
	return append([]Chain{{"P", "P"}, {"X", "X"}}, ups.Chains()...)
}

// SetChains replaces the list; runs under way go on with the old one.
func (ups *Upstreams) SetChains(chains []Chain) { ups.chains.Store(&chains) }

var targets = prometheus.NewDesc("avax_exporter_targets", "Nodes that the exporter is configured to ask.", nil, nil)

// Describe implements prometheus.Collector.
func (ups *Upstreams) Describe(ch chan<- *prometheus.Desc) { ch <- targets }

// Collect implements prometheus.Collector.
func (ups *Upstreams) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(targets, prometheus.GaugeValue, float64(len(ups.Nodes())))
}

func load[T any](p *atomic.Pointer[[]T]) []T {
	if list := p.Load(); list != nil {
		return *list
	}
	return nil
}

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

// Watch says which primary-network validators have series of their own: those
// of the own nodes where both fields are zero.
type Watch struct {
	All bool
	IDs []string
}

// Chain is a followed chain.
type Chain struct {
	Name string // the label chain
	Ref  string // the alias or blockchain ID that the nodes are asked for
}

// Blockchain finds the chain on the P-Chain, for a collector that asks more
// than this: what was told ten minutes ago will do.
func (c Chain) Blockchain(ctx context.Context, ups *Upstreams) (node.Blockchain, error) {
	return c.find(scrape.MaxAge(ctx, slowFacts), ups)
}

// find asks any node for the chain.
func (c Chain) find(ctx context.Context, ups *Upstreams) (node.Blockchain, error) {
	return first(ctx, ups.Nodes(), func(ctx context.Context, n *Node) (node.Blockchain, error) {
		all, err := n.PlatformBlockchains(ctx)
		if err != nil {
			return node.Blockchain{}, err
		}
		id := c.Ref
		for range 2 { // as an ID, then as an alias
			if i := slices.IndexFunc(all, func(b node.Blockchain) bool { return b.ID == id }); i >= 0 {
				return all[i], nil
			}
			if id, err = n.BlockchainID(ctx, c.Ref); node.IsNoSuchChain(err) {
				break
			} else if err != nil {
				return node.Blockchain{}, err
			}
		}
		return node.Blockchain{}, &scrape.Error{Op: "platform.getBlockchains", Outcome: scrape.NotFound,
			Err: fmt.Errorf("the P-Chain has no chain %q: correct AVAX_CHAINS", c.Ref)}
	})
}

// named returns the configured name of what a node calls a chain, by alias or
// blockchain ID; anything else keeps what it is called.
func (ups *Upstreams) named(called string) string {
	for _, c := range ups.allChains() {
		if c.Ref == called {
			return c.Name
		}
	}
	return called
}

// speaks tells whether the jobs of this chain are those that tell a fact of its
// subnet: where two followed chains share one, it is told once.
func (ups *Upstreams) speaks(c Chain, fact string) bool {
	return ups.claim(fact, c.Name, func(name string) bool {
		return slices.ContainsFunc(ups.Chains(), func(other Chain) bool { return other.Name == name })
	})
}

// subnetChains returns the followed chains but the C-Chain, which the primary
// network validates.
func (ups *Upstreams) subnetChains() []Chain {
	return slices.DeleteFunc(slices.Clone(ups.Chains()), func(c Chain) bool { return c.Ref == "C" })
}

// watched returns the IDs of the watched validators; all is true where every
// validator is watched, and ids nil.
func (ups *Upstreams) watched(ctx context.Context) (ids []string, all bool, err error) {
	if ups.Watch.All || len(ups.Watch.IDs) > 0 {
		return ups.Watch.IDs, ups.Watch.All, nil
	}
	nodes, err := ups.identified(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, n := range nodes {
		ids = append(ids, n.known())
	}
	slices.Sort(ids)
	return slices.Compact(ids), false, nil
}

// identified returns the nodes that have told who they are, and asks those that
// have not. This is asked again and again: a node that does not answer is not
// waited for while others are known. Once it answers, its own collectors find out
// who it is.
func (ups *Upstreams) identified(ctx context.Context) ([]*Node, error) {
	var known, unknown []*Node
	for _, n := range ups.Nodes() {
		switch {
		case n.known() != "":
			known = append(known, n)
		case n.Healthy():
			unknown = append(unknown, n)
		}
	}
	if len(known) == 0 && len(unknown) == 0 {
		unknown = ups.Nodes()
	}
	if len(unknown) > 0 || len(known) == 0 {
		found, err := each(ctx, unknown, func(ctx context.Context, n *Node) (*Node, error) {
			_, err := n.ID(ctx)
			return n, err
		})
		if known = append(known, found...); len(known) == 0 {
			return nil, err
		}
	}
	return known, nil
}

// sameNetwork returns the nodes that have told who they are and belong to the
// network of the others: those whose views can be compared.
func (ups *Upstreams) sameNetwork(ctx context.Context) ([]*Node, error) {
	nodes, err := ups.identified(ctx)
	return slices.DeleteFunc(nodes, func(n *Node) bool { return n.foreign.Load() }), err
}

// share returns a context with the n-th part of the time that is left.
func share(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(n))
}

// watchedPace is how often the watched validators' entries are asked: where all
// are watched, at the pace of full sets.
func watchedPace(w Watch) time.Duration {
	if w.All {
		return fullSetEvery
	}
	return time.Minute
}

// watchedEntries asks a node for the entries of the watched validators and of
// the others named, or for the whole set.
func (ups *Upstreams) watchedEntries(ctx context.Context, n *Node, others ...string) (iter.Seq[node.Validator], error) {
	ids, all, err := ups.watched(ctx)
	if err != nil {
		return nil, err
	}
	if all {
		set, err := n.PlatformValidatorSet(ctx, node.PrimaryNetworkID)
		if err != nil {
			return nil, err
		}
		return set.All(), nil
	}
	ids = slices.Concat(ids, others)
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 1 {
		// Asked for exactly one, a node adds all its delegators, which may be
		// thousands. An ID that nobody has leaves them out.
		ids = append(ids, nobody)
	}
	entries, err := n.PlatformCurrentValidators(ctx, node.PrimaryNetworkID, ids...)
	return slices.Values(entries), err
}

// nobody is the node ID of twenty zero bytes.
const nobody = "NodeID-111111111111111111116DBWJs"

// first asks the nodes in turn until one answers: those first whose last
// answer was good. That it does not know the method is an answer; that it does
// not run the chain is not, while another may. A node that does not answer costs
// half of the time that is left, so that a hung one does not hold up the rest.
func first[T any](ctx context.Context, nodes []*Node, put func(context.Context, *Node) (T, error)) (T, error) {
	order := slices.DeleteFunc(slices.Clone(nodes), func(n *Node) bool { return n.foreign.Load() })
	slices.SortStableFunc(order, func(a, b *Node) int { return cmp.Compare(rank(a), rank(b)) })
	var zero T
	var errs []error
	for i, n := range order {
		parts := 2
		if i == len(order)-1 {
			parts = 1
		}
		turn, cancel := share(ctx, parts)
		v, err := put(turn, n)
		cancel()
		if err == nil || node.IsNotOffered(err) {
			return v, err
		}
		errs = append(errs, fmt.Errorf("node %s: %w", n.Name(), err))
		if ctx.Err() != nil {
			break
		}
	}
	return zero, noAnswer(errs)
}

// each asks all nodes at once and returns what they answer, in their order. One
// that does not answer is missing, and costs half of the time that is left. The
// error says why all are missing.
func each[T any](ctx context.Context, nodes []*Node, put func(context.Context, *Node) (T, error)) ([]T, error) {
	ctx, cancel := share(ctx, 2)
	defer cancel()
	answers := make([]T, len(nodes))
	missing := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { answers[i], missing[i] = put(ctx, n) })
	}
	wg.Wait()
	var found []T
	var errs []error
	for i, err := range missing {
		if err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", nodes[i].Name(), err))
			continue
		}
		found = append(found, answers[i])
	}
	if len(found) == 0 {
		return nil, noAnswer(errs)
	}
	return found, nil
}

// noAnswer tells in one error why no node answered.
func noAnswer(errs []error) error {
	switch len(errs) {
	case 0:
		return errors.New("there is no node to ask: name some in AVAX_NODES, all of one network")
	case 1:
		return errs[0]
	}
	// The one that runs the chain may be the one that fails.
	worst := max(0, slices.IndexFunc(errs, func(err error) bool { return !errors.Is(err, ErrNotOffered) }))
	return fmt.Errorf("none of %d nodes could tell; %w", len(errs), errs[worst])
}

func rank(n *Node) int {
	if n.Healthy() {
		return 0
	}
	return 1
}
