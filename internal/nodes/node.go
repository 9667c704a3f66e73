package nodes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Node is a configured node or an observer.
type Node struct {
	*node.Client
	// Observer: the endpoint is not one of your nodes, and reports only facts about the network. Collectors of facts about
	// a node do not call observers, because each answer may come from a different machine.
	Observer bool
	// Changed, if set, is called when the result of the up probe changes, another process answers (see Since), or a chain stops or answers again. It must
	// not block.
	Changed func(answers bool)
	// Lost, if set, returns for how long this process has been late in total.
	Lost func() time.Duration

	pool       atomic.Pointer[Pool]
	archive    atomic.Bool   // see SetArchive
	discovered atomic.Bool   // whether Discover has found out the node's chains
	added      time.Time     // time at which the exporter added the node
	adds       *rate.Limiter // chains that no other node tracks: see Discover

	mu            sync.Mutex
	id            string
	network       uint64    // 0: not known
	networkAt     time.Time // when the network was last requested with success
	networkFailed time.Time // when a request for the network last failed
	// probed is true after the first up probe: a run of the collector "up". down is true if the node did not answer the
	// latest up probe.
	probed, down bool
	upProbe      time.Time // of the last probe that was answered
	past         Past
	since        time.Time            // see Since
	told         time.Time            // the value of Since that Changed was called for
	failed       map[string]int       // failed calls of a chain in a row, by its reference
	states       map[string]string    // what may change which methods the node offers: see noteState
	chains       map[string]time.Time // when the last answer of a chain was requested, by its reference; see NoteChain
	// waiters ends when the node does not answer an up probe, and with it the calls that wait for the node.
	waiters       context.Context
	cancelWaiters context.CancelFunc
}

// New returns a node with this client.
func New(c *node.Client) *Node {
	n := &Node{Client: c, added: time.Now(), failed: map[string]int{}, states: map[string]string{}, chains: map[string]time.Time{}}
	n.adds = rate.NewLimiter(rate.Every(chainsEvery), chainsOfNode)
	n.waiters, n.cancelWaiters = context.WithCancel(context.Background())
	return n
}

// NewObserver returns an observer with this client.
func NewObserver(c *node.Client) *Node {
	n := New(c)
	n.Observer = true
	return n
}

// SetArchive sets whether the operator says that the node keeps the state of all blocks.
func (n *Node) SetArchive(is bool) { n.archive.Store(is) }

// IsArchive reports what SetArchive set.
func (n *Node) IsArchive() bool { return n.archive.Load() }

// ID returns the node's ID, which is empty for an observer. It calls the node only while the ID is not known, so the ID
// stays known while the node is down. The collectors "identity" and "fleet" call Identity, which updates the ID.
func (n *Node) ID(ctx context.Context) (string, error) {
	if n.Observer {
		return "", nil
	}
	if id := n.KnownID(); id != "" {
		return id, nil
	}
	who, err := n.Identity(ctx)
	return who.NodeID, err
}

// KnownID returns the node's ID without a call. It is empty if the ID is not known.
func (n *Node) KnownID() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.id
}

// Identity requests the node's ID and BLS key, and stores the ID for later calls of ID.
func (n *Node) Identity(ctx context.Context) (node.Identity, error) {
	who, err := n.NodeID(ctx)
	if err != nil {
		return node.Identity{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := time.Now(); n.past.identified(who.NodeID, now) {
		n.since = now
	}
	n.id = who.NodeID
	return who, nil
}

// Since returns when the node was last silent, restarted with another version, or changed its identity; zero if none was seen. What it reported before
// does not count: another process answers now.
func (n *Node) Since() time.Time {
	refused := n.Refused()
	n.mu.Lock()
	defer n.mu.Unlock()
	if refused.After(n.since) {
		return refused
	}
	return n.since
}

// NodeVersion requests the versions of the node and its VMs.
func (n *Node) NodeVersion(ctx context.Context) (node.Version, error) {
	v, err := n.Client.NodeVersion(ctx)
	n.noteState("version", fmt.Sprint(v.Version, v.VMVersions), err)
	return v, err
}

// Upgrades requests the upgrade schedule of the node.
func (n *Node) Upgrades(ctx context.Context) (node.Upgrades, error) {
	u, err := n.Client.Upgrades(ctx)
	active := map[string]time.Time{}
	for name, at := range u.Scheduled() {
		if at.Before(time.Now()) {
			active[name] = at.UTC()
		}
	}
	n.noteState("upgrades", fmt.Sprint(active), err)
	return u, err
}

// IsBootstrapped requests whether the node has bootstrapped a chain.
func (n *Node) IsBootstrapped(ctx context.Context, chain string) (bool, error) {
	is, err := n.Client.IsBootstrapped(ctx, chain)
	n.noteState("bootstrapped "+chain, fmt.Sprint(is), err)
	return is, err
}

// NoteChain stores how the last call of a chain ended, and when its answer was requested.
func (n *Node) NoteChain(chain string, requested time.Time, err error) {
	n.mu.Lock()
	delete(n.chains, chain)
	if err == nil {
		n.chains[chain] = requested
	}
	n.mu.Unlock()
	n.noteState("bootstrapped "+chain, "true", err)
}

// ChainAnswered reports whether the last call of a chain, not older than MaxAge, had an answer. Then the node has bootstrapped the chain: it rejects
// calls of others.
func (n *Node) ChainAnswered(ctx context.Context, chain string) bool {
	since := n.Since()
	n.mu.Lock()
	requested := n.chains[chain]
	n.mu.Unlock()
	return requested.After(since) && scrape.Reuse(ctx, requested)
}

// noteState stores a state of the node. If it changed, the node may offer other methods, so those that it refused are called again. Observers are
// several machines with different states.
func (n *Node) noteState(name, state string, err error) {
	if err != nil || n.Observer {
		return
	}
	n.mu.Lock()
	before, known := n.states[name]
	n.states[name] = state
	changed := known && before != state
	if changed && (name == "version" || state == "false") { // a chain bootstraps again after a restart
		n.since = time.Now()
	}
	n.mu.Unlock()
	if changed {
		n.ForgetAnswers()
	}
}

// Probed reports whether the collector "up" has called the node.
func (n *Node) Probed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.probed
}

// Probe calls the node now, with info.getNodeVersion, or else info.getNodeID, or else its health API, stores whether it answered, and returns the outcome and
// how long that took, without the time for which this process was late. If it did not answer, Probe cancels the calls that wait for the node while others could
// answer.
// err is not about the node: the exporter's host lacks a resource for the call, such as CPU, and nothing is stored.
func (n *Node) Probe(ctx context.Context) (outcome scrape.Outcome, took time.Duration, err error) {
	lost := func() time.Duration { return 0 }
	if n.Lost != nil {
		lost = n.Lost
	}
	began, before := time.Now(), lost()
	ctx = scrape.MaxAge(ctx, time.Millisecond) // never uses an older answer, but shares the new one
	_, err = n.NodeVersion(ctx)
	if outcome = scrape.OutcomeOf(err); outcome == scrape.LocalLimit {
		return outcome, 0, err
	}
	for _, next := range []func() error{
		func() error { _, err := n.NodeID(ctx); return err }, // a release may change or remove the method
		func() error { _, err := n.Health(ctx); return err }, // a node may have no info API: --api-info-enabled
	} {
		switch scrape.OutcomeOf(err) {
		case scrape.NotOffered, scrape.NotFound, scrape.Malformed:
			err = next()
		}
	}
	n.setProbed(err == nil)
	return scrape.OutcomeOf(err), max(0, time.Since(began)-(lost()-before)), nil
}

func (n *Node) setProbed(answers bool) {
	since := n.Since()
	n.mu.Lock()
	n.noteProbe(answers, time.Now())
	changed := answers == n.down || answers && since.After(n.told) // down was the opposite
	n.probed, n.down, n.told = true, !answers, since
	if !answers {
		n.since = time.Now()
		n.cancelWaiters()
		n.waiters, n.cancelWaiters = context.WithCancel(context.Background())
	}
	n.mu.Unlock()
	if changed && n.Changed != nil {
		n.Changed(answers)
	}
}

// CallChain makes a call of a chain of the node. It leaves time to call the node, and stores whether the chain failed or hung while the node itself
// answered: see ChainStopped. If that changes, it calls Changed.
func (n *Node) CallChain(ctx context.Context, ref string, call func(context.Context) error) error {
	limited, cancel := DivideTime(ctx, 2)
	err := call(limited)
	cancel()
	failed := false
	if IsStopped(err) {
		_, nodeErr := n.NodeVersion(scrape.MaxAge(ctx, time.Second))
		failed = nodeErr == nil
	}
	n.mu.Lock()
	before := n.failed[ref] >= stoppedAfter
	switch {
	case err == nil:
		delete(n.failed, ref)
	case failed:
		n.failed[ref]++
	}
	changed := before != (n.failed[ref] >= stoppedAfter)
	n.mu.Unlock()
	if changed && n.Changed != nil {
		n.Changed(true)
	}
	return err
}

// stoppedAfter is how many calls of a chain fail in a row until the chain counts as stopped.
const stoppedAfter = 2

// IsStopped reports whether an error of a chain is that of a VM that ended or hangs, if the node itself answers.
func IsStopped(err error) bool {
	switch scrape.OutcomeOf(err) {
	case scrape.Timeout, scrape.Unavailable, scrape.Unreachable:
		return true
	}
	return false
}

// ChainStopped reports whether the last two calls of the chain failed or hung while the node itself answered, as after the end of the
// chain's VM.
func (n *Node) ChainStopped(ref string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failed[ref] >= stoppedAfter
}

// ChainStopped returns the IDs of the configured nodes on which the chain has stopped. Their peers may still report them as connected.
func (p *Pool) ChainStopped(ref string) map[string]bool {
	return IDsOf(p.Nodes(), func(n *Node) bool { return n.ChainStopped(ref) })
}

// Run runs a collect function that calls the node or observer. It returns an error if the observer belongs to another
// network.
func (n *Node) Run(ctx context.Context, collect func() error) error {
	if n.Observer {
		if err := n.Belongs(ctx); err != nil {
			return n.asNotOffered(err)
		}
	}
	return n.asNotOffered(collect())
}

// asNotOffered converts the error of an observer that does not offer a method, and never did, into metric.ErrNotOffered.
func (n *Node) asNotOffered(err error) error {
	if n.Observer && node.IsNotServed(err) && !scrape.IsLost(err) && !errors.Is(err, metric.ErrNotOffered) {
		return fmt.Errorf("%w: %w", metric.ErrNotOffered, err)
	}
	return err
}
