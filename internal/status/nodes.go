package status

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/words"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Node is a configured node, or an observer as far as it reports the same.
type Node struct {
	Name string
	ID   string // empty if it is not known; stays known while the node is down
	// Versions are the versions that the node reports now: one, or none.
	Versions []string
	Labels   []string // that the user gave, as name=value
	State    State

	Up, Validating                             Value
	Votes                                      Value // share of all stake that would vote for its reward
	WeightedUptime, ConnectedStake, NewerStake Value
	Peers, InboundPeers                        Value
	SafeToStop                                 Value // always absent, because ByScrape exports it: the field connects alerts with its family
	Healthy, DiskFree                          Value // DiskFree is a share
	Duplicate, NetworkMismatch, PartialSync    Value
	Chains                                     []*NodeChain // that the node reports, those of the primary network first
	FailingChecks                              []FailingCheck
	chains                                     map[string]*NodeChain
	network, networkID                         string
	left                                       map[*metric.Family]time.Time // see presence
	validates                                  bool                         // whether its node ID is that of a validator of the primary network or an L1
	former                                     string                       // the node ID that it has lost
	ran                                        map[string]bool              // chains that were bootstrapped since seenSince
	seenSince                                  time.Time                    // since when this process knows the node
	since                                      time.Time                    // when it was last silent or changed its identity; zero if this is not known
	rejects                                    bool                         // whether it rejects a call
	protocol                                   int                          // RPC protocol version between the node and its plugins; 0 if not known
}

// NodeChain is a chain as one node reports it.
type NodeChain struct {
	Name                  string
	Present, Bootstrapped Value
	Height, Head          Value // of the newest executed block; Head is its time in Unix seconds
	Accepted              Value // height of the newest accepted block
	Forked, StartFailed   Value
	// Missing: the node is an active validator of the chain, and does not run it.
	Missing bool
	// Silent: its last call got no answer, as after the end of its VM.
	Silent bool
	// Bootstraps: a call of it was refused because it bootstraps, also before the node reports that.
	Bootstraps bool
	// Behind is the number of blocks behind a height that most others reported before.
	Behind Value
}

// FailingCheck is a failing health check of a node.
type FailingCheck struct {
	Name  string
	Error string // empty if the node reports none
	Value Value
}

// State is what the newest samples say about a node: a fact, with or without an alert.
type State struct {
	Severity Severity
	Text     string
	NoAnswer bool  // whether the node does not answer
	Err      error // why it does not answer; may be nil
	Do       string
	Since    time.Time // zero: not known

	about *metric.Family // the value of an alert about this fact is computed from this family first; nil: no alert is about it
	pages bool           // whether this alert pages if the state lasts
}

var nodeFields = []field[Node]{
	{nodeUp, func(n *Node) *Value { return &n.Up }},
	{read("avax_node_validating", "node"), func(n *Node) *Value { return &n.Validating }},
	{nodeVotes, func(n *Node) *Value { return &n.Votes }},
	{read("avax_node_uptime_weighted_ratio", "node"), func(n *Node) *Value { return &n.WeightedUptime }},
	{connectedStake, func(n *Node) *Value { return &n.ConnectedStake }},
	{read("avax_node_newer_version_stake_ratio", "node"), func(n *Node) *Value { return &n.NewerStake }},
	{read("avax_node_peers", "node"), func(n *Node) *Value { return &n.Peers }},
	{read("avax_node_peers_inbound", "node"), func(n *Node) *Value { return &n.InboundPeers }},
	{safeToStopFamily, func(n *Node) *Value { return &n.SafeToStop }},
	{read("avax_node_healthy", "node"), func(n *Node) *Value { return &n.Healthy }},
	{diskFree, func(n *Node) *Value { return &n.DiskFree }},
	{read("avax_node_duplicate", "node"), func(n *Node) *Value { return &n.Duplicate }},
	{read("avax_node_network_mismatch", "node"), func(n *Node) *Value { return &n.NetworkMismatch }},
	{read("avax_node_partial_sync", "node"), func(n *Node) *Value { return &n.PartialSync }},
}

var nodeChainFields = []field[NodeChain]{
	{read("avax_node_chain_present", "node", "chain"), func(c *NodeChain) *Value { return &c.Present }},
	{chainBootstrapped, func(c *NodeChain) *Value { return &c.Bootstrapped }},
	{read("avax_chain_height", "node", "chain"), func(c *NodeChain) *Value { return &c.Height }},
	{read("avax_chain_head_timestamp_seconds", "node", "chain"), func(c *NodeChain) *Value { return &c.Head }},
	{read("avax_node_chain_accepted_height", "node", "chain"), func(c *NodeChain) *Value { return &c.Accepted }},
	{read("avax_chain_fork_detected", "node", "chain"), func(c *NodeChain) *Value { return &c.Forked }},
	{read("avax_node_chain_start_failed", "node", "chain"), func(c *NodeChain) *Value { return &c.StartFailed }},
}

func nodeFamilies() []family {
	all := []family{nodeInfo, failingCheck, rpcFailure, validatorPresent, l1ValidatorActive}
	for _, f := range nodeFields {
		all = append(all, f.family)
	}
	for _, f := range nodeChainFields {
		all = append(all, f.family)
	}
	return all
}

// Names of families whose history pages show.
var (
	UpFamily           = nodeUp.Name
	BootstrappedFamily = chainBootstrapped.Name
	DowntimeFamily     = validatorDowntime.Name
	RunwayFamily       = l1ValidatorRunway.Name
)

var (
	nodeUp            = read("avax_node_up", "node")
	nodeVotes         = read("avax_node_uptime_rewarding_stake_ratio", "node")
	chainBootstrapped = read("avax_node_chain_bootstrapped", "node", "chain")
	connectedStake    = read("avax_node_connected_stake_ratio", "node")
	diskFree          = read("avax_node_disk_free_ratio", "node")
	nodeIdentity      = read("avax_node_identity_info", "node", "node_id", "bls_public_key")
	nodeInfo          = read("avax_node_info", "node", "version", "network", "network_id", "rpc_protocol_version")
	rpcFailure        = read("avax_rpc_check_failure_info", "node", "chain", "check", "outcome")
	failingCheck      = read("avax_node_health_check_failing", "node", "check")
)

// node returns the node or observer with a name, which a sample is about.
func (st *Status) node(name string) *Node {
	return entry(st.nodeByName, name, func() *Node { return st.newNode(name) })
}

func (st *Status) newNode(name string) *Node {
	n := &Node{Name: name, ID: st.ids[name], since: st.voices[name], chains: map[string]*NodeChain{}, State: State{Text: "no recent samples"}}
	n.Labels = st.LabelsOf(name, n.ID, "")
	absent(nodeFields, n)
	return n
}

func (n *Node) chain(name string) *NodeChain {
	return entry(n.chains, name, func() *NodeChain {
		c := &NodeChain{Name: name}
		absent(nodeChainFields, c)
		return c
	})
}

// Down reports whether the node did not answer the last probe.
func (n *Node) Down() bool { return n.Up.Is(0) }

// Version returns the versions as one text; empty if none is known.
func (n *Node) Version() string { return strings.Join(n.Versions, ", ") }

func (st *Status) readNodes() {
	fill(st.samples, nodeFields, func(l []string) *Node { return st.node(l[0]) })
	fill(st.samples, nodeChainFields, func(l []string) *NodeChain { return st.node(l[0]).chain(l[1]) })
	st.samples.each(nodeInfo, func(s sample) {
		n := st.node(s.labels[0])
		n.Versions, n.network, n.networkID = AppendNew(n.Versions, s.labels[1]), s.labels[2], s.labels[3]
		n.protocol, _ = strconv.Atoi(s.labels[4])
	})
	validates := func(id string) {
		for _, name := range st.called[id] {
			st.node(name).validates = true
		}
	}
	st.samples.each(validatorPresent, func(s sample) {
		if s.V == 1 {
			validates(s.labels[0])
		}
	})
	st.samples.each(l1ValidatorActive, func(s sample) {
		validates(s.labels[1])
		for _, name := range st.called[s.labels[1]] {
			if c := st.node(name).chains[s.labels[0]]; c != nil && s.V == 1 {
				c.Missing = c.Present.Is(0) && !c.StartFailed.Is(1)
			}
		}
	})
	errs := checkErrors(st.Jobs, st.At)
	st.samples.each(failingCheck, func(s sample) {
		if s.V == 1 {
			n := st.node(s.labels[0])
			n.FailingChecks = append(n.FailingChecks, FailingCheck{s.labels[1], errs[[2]string{s.labels[0], s.labels[1]}], s.Value})
		}
	})
	for _, j := range st.Jobs {
		n, chain := st.nodeByName[j.Last.Target.Node], j.Last.Target.Chain
		switch {
		case n == nil || chain == "":
		case scrape.OutcomeOf(j.Last.Err) == scrape.Bootstrapping:
			n.chain(chain).Bootstraps = true
		case j.Last.Collector == "heads" && n.chains[chain] != nil:
			n.chains[chain].Silent = nodes.IsStopped(j.Last.Err)
		}
	}
	for _, n := range st.nodeByName {
		for _, c := range sorted(n.chains, CompareChains) {
			if c.Present.Known || c.Bootstrapped.Known || c.Height.Known {
				n.Chains = append(n.Chains, c)
			}
		}
		slices.Sort(n.Versions)
		slices.SortFunc(n.FailingChecks, func(a, b FailingCheck) int { return CompareChains(a.Name, b.Name) })
	}
	st.readBehind()
}

// HealthCollector is the collector with a table of failing health checks: node, check, error. It has other tables, without such an error.
const HealthCollector = "health"

const checkError = "Error"

// checkErrors returns the error texts of failing health checks, by node and check.
func checkErrors(jobs []*metric.Job, now time.Time) map[[2]string]string {
	errs := map[[2]string]string{}
	for _, t := range metric.Tables(jobs, now) {
		if t.Collector == HealthCollector && slices.Contains(t.Columns, checkError) {
			for _, cells := range t.Rows {
				errs[[2]string{cells[0], cells[1]}] = cells[len(cells)-1]
			}
		}
	}
	return errs
}

// readBehind sets how many blocks each node is behind on each chain. A height counts only for heights that were read at the same time or
// later, because later heights are higher anyway, and one of several decides nothing. Heights of the X-Chain are left out: they may be older than their run.
func (st *Status) readBehind() {
	all := map[string][]*NodeChain{}
	for _, n := range st.nodeByName {
		for name, c := range n.chains {
			if c.Height.Known && name != "X" {
				all[name] = append(all[name], c)
			}
		}
	}
	for _, voices := range all {
		slices.SortFunc(voices, func(a, b *NodeChain) int {
			return cmp.Or(a.Height.At.Compare(b.Height.At), cmp.Compare(b.Height.V, a.Height.V))
		})
		var before []float64 // highest first
		for _, c := range voices {
			i, _ := slices.BinarySearchFunc(before, c.Height.V, func(a, b float64) int { return cmp.Compare(b, a) })
			before = slices.Insert(before, i, c.Height.V)
			c.Behind = c.Height
			c.Behind.V = 0
			if decides := nodes.Deciding(len(voices)); decides < len(before) {
				c.Behind.V = max(0, before[decides]-c.Height.V)
			}
		}
	}
}

// readStates sets the nodes with their states, worst first: the configured ones, and those that answer.
func (st *Status) readStates() {
	bootstrapping := map[string][]string{}
	for _, n := range st.nodeByName {
		for _, c := range n.chains {
			if c.Bootstrapped.Is(0) {
				bootstrapping[n.Name] = append(bootstrapping[n.Name], c.Name)
			}
		}
	}
	failures := map[string]error{}
	for _, j := range st.Jobs {
		name, chain := j.Last.Target.Node, j.Last.Target.Chain
		if chain != "" && scrape.OutcomeOf(j.Last.Err) == scrape.Bootstrapping {
			bootstrapping[name] = AppendNew(bootstrapping[name], chain)
		}
		n := st.nodeByName[name]
		if n != nil && scrape.OutcomeOf(j.Last.Err).IsRejection() {
			n.rejects = true
		}
		if n != nil && j.Last.Err != nil && n.Down() && failures[name] == nil && !scrape.Answered(j.Last.Err) {
			failures[name] = j.Last.Err
		}
	}
	gaps := map[string][]Gap{}
	for _, gap := range st.Gaps() {
		gaps[gap.Target.Node] = append(gaps[gap.Target.Node], gap)
	}
	for _, name := range st.NodeNames {
		n := st.node(name)
		if !n.Up.Known {
			if !slices.Contains(st.pool.Nodes(), name) {
				continue // a node that was removed
			}
			n.State = st.unread(func(t metric.Target) bool { return t.Node == name }, nodeUp)
			st.Nodes = append(st.Nodes, n)
			continue
		}
		n.State = State{Severity: Well, Text: "up"}
		chains := bootstrapping[name]
		slices.SortFunc(chains, CompareChains)
		switch {
		case n.Down():
			var last time.Time
			if st.pool.Answered != nil {
				last = st.pool.Answered(name)
			}
			n.State = notUp(st.At, last, failures[name])
		case n.diskFull():
			n.State = State{Severity: Bad, Text: "disk full", Do: words.FreeDisk, about: diskFree.Family, pages: true}
			if n.DiskFree.Known && n.DiskFree.V > 0 {
				n.State.Text += ", " + words.Percent(n.DiskFree.V) + " free"
			}
		case len(chains) > 0:
			n.State = n.bootstrapping(chains)
		case len(n.notRun()) > 0:
			n.State = notRunning("does not run " + words.Brief(n.notRun()) + ", which it validates")
		case len(n.FailingChecks) > 0:
			n.State = n.unhealthy()
		case len(gaps[name]) > 0: // nothing is well of which something is unread
			var unread []string
			for _, gap := range gaps[name] {
				unread = AppendNew(unread, gap.Collector)
			}
			n.State = State{Severity: Note, Text: "up; no data of " + words.Brief(unread), Err: cmp.Or(gaps[name][0].Err, errOverdue)}
		}
		st.Nodes = append(st.Nodes, n)
	}
	slices.SortStableFunc(st.Nodes, worstFirst)
}

func worstFirst(a, b *Node) int { return cmp.Compare(b.State.Severity, a.State.Severity) }

// What to do about states of nodes about which no alert is.
const (
	checkProcess = "Check that the process of the node is up and that its address in AVAX_NODES is correct."
	findPeers    = "If the node still has no peers after a minute, " + words.FindPeers + " Without peers, the bootstrap never ends."

	wait = "Wait, and do not restart the node: a restart would start the bootstrap again. While it makes progress, the numbers in the log of the chain rise."
)

// notRunning returns the state of a node that does not run chains that it should.
func notRunning(text string) State {
	return State{Severity: Warn, Text: text, Do: words.TrackSubnet, about: chainBootstrapped.Family}
}

// diskFull reports whether the node stops by default because of its disk.
func (n *Node) diskFull() bool {
	return n.DiskFree.Known && n.DiskFree.V < diskStops
}

// bootstrapping returns the state of a node that bootstraps chains.
func (n *Node) bootstrapping(chains []string) State {
	s := State{Severity: Warn, Text: "bootstrapping " + words.Brief(chains), Do: wait, about: chainBootstrapped.Family}
	if n.lacksPeers() {
		s.Text, s.Do, s.about = s.Text+" without peers", findPeers, connectedStake.Family // the lack of peers is the fault
	}
	return s
}

// lacksPeers reports whether the node bootstraps without peers, as behind a closed firewall, or for some seconds after its start.
func (n *Node) lacksPeers() bool {
	p := n.chains["P"]
	return n.Peers.Is(0) && p != nil && p.Bootstrapped.Is(0)
}

// shortOfStake reports whether the node is connected to so little of the stake that what it reports about others does not count.
func (n *Node) shortOfStake() bool {
	return n.ConnectedStake.Known && n.ConnectedStake.V < staking.Quorum
}

// notStarted returns the chains that the node could not start.
func (n *Node) notStarted() []string {
	return n.chainsThat(func(c *NodeChain) bool { return c.StartFailed.Is(1) })
}

// notRun returns the chains that the node validates and does not run.
func (n *Node) notRun() []string { return n.chainsThat(func(c *NodeChain) bool { return c.Missing }) }

// stopped returns the chains that the node does not run and ran before a fault that began at a time. If this process did not know the node then, it may be any
// of those that the node does not run.
func (n *Node) stopped(since time.Time) []string {
	return n.chainsThat(func(c *NodeChain) bool {
		return c.Present.Is(0) && !c.StartFailed.Is(1) && (n.ran[c.Name] || since.Before(n.seenSince))
	})
}

func (n *Node) chainsThat(are func(*NodeChain) bool) (names []string) {
	for _, c := range n.chains {
		if are(c) {
			names = append(names, c.Name)
		}
	}
	slices.SortFunc(names, CompareChains)
	return names
}

// passes reports whether the node reports its health checks, and that this one passes.
func (n *Node) passes(check string) bool {
	return n.Healthy.Known && !slices.ContainsFunc(n.FailingChecks, func(c FailingCheck) bool { return c.Name == check })
}

// unhealthy returns the state of a node whose health checks fail.
func (n *Node) unhealthy() State {
	if failed := n.notStarted(); len(failed) > 0 {
		return State{Severity: Warn, Text: words.Brief(failed) + " did not start", Do: words.StartAgain, about: chainBootstrapped.Family}
	}
	names := make([]string, len(n.FailingChecks))
	for i, check := range n.FailingChecks {
		if names[i] = check.Name; check.Name == "diskspace" {
			return State{Severity: Warn, Text: "unhealthy: disk nearly full", Do: words.FreeDisk, about: diskFree.Family}
		}
	}
	return State{Severity: Warn, Text: "unhealthy: " + words.Plural(len(names), "check fails", "checks fail"), about: failingCheck.Family,
		Do: "Read the messages of " + words.Brief(names) + " under Failing checks."}
}

// requests is the family of alerts about answers of an upstream, whose name is in the label upstream.
var requests = &metric.Family{Name: "avax_exporter_upstream_requests_total"}

// notUp returns the state of a node that did not answer the last probe. A node that rejects the exporter may be up.
func notUp(now, answered time.Time, why error) State {
	s := State{Severity: Bad, NoAnswer: true, Err: why, about: nodeUp.Family, pages: true}
	if scrape.OutcomeOf(why).IsRejection() {
		s = State{Severity: Warn, Err: why, about: requests}
	}
	if why == nil { // only the probe has failed yet
		s.Do = checkProcess
	}
	s.silentSince(now, answered)
	return s
}

// silentSince sets since when a node did not answer.
func (s *State) silentSince(now, at time.Time) {
	s.Since = at
	if s.Text = "rejects the exporter"; s.NoAnswer {
		s.Text = noAnswer
	}
	if at.IsZero() {
		s.Text += " since the exporter started"
	} else {
		s.Text += " for " + words.Exact(now.Sub(at))
	}
}

const noAnswer = "no answer"

// NotAnswering returns the names of the nodes that do not answer.
func (st *Status) NotAnswering() (names []string) {
	for _, n := range st.Nodes {
		if n.State.NoAnswer {
			names = append(names, n.Name)
		}
	}
	return names
}
