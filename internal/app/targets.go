package app

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// targets are the current upstreams.
type targets struct {
	cfg     *config.Config
	metrics *scrape.Metrics
	state   *state.Dir   // nil: state is kept in memory
	data    *dataService // nil without the Data service
	conns   []nodeConn
	// services are the clients of the Data and Metrics services.
	services map[string]*scrape.Upstream
	// requests are the transports to the Alertmanagers and to a Prometheus.
	requests map[string]*alerting.Transport
	// scheduler, if set, is notified when a node has stopped or begun to answer.
	scheduler *schedule.Scheduler
	// answered receives a value when a node has begun to answer.
	answered chan struct{}
	// ups has the nodes of this shard.
	ups *collector.Upstreams
	// past is what was known of the nodes before the start, by name.
	past map[string]nodes.Past
	// configured is the number of nodes of all shards.
	configured atomic.Int64
}

// nodeConn is a configured node and its client.
type nodeConn struct {
	config.Node
	up   *scrape.Upstream
	node *nodes.Node
}

// newTargets creates the clients of all upstreams. It sends nothing.
func newTargets(cfg *config.Config, dir *state.Dir, m *scrape.Metrics) (*targets, error) {
	t := &targets{cfg: cfg, metrics: m, state: dir, answered: make(chan struct{}, 1), services: map[string]*scrape.Upstream{}}
	t.requests = map[string]*alerting.Transport{}
	t.ups = &collector.Upstreams{Pool: nodes.NewPool(nil, cfg.Chains.List), Watch: cfg.Upstreams.Watch, State: dir, Dial: cfg.Dial}
	t.ups.NetworkID = cfg.Network.ID
	t.past = collector.Load[map[string]nodes.Past](t.ups, nodes.PastEntry)
	first := cfg.Shard == 0 // one shard calls the services and monitors the watch lists
	if !first {
		t.ups.Watch = collector.Watchlist{Validators: cfg.Upstreams.Watch.Validators}
	}
	if first && cfg.MetricsURL != "" {
		up, err := t.service(scrape.Options{Name: "metrics", URL: string(cfg.MetricsURL), RepeatAfter: metrics.RepeatAfter})
		if err != nil {
			return nil, err
		}
		t.ups.Metrics = metrics.New(up)
	}
	if first && cfg.DataURL != "" {
		var err error
		if t.data, err = newDataService(t); err != nil {
			return nil, err
		}
		t.ups.Data = collector.NewDataService(t.data.Client, cfg.Network.Name, string(cfg.Currency))
	}
	conns, err := t.connect(cfg.Upstreams.Nodes)
	if err != nil {
		return nil, err
	}
	t.use(conns)
	return t, nil
}

// Upstreams returns the nodes and services of all shards, for a command. It sends nothing. The error is a config.InputError.
func Upstreams(cfg *config.Config) (*collector.Upstreams, error) {
	cfg.Shard, cfg.TotalShards = 0, 1
	t, err := newTargets(cfg, nil, nil)
	if err != nil {
		return nil, config.InputError{Err: err}
	}
	return t.ups, nil
}

// service creates the client of a service.
func (t *targets) service(o scrape.Options) (*scrape.Upstream, error) {
	access := t.cfg.Upstreams.Services[o.Name]
	o.Host, o.Header, o.TLS, o.MaxWait = access.Host, access.Header, access.TLS, serviceMaxWait
	up, err := t.upstream(o)
	if err == nil {
		t.services[o.Name] = up
	}
	return up, err
}

// requestsTo returns the transport of requests to the Alertmanagers or to a Prometheus.
func (t *targets) requestsTo(name string) (http.RoundTripper, error) {
	if t.cfg.Transport != nil {
		return t.cfg.Transport, nil
	}
	transport, err := alerting.NewTransport(name, t.cfg.Upstreams.HTTP[name])
	if err != nil {
		return nil, config.InputError{Err: err}
	}
	t.requests[name] = transport
	return transport, nil
}

// serviceMaxWait is the maximum pause that the Data or Metrics service can request. Their limits are per minute.
const serviceMaxWait = 5 * time.Minute

// upstream creates a client with the common limits.
func (t *targets) upstream(o scrape.Options) (*scrape.Upstream, error) {
	o.Timeout, o.Concurrency = time.Duration(t.cfg.Timeout), cmp.Or(o.Concurrency, int(t.cfg.Concurrency))
	o.Metrics, o.Transport, o.Lost = t.metrics, t.cfg.Transport, t.lost
	return scrape.New(o)
}

// connect returns the connections to these nodes. If the entry of a node is unchanged, it reuses the existing connection with the
// new credentials. Otherwise it creates a connection.
func (t *targets) connect(nodes []config.Node) ([]nodeConn, error) {
	var conns []nodeConn
	var errs []error
	var own int64
	for _, n := range nodes {
		if !n.Observer {
			own++
		}
		if !n.Observer && !config.Holds(t.cfg.Shard, t.cfg.TotalShards, n.Name) {
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
		if old, same := t.present(c.Node); same && !old.SameCredentials(c.Access) {
			errs = append(errs, c.up.Renew(c.Header, c.TLS))
		}
	}
	err := errors.Join(errs...)
	if err == nil {
		t.configured.Store(own)
	}
	return conns, err
}

// open creates the client of a node or observer.
func (t *targets) open(n config.Node) (nodeConn, error) {
	var client *nodes.Node
	options := scrape.Options{
		Name: n.Name, URL: n.URL, Header: n.Header, Host: n.Host, TLS: n.TLS, Changed: func() { t.callsChanged(client) },
		RepeatAfter: node.RepeatAfter,
	}
	wrap := nodes.New
	if n.Observer {
		options.Changed = nil
		options.Concurrency, options.MaxWait = observerConcurrency, observerMaxWait
		options.Share, options.RepeatAfter = observerShare, node.RepeatAfterObserver
		// Half of the budget is a burst, and the other half is spread over a minute.
		options.Burst = (int(t.cfg.ObserverBudget) + 1) / 2
		options.Rate = float64(t.cfg.ObserverBudget) / 2 / time.Minute.Seconds()
		wrap = nodes.NewObserver
	}
	up, err := t.upstream(options)
	if err != nil {
		return nodeConn{}, err
	}
	client = wrap(node.New(up))
	if !n.Observer {
		client.Remember(t.pastOf(n.Name))
		client.Lost = t.lost
		client.Changed = func(answers bool) {
			up.ForgetAnswers() // another process answers
			t.nodeChanged(client, answers)
		}
	}
	return nodeConn{n, up, client}, nil
}

// pastOf returns what is known of a node from before the exporter's start. A name that gets another address at a reload is another node, but the validator that
// it named is still expected.
func (t *targets) pastOf(name string) nodes.Past {
	for _, c := range t.conns {
		if c.Name == name && !c.Observer {
			return nodes.Past{Validated: c.node.Past().Validated}
		}
	}
	past := t.past[name]
	delete(t.past, name) // a name that is removed and added again has none
	return past
}

// Limits for observers, because they belong to other operators: at most two concurrent calls, answers that are shared for half
// the period of a job, and requested pauses of up to an hour.
const (
	observerConcurrency = 2
	observerShare       = 30 * time.Second
	observerMaxWait     = time.Hour
)

// present returns the existing connection to a node, if its entry is unchanged.
func (t *targets) present(n config.Node) (nodeConn, bool) {
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
	var all []*nodes.Node
	for _, c := range conns {
		c.node.SetArchive(c.Labels["archive"] == "true")
		all = append(all, c.node)
	}
	t.ups.SetNodes(all)
}

// connected reports whether a connection is in the list.
func connected(conns []nodeConn, c nodeConn) bool {
	return slices.ContainsFunc(conns, func(o nodeConn) bool { return o.up == c.up })
}

// jobs returns the jobs of the enabled collectors.
func (t *targets) jobs() []schedule.Job {
	var all []schedule.Job
	for _, spec := range t.cfg.Collectors {
		for _, j := range spec.Bind(t.ups) {
			onlyObservers := t.ups.OnlyObservers(j.Target.Node)
			all = append(all, schedule.Job{
				Key:           metric.Key{Collector: spec.Name, Target: j.Target},
				Families:      spec.Families,
				When:          t.cfg.Schedule(spec, j.Target, onlyObservers),
				ReusesAnswers: spec.ReusesAnswers,
				Probe:         spec.Probe,
				Critical:      spec.Critical,
				OnChange:      spec.OnChange && !onlyObservers,
				Retry:         spec.Cost == nil, // no retry at the Data service, because every call counts against the budget
				Collect:       j.Collect,
			})
		}
	}
	return all
}

// setUpstreams replaces the nodes, and the credentials of all upstreams. Jobs of unchanged nodes continue, jobs of new nodes
// start at once, and samples of removed nodes are deleted. A node whose entry changed counts as removed and added.
func (a *App) setUpstreams(u config.Upstreams) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.targets.conns
	after, err := a.targets.connect(u.Nodes)
	for name, up := range a.targets.services {
		err = errors.Join(err, up.Renew(u.Services[name].Header, u.Services[name].TLS))
	}
	for name, transport := range a.targets.requests {
		err = errors.Join(err, transport.Renew(u.HTTP[name]))
	}
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
		// First without the changed nodes: the scheduler identifies a job by name, and a new node may have the name of a removed node.
		a.scheduler.Set(slices.DeleteFunc(a.targets.jobs(), func(j schedule.Job) bool {
			return removed[j.Target.Node]
		}))
	}
	a.targets.use(after)
	a.upstreams = u
	if a.cfg.WatchFile != "" && a.cfg.Shard == 0 { // the first shard monitors the watch list
		a.targets.ups.SetWatch(u.Watch)
	}
	a.targets.cfg.Upstreams.Validators = u.Validators
	a.scheduler.Set(a.targets.jobs())
	a.warnIfOverBudget()
	a.log.Info("configuration reloaded", "config", "nodes", "nodes", len(a.targets.ups.Nodes()), "added", added, "removed", len(removed))
	return nil
}

// unreachable returns the names of the nodes that do not answer now, or whose last answer is older than within. It uses the same test as
// the collectors about the network.
func (t *targets) unreachable(within time.Duration) []string {
	return t.ups.Unreachable(within).Names()
}

// answeredAt returns when a node last answered a call.
func (t *targets) answeredAt(name string) time.Time {
	for _, n := range t.ups.Nodes() {
		if n.Name() == name {
			return n.Answered()
		}
	}
	return time.Time{}
}

// CountTargets registers the number of targets that the exporter monitors, of nodes that all shards should monitor, and of chains that are left out, and the
// list of the monitored chains.
func CountTargets(reg prometheus.Registerer, count func() int, configured *atomic.Int64, leftOut func() int, chains prometheus.Collector) {
	reg.MustRegister(chains)
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "avax_exporter_targets",
		Help: "Number of nodes that the exporter is configured to monitor. 1 if the Data service is the only upstream.",
	}, func() float64 { return float64(count()) }))
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "avax_exporter_configured_nodes",
		Help: "Number of nodes in the configuration of the exporter, those of other shards included.",
	}, func() float64 { return float64(configured.Load()) }))
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "avax_exporter_chains_left_out",
		Help: "Number of chains that nodes track and that AVAX_CHAINS=auto does not monitor, because they are too many.",
	}, func() float64 { return float64(leftOut()) }))
}

// monitored are the chains that the exporter monitors.
type monitored struct {
	pool *nodes.Pool
	from time.Time // before, the list may lack some
}

// discovering is for how long after a start the list may lack chains that nodes track: rules know the list of before no longer.
const discovering = 10 * time.Minute

var monitoredChain = prometheus.NewDesc("avax_exporter_chain_monitored",
	"1 for each chain that the exporter monitors: alerts about a chain that the list has lost end. With AVAX_CHAINS=auto, absent in the first ten minutes.",
	[]string{"chain"}, nil)

// Describe implements prometheus.Collector.
func (m monitored) Describe(out chan<- *prometheus.Desc) { out <- monitoredChain }

// Collect implements prometheus.Collector.
func (m monitored) Collect(out chan<- prometheus.Metric) {
	if time.Now().Before(m.from) {
		return
	}
	for _, c := range m.pool.AllChains() {
		out <- prometheus.MustNewConstMetric(monitoredChain, prometheus.GaugeValue, 1, c.Name)
	}
}

// chains returns the names of the monitored chains of subnets.
func (t *targets) chains() (names []string) {
	for _, c := range t.ups.SubnetChains() {
		names = append(names, c.Name)
	}
	return names
}

// lost returns for how long this process has been late. Before the start, and in check, this is not measured.
func (t *targets) lost() time.Duration {
	if t.scheduler == nil {
		return 0
	}
	return t.scheduler.Lost()
}

// callsChanged reports that calls to a node have started to fail or to succeed. It triggers the collector up. Without this
// collector, any call shows whether the node answers.
func (t *targets) callsChanged(n *nodes.Node) {
	switch {
	case t.scheduler == nil:
	case n.Probed():
		t.scheduler.CallsChanged(n.Name())
	default:
		t.scheduler.NodeChanged(n.Name(), n.Healthy())
	}
}

func (t *targets) nodeChanged(n *nodes.Node, answers bool) {
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
