package collectors

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	l1SafeToStop = metric.New("avax_l1_safe_to_stop",
		"1 if at least 80 % of the chain's weight stays active and connected when this validator stops, 0 if not. Configured nodes that track the chain, and "+
			"observers, report which validators are connected. The report with the lowest share counts; a node that is connected to less than half of the primary "+
			"network's stake has no say if most others are well connected. The validator's own report counts only if there is no other. A configured node that "+
			"does not answer, or whose chain does not answer, counts as not connected. Absent if there is no report, or no configured node answers.",
		"chain", "node_id")
	nodeStopLeaves = metric.New("avax_node_stop_leaves_ratio",
		"Share of a validator set's weight (0 to 1) that stays active and connected when this node stops. The sets are the primary network (chain P) and each "+
			"monitored L1, if the node validates it. Configured nodes and observers report which validators are connected. The report with the lowest share counts; a "+
			"node that is connected to less than half of the primary network's stake has no say if most others are well connected. A configured node that does "+
			"not answer, or whose chain does not answer, counts as not connected. Absent if there is no report, or this node does not answer.",
		"node", "chain")
	nodeSafeToStop = metric.New("avax_node_safe_to_stop",
		"1 if /safe-to-stop says yes about the node, 0 if it says no. Absent if the answer is not known. Each scrape asks.", "node")
)

var safeToStop = &collector.Spec{
	Name: "safe_to_stop",
	Help: "Whether each node and L1 validator can stop without a loss of quorum.",
	Calls: []string{
		"info.peers", "info.getNodeID", "validators.getCurrentValidators", "platform.getCurrentValidators", "platform.getBlockchains",
		"platform.getTx", "platform.getValidatorFeeState", "GET /ext/health", "info.getBlockchainID", "info.isBootstrapped",
	},
	Every:         time.Minute,
	ReusesAnswers: true,
	OnChange:      true,
	Families:      []*metric.Family{l1SafeToStop, nodeStopLeaves, nodeSafeToStop},
	Bind:          collector.Per(collector.Network, collectSafeToStop),
}

func collectSafeToStop(ctx context.Context, ups *collector.Upstreams, _ collector.Subject, out *metric.Batch) error {
	if len(ups.Nodes()) == 0 {
		return nil
	}
	maxAge := nodes.MaxAnswerAge(ctx)
	known, err := ups.Identified(ctx)
	if err != nil {
		return err
	}
	own := make(map[string]bool, len(known))
	for _, n := range known {
		own[n.KnownID()] = true
	}
	known = nodes.Reachable(known, maxAge)
	ids := make(map[*nodes.Node]string, len(known))
	for _, n := range known {
		ids[n] = n.KnownID()
	}
	_, observers := ups.OfNetwork()
	viewers := slices.Concat(known, observers)
	// Request all sets concurrently, so that the run waits only once for a node that does not answer.
	monitored := ups.SubnetChains()
	sets := make([]l1State, len(monitored))
	var wg sync.WaitGroup
	for i, c := range monitored {
		wg.Go(func() { sets[i] = l1StateOf(ctx, ups, c, ids, viewers) })
	}
	var uncounted map[string]string
	wg.Go(func() { uncounted = uncountedSets(ctx, ups, known) })
	primary, staked, heaviest, err := primaryViews(ctx, ups, ids, own, viewers)
	wg.Wait()
	down := ups.Unreachable(maxAge)
	out.Facts.Unreachable = down.Counted()
	for _, c := range monitored {
		out.Facts.Chains = append(out.Facts.Chains, c.Name)
	}
	if len(down.Nodes) == len(ups.Nodes()) {
		if err == nil { // a node answers again, and its next probe has not seen it yet
			failed := &scrape.Error{Op: "info.getNodeVersion", Outcome: scrape.Unreachable, Err: errors.New("the last probe failed")}
			err = &nodes.CallError{Node: down.Nodes[0], Err: failed}
		}
		return errors.Join(metric.ErrNoNodeAnswers, err)
	}
	if err != nil {
		return err
	}
	primary = primary.WithoutStopped(down.Names(), down.IDs)
	for i := range sets {
		sets[i].seen = sets[i].seen.WithoutStopped(down.Names(), down.IDs)
	}
	isolated := primary.Isolated()
	primary.DisconnectIsolated(isolated)
	for i := range sets {
		sets[i].seen.DisconnectIsolated(isolated)
	}
	for name := range isolated {
		out.Note("the view of %s does not count: it is connected to less than half of the stake", name)
	}
	maps.DeleteFunc(heaviest, func(id string, _ uint64) bool { return down.IDs[id] })
	for _, id := range isolated {
		delete(heaviest, id)
	}
	facts := &staking.ValidatorSets{Nodes: map[string]string{}, Isolated: isolated, Uncounted: uncounted}
	for n, id := range ids {
		if !down.Has(n) {
			facts.Nodes[n.Name()] = id
			if why := n.Past().Unsettled(); why != "" {
				uncounted[n.Name()] = why
			}
		}
	}
	facts.Sets = append(facts.Sets, staking.StopSet{Chain: "P", Views: primary, Members: staked, Sample: heaviest})
	for i, set := range sets {
		if set.err != nil && !errors.Is(set.err, metric.ErrNotOffered) {
			out.Note("cannot tell which validators of %s can stop: validator set not known: %v", monitored[i].Name, set.err)
		}
		counted := set.counted(ups, monitored[i], ids, isolated, out)
		counted.Views = counted.Views.Only(own, counted.Ends)
		facts.Sets = append(facts.Sets, counted)
	}
	for name, id := range facts.Nodes {
		validated, _ := facts.Of(id)
		for _, set := range validated {
			if left, by := set.After([]string{id}, isolated, time.Time{}); by != "" {
				out.Set(nodeStopLeaves, left, name, set.Chain)
			}
		}
	}
	out.Facts.ValidatorSets = facts
	return nil
}

// counted returns what counts of the set of a chain. It exports which of its validators can stop.
func (at l1State) counted(ups *collector.Upstreams, c nodes.Chain, ids map[*nodes.Node]string, isolated map[string]string, out *metric.Batch) staking.StopSet {
	set := staking.StopSet{
		Chain: c.Name, Views: at.seen, Members: at.running(ids), Ends: at.ends, Left: map[string]float64{}, Hung: map[string]bool{},
	}
	up := map[string]uint64{}
	for _, v := range at.seen {
		for id, weight := range v.Up {
			up[id] = max(up[id], weight)
		}
	}
	set.Sample = staking.SampleOf(up)
	ahead, hung := time.Now().Add(staking.StopAhead), ups.ChainStopped(c.Ref)
	for id := range at.members {
		if left, by := set.After([]string{id}, isolated, ahead); by != "" {
			out.SetBool(l1SafeToStop, left >= staking.Quorum, c.Name, id)
			set.Left[id], _ = set.After([]string{id}, isolated, time.Time{})
		}
		if hung[id] {
			set.Hung[id] = true
		}
	}
	return set
}

// uncountedSets returns why a node may validate a set that is not counted, by its name: it tracks and validates a chain that is not monitored, or this
// is not known.
func uncountedSets(ctx context.Context, ups *collector.Upstreams, known []*nodes.Node) map[string]string {
	uncounted := map[string]string{}
	others, err := ups.Unmonitored(ctx)
	if err != nil {
		for _, n := range known {
			uncounted[n.Name()] = "whether it validates chains that are not monitored: " + err.Error()
		}
		return uncounted
	}
	if len(others) == 0 {
		return uncounted
	}
	type tracker struct {
		node   *nodes.Node
		chains []node.Blockchain
	}
	tracked, _ := nodes.Each(ctx, known, nodes.BasisChains, func(ctx context.Context, n *nodes.Node) (tracker, error) {
		chains, err := n.TracksOf(ctx, others)
		return tracker{n, chains}, err
	})
	for _, n := range known {
		i := slices.IndexFunc(tracked, func(t tracker) bool { return t.node == n })
		if i < 0 {
			uncounted[n.Name()] = "which chains it tracks is not known: its health checks cannot be read"
			continue
		}
		for _, b := range tracked[i].chains {
			set, err := subnetSet(scrape.MaxAge(ctx, endsAge), ups, b.SubnetID)
			switch {
			case err != nil:
				uncounted[n.Name()] = "whether it validates " + cmp.Or(b.Name, b.ID) + ": " + err.Error()
			case slices.ContainsFunc(set, func(v node.Validator) bool { return v.NodeID == n.KnownID() }):
				uncounted[n.Name()] = cmp.Or(b.Name, b.ID) + " is not monitored: set AVAX_CHAINS=C,auto, or add " + b.ID + " to AVAX_CHAINS"
			}
		}
	}
	return uncounted
}

// endsWithin is how long before their end balances are looked at. The answer with the balances may be as old as endsAge: other collectors need it, too.
const (
	endsWithin = 15 * time.Minute
	endsAge    = 8 * time.Minute
)

// endsOf returns the validators of a subnet whose balances end within minutes. For a node that does not report the fee, it is the minimum fee of Mainnet.
func endsOf(ctx context.Context, ups *collector.Upstreams, subnetID string) (ends []staking.Ending, err error) {
	recently := scrape.MaxAge(ctx, endsAge)
	set, err := subnetSet(recently, ups, subnetID)
	pays := func(v node.Validator) bool { return v.Balance != nil && *v.Balance > 0 }
	if err != nil || !slices.ContainsFunc(set, pays) {
		return nil, err
	}
	burn := float64(staking.MainnetFloor)
	if fees, err := validatorFee(recently, ups); err == nil {
		burn = float64(fees.Price)
	} else if !errors.Is(err, metric.ErrNotOffered) {
		return nil, err
	}
	soon := func(v node.Validator) bool {
		lasts, runsOut := time.Duration(0), false
		if pays(v) {
			lasts, runsOut = staking.Runway(uint64(*v.Balance), burn)
		}
		return runsOut && lasts < endsWithin
	}
	if !slices.ContainsFunc(set, soon) {
		return nil, nil
	}
	found, err := agreedTimedSet(ctx, ups, subnetID)
	for _, v := range found.set {
		if soon(v) {
			lasts, _ := staking.Runway(uint64(*v.Balance), burn)
			ends = append(ends, staking.Ending{NodeID: v.NodeID, Weight: uint64(v.Weight), At: found.at.Add(lasts)})
		}
	}
	return ends, err
}

// primaryViews returns the views that the viewers have of the primary network. To save memory, the field Up of each view
// has only the configured nodes (own). It also returns which of these validate, and the stake of the heaviest validators that are connected.
func primaryViews(ctx context.Context, ups *collector.Upstreams, ids map[*nodes.Node]string, own map[string]bool, viewers []*nodes.Node) (
	views staking.SetViews, staked map[string]bool, heaviest map[string]uint64, err error) {
	stake, all, err := primaryStake(ctx, ups)
	if err != nil {
		return nil, nil, nil, err
	}
	var mu sync.Mutex
	up := map[string]uint64{}
	staked = map[string]bool{}
	for id := range own {
		if stake[id] > 0 {
			staked[id] = true
		}
	}
	views, err = nodes.Each(ctx, viewers, nodes.BasisConnected, func(ctx context.Context, n *nodes.Node) (staking.SetView, error) {
		connected, err := connectedTo(ctx, n, own)
		self := ids[n]
		o := staking.SetView{By: n.Name(), ID: self, Sum: staking.Weights{Up: stake[self], Total: all}, Up: map[string]uint64{self: stake[self]}}
		mu.Lock()
		defer mu.Unlock()
		up[self] = stake[self]
		for id := range connected {
			if id == self {
				continue
			}
			up[id] = stake[id]
			o.Sum.Up += stake[id]
			if own[id] {
				o.Up[id] = stake[id]
			}
		}
		return o, err
	})
	return views, staked, staking.SampleOf(up), err
}

// connectedTo returns the IDs of the nodes that a node is connected to. For a configured node, these are its peers. An
// observer does not list its peers, but reports for each validator whether it is connected. In each run, connectedTo
// requests the configured nodes (own) from the observer. For all other validators, it uses the last answer with the
// whole set, which may be as old as observedSetEvery.
func connectedTo(ctx context.Context, n *nodes.Node, own map[string]bool) (map[string]bool, error) {
	connected := map[string]bool{}
	if !n.Observer {
		answer, err := n.Peers(ctx)
		for _, p := range answer.Peers {
			connected[p.NodeID] = true
		}
		return connected, err
	}
	set, err := primarySetOf(ctx, n)
	if err != nil {
		return nil, err
	}
	present, err := n.PlatformCurrentValidators(ctx, node.PrimaryNetworkID, append(slices.Sorted(maps.Keys(own)), unusedNodeID)...)
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(slices.Clone(set), func(v node.Validator) bool { return own[v.NodeID] })
	for _, v := range slices.Concat(others, present) {
		if v.Connected != nil && *v.Connected {
			connected[v.NodeID] = true
		}
	}
	return connected, nil
}

// l1State is the validator set of a monitored chain, with the views that nodes have of the set.
type l1State struct {
	seen    staking.SetViews
	members map[string]bool // by node ID; nil if unknown
	absent  map[string]bool // own nodes that answered that they do not run the chain, by node ID: if no view contradicts, their stop changes nothing
	ends    []staking.Ending
	err     error // why there are no views
}

// running returns the own nodes that validate the chain and run it; nil if unknown.
func (at l1State) running(ids map[*nodes.Node]string) map[string]bool {
	if at.members == nil {
		return nil
	}
	members := map[string]bool{}
	for _, id := range ids {
		if at.members[id] && (!at.absent[id] || at.seen.Up(id)) {
			members[id] = true
		}
	}
	return members
}

// l1StateOf requests a view from each viewer, as nodes.Each does. Nodes that do not track the chain have no view. If
// a view is missing, l1StateOf also requests the members of the set from the P-Chain.
func l1StateOf(ctx context.Context, ups *collector.Upstreams, c nodes.Chain, ids map[*nodes.Node]string, viewers []*nodes.Node) (state l1State) {
	at := l1State{members: map[string]bool{}, absent: map[string]bool{}}
	var mu sync.Mutex
	b, err := ups.Blockchain(ctx, c)
	if err != nil {
		return l1State{err: err}
	}
	if b.SubnetID == node.PrimaryNetworkID {
		return at
	}
	var endings sync.WaitGroup
	var endsErr error
	endings.Go(func() { at.ends, endsErr = endsOf(ctx, ups, b.SubnetID) })
	defer func() {
		if endings.Wait(); endsErr != nil {
			state = l1State{err: endsErr}
		} else {
			state.ends = at.ends
		}
	}()
	stopped := ups.ChainStopped(c.Ref)
	viewers = slices.DeleteFunc(slices.Clone(viewers), func(n *nodes.Node) bool { return n.ChainStopped(c.Ref) })
	at.seen, at.err = nodes.Each(ctx, viewers, nodes.BasisConnected, func(ctx context.Context, n *nodes.Node) (staking.SetView, error) {
		set, err := chainSet(ctx, n, c)
		if !n.Observer && scrape.OutcomeOf(err) == scrape.NotFound {
			mu.Lock()
			at.absent[ids[n]] = true
			mu.Unlock()
		}
		o := staking.SetView{By: n.Name(), ID: ids[n], Up: make(map[string]uint64, len(set))}
		for _, v := range set {
			var up uint64
			if v.IsActive && (v.IsConnected || v.NodeID == o.ID) && !stopped[v.NodeID] {
				up = uint64(v.Weight)
			}
			o.Sum.Total += uint64(v.Weight)
			o.Sum.Up += up
			o.Up[v.NodeID] += up
		}
		return o, err
	})
	for _, o := range at.seen {
		for id := range o.Up {
			at.members[id] = true
		}
	}
	if len(at.seen) > 0 && len(at.seen)+len(at.absent) >= len(viewers) {
		return at
	}
	set, err := subnetSet(ctx, ups, b.SubnetID)
	if err != nil && len(at.seen) == 0 {
		at.members = nil
	}
	for _, v := range set {
		at.members[v.NodeID] = true
	}
	return at
}
