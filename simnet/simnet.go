// Package simnet simulates an Avalanche network. Its nodes answer JSON-RPC calls, its Metrics service and Data service answer REST
// calls. The answers have the same fields, types, error texts, status codes and peculiarities as those of the real upstreams.
//
// The Network has one state, the truth: validators, uptimes and chains. The truth is a function of the clock; nothing runs in the
// background. A view is the truth from the perspective of one node at one time. Each service has one file that renders answers
// from a view:
//
//	truth.go initial.go change.go  the truth, the initial network, and what tests and demos may change
//	node.go view.go                a node: its process, its chains, its paths
//	info.go platform.go validators.go evm.go avm.go admin.go health.go     one file per service of a node;
//	platformtx.go evmconfig.go     blocks and balances of P, configuration of an EVM chain
//	proposer.go                    which validators may build the next block of a chain
//	rest.go metrics.go             shared parts of REST services: routes, pages, keys, limits; the Metrics service
//	data.go datal1.go              the Data service: the primary network, validators of L1s
//	dataevm.go dataicm.go          the same: EVM chains, messages between chains
//	observer.go                    a public endpoint of another operator
//	ledger.go                      the part of the truth that only the Data service has
//	endpoint.go fault.go rpc.go id.go  shared by all: faults, recorded calls, the JSON-RPC envelope, IDs
//	transport.go serve.go          access in memory, for synthetic time, and over sockets
//	reserve_linux.go reserve_other.go  a port that no other program gets
//
// The package imports no other package of this module, so that clients and simulation do not share mistakes.
//
// Participants are alpha, bravo, charlie, delta, echo (primary validators), foxtrot (validates only an L1), golf (auto-renewed
// validator) and hotel (small validator). Golf and hotel are peers without an API. The chains are P, X, C, examplel1 and examplepoa.
// A parameter for a name also accepts the ID. An unknown name causes a panic, because it is a mistake of the caller.
//
// In the Data service the network is mainnet. The addresses from Account to Messenger are on its EVM chains; their history
// starts 23 hours before New.
package simnet

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Options configure the network. The zero value is the default network.
type Options struct {
	// Seed determines every ID, key, hash and order. Networks with equal seeds and clocks are equal.
	Seed uint64
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Validators adds this number of primary validators without an API, for scale.
	Validators int
	// Others adds this number of primary validators without an API, other01 and so on, each with about as much stake as alpha: so that the loss of one node
	// affects no other, as on a real network. The first OthersOfL1s of them validate examplel1 and examplepoa too.
	Others int
	// Nodes are the names of further primary validators, with an API.
	Nodes []string
	// Startup has the durations of the steps of a node's start; zero fields mean the defaults.
	Startup Startup
	// PageOverlap is the number of items of a page of the Data service that the next page repeats, as in a growing list. Smaller
	// pages do not overlap.
	PageOverlap int
}

// OthersOfL1s is the number of Options.Others that validate examplel1 and examplepoa.
const OthersOfL1s = 6

// Startup holds when each step of a node's start is complete, counted from Start. Before Listen, connections are refused.
type Startup struct {
	Listen time.Duration // the API answers: /ext/info at once, P 503, every other chain 404 (default 1 s)
	Peers  time.Duration // all peers are connected (3 s)
	PChain time.Duration // P is bootstrapped; the other chains exist and answer 503 (5 s)
	Chains time.Duration // X and C are bootstrapped (8 s)
	L1s    time.Duration // the tracked chains of other subnets are bootstrapped (12 s)
	Uptime time.Duration // the last peer has sent its observed uptime (20 s)
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
	id      int // the network ID that nodes report
	rng     *rand.Rand
	changed chan struct{} // closed and replaced at every change
	calls   []Call
	truth
	nodes   []*Node
	metrics *Service
	data    *Service

	observer *Observer
}

// New returns the network that the package comment describes, in a healthy state.
func New(o Options) *Network {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Startup = o.Startup.orDefault()
	n := &Network{
		id:      networkID,
		opts:    o,
		rng:     rand.New(rand.NewPCG(o.Seed, 0x5eed)),
		changed: make(chan struct{}),
	}
	n.build(n.clock())
	return n
}

// clock returns the current time in UTC without a monotonic reading.
func (n *Network) clock() time.Time { return n.opts.Now().UTC().Round(0) }

// Node returns the node with this name or ID. It panics if there is none.
func (n *Network) Node(name string) *Node {
	for _, node := range n.nodes {
		if node.name == name || node.member.id == name {
			return node
		}
	}
	panic(fmt.Sprintf("simnet: no node %q", name))
}

// Nodes returns the nodes with an API, sorted by name.
func (n *Network) Nodes() []*Node { return slices.Clone(n.nodes) }

// NodeID returns the ID of a participant: a node, or a peer without an API.
func (n *Network) NodeID(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mustMember(name).id
}

// NewNodeID returns a valid ID of no participant, the same for each i.
func (n *Network) NewNodeID(i int) string { return n.truth.newNodeID("new", i) }

// NewID returns a valid ID of a chain, subnet or transaction that nothing has. Different i give different IDs.
func (n *Network) NewID(i int) string { return n.truth.newID("new", i) }

// Chain holds the identifiers of a chain.
type Chain struct {
	Name       string // as in platform.getBlockchains; "P" for the P-Chain, which is not listed there
	ID         string
	SubnetID   string
	VMID       string
	EVMChainID uint64 // 0 unless the chain is an EVM chain
}

// Chain returns the identifiers of the chain with this name, alias or ID.
func (n *Network) Chain(name string) Chain {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.mustChain(name)
	return Chain{Name: c.name, ID: c.id, SubnetID: c.subnet.id, VMID: c.vm, EVMChainID: c.evmID}
}

// ValidationID returns the identifier of a validator of a chain: the validation ID on an L1, the ID of the transaction that
// added it elsewhere.
func (n *Network) ValidationID(chain, validator string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, m := n.mustChain(chain).subnet, n.mustMember(validator)
	if v := s.l1Validator(m); v != nil {
		return v.validationID
	}
	return n.mustStaker(s, m).txID
}

// Owner is the address that owns everything in the network, without its chain prefix.
const Owner = "custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p"

// Delegator is the P-Chain address, without "P-", that the rewards of some delegations belong to.
const Delegator = "custom1qypqxpq9qcrsszg2pvxq6rs0zqg3yyc5e6ndc5"

// Call is one call that an upstream received.
type Call struct {
	At       time.Time
	Upstream string // name of the node, or "metrics" or "data"
	Path     string
	// Method is the JSON-RPC method or, for REST, the verb and the pattern, such as "GET /v1/avg_tps/{chainId}".
	Method string
	// Params are the JSON-RPC parameters as sent; for REST the query, as a JSON string.
	Params json.RawMessage
}

const keptCalls = 1 << 14

// Calls returns the calls since New or ResetCalls, oldest first. If there are very many, only the latest are kept.
func (n *Network) Calls() []Call {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.calls)
}

// ResetCalls deletes the recorded calls.
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

// change applies f to the truth at the current time, and notifies goroutines that wait for changes.
func (n *Network) change(f func(now time.Time)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.clock()
	n.advance(now)
	f(now)
	n.recordSets(now)
	n.freeze(now)
	close(n.changed)
	n.changed = make(chan struct{})
}

// shuffle shuffles a list. Real nodes send some lists in random order, because they create them from maps.
func shuffle[T any](rng *rand.Rand, list []T) {
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}
