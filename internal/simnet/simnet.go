// Package simnet is a simulated Avalanche network. Its nodes speak the node RPC, its metrics service and its
// data service speak REST, exactly as the real ones do: the same fields, types, error texts, status codes and
// traps.
//
// There is one truth, the Network: who validates what since when, who was away when, how high the chains are.
// It is a function of the clock; nothing runs in the background. A view is that truth as one node sees it at
// one instant, and each service has one file that renders its answers from a view:
//
//	truth.go scene.go change.go    the truth, what New builds, what a test or a demonstration may change
//	node.go view.go                a node: its process, its chains, its paths
//	info.go platform.go validators.go evm.go avm.go admin.go health.go     one file per service of a node;
//	platformtx.go evmconfig.go     blocks and balances of P, configuration of an EVM chain
//	rest.go metrics.go             what REST services share: routes, pages, keys, limits; the metrics service
//	data.go dataevm.go dataicm.go  the data service: the primary network, EVM chains, messages between chains
//	observer.go                    a public endpoint before two machines of others
//	ledger.go                      the part of the truth that only the data service tells
//	endpoint.go fault.go rpc.go id.go  what all of them share: faults, recorded calls, the JSON-RPC envelope, IDs
//	transport.go serve.go          two ways in: in memory for synthetic time, and real sockets
//
// The package imports nothing of this module, so that a client and a server never share a mistake.
//
// Participants are named alpha, bravo, charlie, delta, echo (primary validators), foxtrot (validates an L1
// only), golf (auto-renewed validator) and hotel (small validator); the last two are peers without an API.
// Chains are named P, X, C, examplel1 and examplepoa. A method that takes a name also takes the ID; it panics
// on a name that the scene does not have, since that is a mistake of the caller and not a state of a network.
//
// To the data service the network is mainnet. On its EVM chains there are the addresses from Account to
// Messenger; what happens to them began 23 hours before New and goes on by the clock.
package simnet

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Options shape the network that New builds. The zero value is the usual one.
type Options struct {
	// Seed decides every ID, key, hash and order. Equal seeds and clocks give equal networks.
	Seed uint64
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Validators adds that many primary validators that are only peers, for scale.
	Validators int
	// Startup says how long the steps of a node's start take; zero fields take their defaults.
	Startup Startup
	// StartKeyPaging makes the metrics service page with startKey and nextPageStartKey
	// instead of pageToken and nextPageToken; both spellings exist in the wild.
	StartKeyPaging bool
	// PageOverlap is how many items of a page of the data service come again on the next one, as where a list
	// grows while it is read. Pages of no more items do not overlap.
	PageOverlap int
}

// Startup holds the instants of a node's start, counted from Start. Before Listen connections are refused.
type Startup struct {
	Listen time.Duration // the API answers: /ext/info at once, P 503, every other chain 404 (default 1 s)
	Peers  time.Duration // all peers are connected (3 s)
	PChain time.Duration // P is bootstrapped; the other chains exist and answer 503 (5 s)
	Chains time.Duration // X and C are bootstrapped (8 s)
	L1s    time.Duration // the tracked chains of other subnets are bootstrapped (12 s)
	Uptime time.Duration // the last peer has told what uptime it observes (20 s)
}

func (s Startup) orDefault() Startup {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&s.Listen, time.Second)
	set(&s.Peers, 3*time.Second)
	set(&s.PChain, 5*time.Second)
	set(&s.Chains, 8*time.Second)
	set(&s.L1s, 12*time.Second)
	set(&s.Uptime, 20*time.Second)
	return s
}

// Network is the simulated network. All methods are safe for concurrent use.
type Network struct {
	opts Options

	mu      sync.Mutex
	rng     *rand.Rand
	changed chan struct{} // closed and replaced at every change
	calls   []Call
	truth
	nodes   []*Node
	metrics *Service
	data    *Service

	observer *Observer
}

// New builds the scene described at the top of the package, all healthy.
func New(o Options) *Network {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Startup = o.Startup.orDefault()
	n := &Network{
		opts:    o,
		rng:     rand.New(rand.NewPCG(o.Seed, 0x5eed)),
		changed: make(chan struct{}),
	}
	n.build(n.clock())
	return n
}

// clock is the present, in UTC and without a monotonic reading.
func (n *Network) clock() time.Time { return n.opts.Now().UTC().Round(0) }

// Node returns the node of that name or ID. It panics if there is none.
func (n *Network) Node(name string) *Node {
	for _, node := range n.nodes {
		if node.name == name || node.member.id == name {
			return node
		}
	}
	panic(fmt.Sprintf("simnet: no node %q", name))
}

// Nodes returns the nodes that have an API, in the order of their names.
func (n *Network) Nodes() []*Node { return slices.Clone(n.nodes) }

// NodeID returns the ID of a participant: a node, or a peer without an API.
func (n *Network) NodeID(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mustMember(name).id
}

// Chain holds the identifiers of a chain.
type Chain struct {
	Name       string // as platform.getBlockchains spells it; "P" for the P-Chain, which is not listed there
	ID         string
	SubnetID   string
	VMID       string
	EVMChainID uint64 // 0 unless the chain is an EVM chain
}

// Chain returns the identifiers of the chain of that name, alias or ID.
func (n *Network) Chain(name string) Chain {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.mustChain(name)
	return Chain{Name: c.name, ID: c.id, SubnetID: c.subnet.id, VMID: c.vm, EVMChainID: c.evmID}
}

// ValidationID returns what identifies a validator of a chain: the validation ID on an L1, the transaction
// that added it elsewhere.
func (n *Network) ValidationID(chain, validator string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, m := n.mustChain(chain).subnet, n.mustMember(validator)
	if v := s.l1Validator(m); v != nil {
		return v.validationID
	}
	return n.mustStaker(s, m).txID
}

// Owner is the address, without its chain prefix, that owns everything in the scene.
const Owner = "custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p"

// Call is one question that the network was asked.
type Call struct {
	At       time.Time
	Upstream string // name of the node, or "metrics" or "data"
	Path     string
	// Method is the JSON-RPC method, or for REST the verb and the pattern, as "GET /v1/avg_tps/{chainId}".
	Method string
	// Params are the JSON-RPC parameters as sent; for REST the query, as a JSON string.
	Params json.RawMessage
}

const keptCalls = 1 << 14

// Calls returns what was asked since New or ResetCalls, oldest first; of very many only the latest are kept.
func (n *Network) Calls() []Call {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.calls)
}

// ResetCalls forgets what was asked.
func (n *Network) ResetCalls() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = nil
}

func (n *Network) record(c Call) {
	if len(n.calls) == keptCalls {
		n.calls = slices.Delete(n.calls, 0, keptCalls/2)
	}
	n.calls = append(n.calls, c)
}

// change runs f on the truth of the present and wakes whoever waits for changes.
func (n *Network) change(f func(now time.Time)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.clock()
	n.advance(now)
	f(now)
	close(n.changed)
	n.changed = make(chan struct{})
}

// shuffle puts a list into the random order in which real nodes answer lists made from maps.
func shuffle[T any](rng *rand.Rand, list []T) {
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}
