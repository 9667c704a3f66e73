package collector

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
)

// Upstreams has everything that a collector's jobs call or monitor: nodes, chains, the watch list and services.
type Upstreams struct {
	*nodes.Pool
	Watch Watchlist // until SetWatch replaces it: see Watched
	// Data is the Data service, or nil if it is not configured.
	Data *DataService
	// Metrics is the Metrics service, or nil if it is not configured.
	Metrics *metrics.Client
	// State has the values of collectors that survive a restart, such as totals, and how far a list was read. Nil: none
	// survives it.
	State *state.Dir
	// Dial opens the connections of the collector staking_port. Nil: those of the operating system.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Memory state.Dir // what is kept until a restart

	watched   atomic.Pointer[Watchlist]
	mu        sync.Mutex
	reporters map[string]string // see isReporter; by subject
}

// Watched returns what is monitored in addition to nodes and chains.
func (ups *Upstreams) Watched() Watchlist {
	if w := ups.watched.Load(); w != nil {
		return *w
	}
	return ups.Watch
}

// SetWatch replaces what is monitored in addition to nodes and chains. Runs in progress may still use the previous list.
func (ups *Upstreams) SetWatch(w Watchlist) { ups.watched.Store(&w) }

// Load returns a stored value. If there is none, or it is damaged, load returns the zero value.
func Load[T any](ups *Upstreams, key string) T {
	value, _ := state.Load[T](ups.dir(), key)
	return value
}

func (ups *Upstreams) dir() *state.Dir {
	if ups.State == nil {
		return &ups.Memory
	}
	return ups.State
}

// Save stores a value. If the write fails, save notes the error, and the run does not fail.
func (ups *Upstreams) Save(out *metric.Batch, key string, value any) {
	if err := ups.dir().Save(key, value); err != nil {
		out.Note("%v", err)
	}
}

// isReporter returns whether the jobs of a node or chain, by name, set the series about a subject. Two nodes may have the same
// subject, such as the rewards of their common node ID. Only the first of them sets the series. If present returns false
// for the first one, the other replaces it.
func (ups *Upstreams) isReporter(subject, name string, present func(name string) bool) bool {
	ups.mu.Lock()
	defer ups.mu.Unlock()
	if first, known := ups.reporters[subject]; known && first != name && present(first) {
		return false
	}
	if ups.reporters == nil {
		ups.reporters = map[string]string{}
	}
	ups.reporters[subject] = name
	return true
}

// NodeReports returns whether the jobs of this node set the series about its node ID, such as the rewards. Two nodes may have the same ID, and a key
// may move from one node to another.
func (ups *Upstreams) NodeReports(n *nodes.Node, what, id string) bool {
	return ups.isReporter(what+" of "+id, n.Name(), func(name string) bool {
		return slices.ContainsFunc(ups.Nodes(), func(other *nodes.Node) bool { return other.Name() == name && other.KnownID() == id })
	})
}

// ChainReports returns whether the jobs of this chain set the series about a subject, which two monitored chains of
// the same subnet share.
func (ups *Upstreams) ChainReports(c nodes.Chain, subject string) bool {
	return ups.isReporter(subject, c.Name, func(name string) bool {
		return slices.ContainsFunc(ups.Chains(), func(other nodes.Chain) bool { return other.Name == name })
	})
}
