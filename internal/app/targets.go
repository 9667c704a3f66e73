package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/fleet"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// targets are the current upstreams.
type targets struct {
	cfg     *config.Config
	metrics *scrape.Metrics
	state   *state.Dir   // nil: in memory
	data    *dataService // nil without the Data service
	// admit, if set, is called before each request to an upstream, and may reject it.
	admit func(ctx context.Context, upstream string) error
	conns []nodeConn
	// scheduler, if set, is notified when a node has stopped or begun to answer.
	scheduler *schedule.Scheduler
	// answered receives a value when a node has begun to answer.
	answered chan struct{}
	// shard has the nodes of this shard. all has every node, those of this shard first, for facts about the network and chains; it is
	// nil if another shard exports them.
	shard, all *collectors.Upstreams
}

// nodeConn is a configured node and its client.
type nodeConn struct {
	fleet.Node
	up   *scrape.Upstream
	node *collectors.Node
}

// newTargets creates the clients of all upstreams. It makes no calls.
func newTargets(cfg *config.Config, dir *state.Dir, m *scrape.Metrics) (*targets, error) {
	t := &targets{cfg: cfg, metrics: m, state: dir, answered: make(chan struct{}, 1)}
	t.shard = &collectors.Upstreams{Targets: collectors.NewTargets(nil, cfg.Chains), Watch: cfg.Watch, Ledger: &collectors.Ledger{State: dir}}
	t.shard.NetworkID = cfg.NetworkID
	if cfg.MetricsURL != "" {
		up, err := t.upstream(scrape.Options{Name: "metrics", URL: cfg.MetricsURL, MaxWait: serviceMaxWait})
		if err != nil {
			return nil, err
		}
		t.shard.Metrics = metrics.New(up)
	}
	if cfg.DataURL != "" {
		var err error
		if t.data, err = newDataService(t); err != nil {
			return nil, err
		}
		t.shard.Data = &collectors.DataService{
			Client: t.data.Client, Network: cfg.Network, Currency: cfg.Currency, Ledger: collectors.Ledger{State: dir},
		}
	}
	switch {
	case cfg.Shard.Of <= 1:
		t.all = t.shard
	case cfg.Shard.SpeaksForTheNetwork():
		all := *t.shard
		all.Targets = collectors.NewTargets(nil, cfg.Chains)
		all.NetworkID = cfg.NetworkID
		t.all = &all
	}
	conns, err := t.connect(cfg.Nodes)
	if err != nil {
		return nil, err
	}
	t.use(conns)
	return t, nil
}

// serviceMaxWait is the maximum pause that a service can request. Its limits are per minute.
const serviceMaxWait = 5 * time.Minute

// upstream creates a client with the common limits.
func (t *targets) upstream(o scrape.Options) (*scrape.Upstream, error) {
	o.Timeout, o.Concurrency, o.MaxBody = t.cfg.Timeout, cmp.Or(o.Concurrency, t.cfg.Concurrency), t.cfg.MaxBody
	o.Metrics, o.Transport = t.metrics, t.cfg.Transport
	own := o.Admit
	o.Admit = func(ctx context.Context, op string) error {
		if t.admit != nil {
			if err := t.admit(ctx, o.Name); err != nil {
				return err
			}
		}
		if own != nil {
			return own(ctx, op)
		}
		return nil
	}
	return scrape.New(o)
}

// connect returns the connections to these nodes: the existing one with new credentials if the entry is unchanged, otherwise a new
// one.
func (t *targets) connect(nodes []fleet.Node) ([]nodeConn, error) {
	var conns []nodeConn
	var errs []error
	for _, n := range nodes {
		if t.all == nil && (n.Observer || !t.cfg.Shard.Holds(n.Name)) {
			continue
		}
		if c, same := t.present(n); same {
			conns = append(conns, nodeConn{n, c.up, c.node})
			continue
		}
		c, err := t.open(n)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		conns = append(conns, c)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, c := range conns {
		if old, same := t.present(c.Node); same && !old.SameCredentials(c.Node) {
			errs = append(errs, c.up.Renew(c.Header, c.TLS))
		}
	}
	return conns, errors.Join(errs...)
}

// open creates the client of a node or observer.
func (t *targets) open(n fleet.Node) (nodeConn, error) {
	var asked *collectors.Node
	options := scrape.Options{
		Name: n.Name, URL: n.URL, Header: n.Header, Host: n.Host, TLS: n.TLS, Changed: func() { t.callsChanged(asked) },
	}
	wrap := collectors.NewNode
	if n.Observer {
		options.Changed = nil
		options.Concurrency, options.MaxWait = observerConcurrency, observerMaxWait
		options.Share, options.Withholds = observerShare, node.IsWithheld
		// Half as a burst, and half within the following minute.
		options.Burst = (t.cfg.ObserverBudget + 1) / 2
		options.Rate = float64(t.cfg.ObserverBudget) / 2 / time.Minute.Seconds()
		wrap = collectors.NewObserver
	}
	up, err := t.upstream(options)
	if err != nil {
		return nodeConn{}, err
	}
	asked = wrap(node.New(up))
	if !n.Observer {
		asked.Changed = func(answers bool) {
			if !answers {
				up.ForgetAnswers()
			}
			t.nodeChanged(asked, answers)
		}
	}
	return nodeConn{n, up, asked}, nil
}

// An observer belongs to another operator. It gets at most two concurrent calls. Its answers are shared for half the period of its
// jobs. Pauses that it requests are respected, up to an hour.
const (
	observerConcurrency = 2
	observerShare       = 30 * time.Second
	observerMaxWait     = time.Hour
)

// present returns the connection to a node with an unchanged entry.
func (t *targets) present(n fleet.Node) (nodeConn, bool) {
	i := slices.IndexFunc(t.conns, func(c nodeConn) bool { return c.Same(n) })
	if i < 0 {
		return nodeConn{}, false
	}
	return t.conns[i], true
}

// use activates these connections, and closes the others.
func (t *targets) use(conns []nodeConn) {
	for _, c := range t.conns {
		if !connected(conns, c) {
			c.up.Close()
		}
	}
	t.conns = conns
	var shard, others []*collectors.Node
	for _, c := range conns {
		if c.Observer || t.cfg.Shard.Holds(c.Name) { // only the shard for the network calls observers
			shard = append(shard, c.node)
		} else {
			others = append(others, c.node)
		}
	}
	t.shard.SetNodes(shard)
	if t.all != nil {
		t.all.SetNodes(append(shard, others...))
	}
}

// connected reports whether a connection is in the list.
func connected(conns []nodeConn, c nodeConn) bool {
	return slices.ContainsFunc(conns, func(o nodeConn) bool { return o.up == c.up })
}

// jobs binds the enabled collectors: those about a node to the nodes of this shard, those about the network or a chain to all nodes.
func (t *targets) jobs() []schedule.Job {
	var all []schedule.Job
	for _, spec := range t.cfg.Collectors {
		for _, j := range spec.Jobs(t.shard, t.all) {
			gentle := t.shard.Gentle(j.Target)
			all = append(all, schedule.Job{
				Key:      snapshot.Key{Collector: spec.Name, Target: j.Target},
				Families: spec.Families,
				Choice:   t.cfg.Choice,
				Limit:    t.cfg.SeriesLimit,
				When:     t.cfg.Schedule(spec, j.Target, gentle),
				Shares:   spec.Shares,
				Probe:    spec.Probe,
				OnChange: spec.OnChange && !gentle,
				Retry:    spec.Cost == nil, // the Data service counts calls
				Collect:  j.Collect,
			})
		}
	}
	return all
}

// setNodes replaces the nodes. Jobs of unchanged nodes continue, new nodes start at once, removed nodes lose their samples. A node
// whose entry changed counts as removed and new. On an error nothing changes.
func (a *App) setNodes(nodes []fleet.Node) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.targets.conns
	after, err := a.targets.connect(nodes)
	if err != nil {
		return err
	}
	removed := map[string]bool{}
	for _, c := range before {
		if !connected(after, c) {
			removed[c.Name] = true
		}
	}
	added := 0
	for _, c := range after {
		if !connected(before, c) {
			added++
		}
	}
	if len(removed) > 0 {
		// The scheduler identifies a job by name, and a new node may have the name of a removed one.
		a.scheduler.Set(slices.DeleteFunc(a.targets.jobs(), func(j schedule.Job) bool {
			return removed[j.Target.Node]
		}))
	}
	a.targets.use(after)
	a.scheduler.Set(a.targets.jobs())
	a.warnIfOverBudget()
	a.log.Info("configuration reloaded", "config", "nodes", "nodes", len(a.targets.shard.Nodes()), "added", added, "removed", len(removed))
	return nil
}

// unreachable returns the names of the nodes that do not answer now, or have not answered within this time, as the collectors about the
// network see them.
func (t *targets) unreachable(within time.Duration) []string {
	ups := t.all
	if ups == nil {
		ups = t.shard
	}
	return ups.Unreachable(within)
}

// callsChanged reports that the calls to a node have begun to fail or to succeed. A node of another shard has no collector up here,
// so its other calls count.
func (t *targets) callsChanged(n *collectors.Node) {
	switch {
	case t.scheduler == nil:
	case n.Probed():
		t.scheduler.CallsChanged(n.Name())
	default:
		t.scheduler.NodeChanged(n.Name(), n.Healthy())
	}
}

func (t *targets) nodeChanged(n *collectors.Node, answers bool) {
	if t.scheduler != nil {
		t.scheduler.NodeChanged(n.Name(), answers)
	}
	if answers {
		select {
		case t.answered <- struct{}{}:
		default:
		}
	}
}
