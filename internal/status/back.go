package status

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

const (
	// backFor is how long nothing may be missing until a node that restarted is back.
	backFor = 2 * time.Minute
	// awayAtMost is how long a node that restarted and is not back forbids that others stop. Then it counts as given up.
	awayAtMost = 24 * time.Hour
	// toldFor is how long a yes forbids that others stop: a node that was told so may take that long until it does not answer. From then on it is away.
	toldFor = time.Minute
)

// Restarts remembers which nodes have stopped answering or restarted, and since when nothing is missing on a node. The zero value is ready. It needs a call
// of See every few seconds.
type Restarts struct {
	mu    sync.Mutex
	nodes map[string]*presence
	told  map[string]told // which nodes were told that they may stop
	waits map[string]turn // which nodes were told no only because of these

	unknown atomic.Pointer[map[string]time.Time] // since when something is not known yet
}

// seeUnknown remembers since when something is not known yet.
func (r *Restarts) seeUnknown(st *Status) {
	missing := map[string]time.Time{}
	st.missing = missing
	_, _ = st.starting(), st.whyUncounted() // their calls of since note what is missing
	st.missing = nil
	r.unknown.Store(&missing)
}

// turn is the turn of a node that was told no: the first is told yes first, if it still asks.
type turn struct{ first, last time.Time }

// told is a yes.
type told struct {
	first, at time.Time // the first one of those that follow each other, and the last one
	with      []string  // the nodes that may stop together
}

// presence is what is remembered about a node.
type presence struct {
	seenSince     time.Time
	up, seenUp    bool
	since         time.Time                    // see Node
	chains        map[string]bool              // that were bootstrapped
	health        bool                         // whether it reported its health
	connected     Value                        // share of the stake when nothing was missing
	awaySince     time.Time                    // when it stopped answering, or was seen to restart; zero if it did neither, or is back
	silent        bool                         // whether it stopped answering then: nobody knows whether it restarted
	completeSince time.Time                    // since when nothing is missing; zero if something is
	unseen        bool                         // whether it left before the exporter started
	seenComplete  bool                         // whether nothing was missing since the exporter started
	fact          *metric.Family               // what its state is about, for a state that lasts
	factSince     time.Time                    // since when; zero if perhaps since before the exporter started
	silentSince   time.Time                    // since when it does not answer the probes; zero if it does, or if this is not known
	turned        bool                         // whether it rejected the exporter before that, or did not answer and rejects it since
	id, validated string                       // its node ID, and its last one that is a validator's
	idSince       time.Time                    // since when it has this node ID
	changes       []time.Time                  // of the node ID, within an hour
	left          map[*metric.Family]time.Time // when its state was last about something that it no longer is about, within backFor
}

// See remembers what the nodes report. From then on, the verdicts of the status know which nodes have restarted.
func (r *Restarts) See(st *Status) {
	st.restarts = r
	r.seeUnknown(st)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nodes == nil {
		r.nodes, r.told, r.waits = map[string]*presence{}, map[string]told{}, map[string]turn{}
	}
	maps.DeleteFunc(r.told, func(name string, yes told) bool { return !st.IsNode(name) || st.At.Sub(yes.at) >= toldFor })
	maps.DeleteFunc(r.waits, func(name string, its turn) bool { return !st.IsNode(name) || st.At.Sub(its.last) >= toldFor })
	maps.DeleteFunc(r.nodes, func(name string, _ *presence) bool { return !st.IsNode(name) })
	for _, n := range st.Nodes {
		p := r.nodes[n.Name]
		first := p == nil
		if first && !n.Up.Known {
			continue
		}
		if first {
			p = &presence{seenSince: st.At, up: n.Up.Is(1), seenUp: n.Up.Is(1), chains: map[string]bool{}, left: map[*metric.Family]time.Time{}}
			r.nodes[n.Name] = p
		}
		p.see(st, n, first)
		p.seeID(st, n)
		p.seeState(st, n)
	}
	slices.SortStableFunc(st.Nodes, worstFirst)
}

// seeID remembers which node ID of a node is a validator's, and sets the state of a node that has another one now. Behind a load balancer, IDs come and go.
func (p *presence) seeID(st *Status, n *Node) {
	const few, within = 4, time.Hour
	if n.ID != p.id {
		if p.id != "" {
			p.changes = append(p.changes, st.At)
		}
		p.id, p.idSince = n.ID, st.At
	}
	p.changes = slices.DeleteFunc(p.changes, func(at time.Time) bool { return st.At.Sub(at) > within })
	if n.validates {
		p.validated = p.id
	}
	if p.validated == "" || p.validated == n.ID || len(p.changes) > few || st.NodeOf(p.validated) != "" || n.State.Severity == Bad {
		return
	}
	n.former = p.validated
	n.State = State{Severity: Bad, Text: "node ID changed", Since: p.idSince, about: nodeIdentity.Family, pages: true,
		Do: fmt.Sprintf("If you did not change the keys: stop %s, which answers as %s. Restore staker.crt, staker.key and signer.key of %s from the backup, "+
			"and start the node.", n.Name, n.ID, n.former)}
}

// lasting are the families of the states of nodes that last.
var lasting = []*metric.Family{chainBootstrapped.Family, connectedStake.Family, diskFree.Family}

// seeState sets since when a node has its state, if the exporter has seen it without it, and whether a chain that bootstraps pages: one that was bootstrapped
// before does.
func (p *presence) seeState(st *Status, n *Node) {
	s := &n.State
	if s.about == chainBootstrapped.Family {
		for name, c := range n.chains {
			s.pages = s.pages || p.chains[name] && (c.Bootstrapped.Is(0) || c.Bootstraps || c.Missing)
		}
	}
	delete(p.left, s.about)
	maps.DeleteFunc(p.left, func(_ *metric.Family, at time.Time) bool { return st.At.Sub(at) >= backFor })
	was := p.fact
	if s.about != p.fact {
		if p.fact != nil && (p.fact != chainBootstrapped.Family || !n.bootstraps()) {
			p.left[p.fact] = st.At
		}
		if p.fact, p.factSince = s.about, (time.Time{}); p.seenComplete {
			p.factSince = st.At
		}
	}
	if p.seenComplete = p.seenComplete || !p.completeSince.IsZero(); slices.Contains(lasting, s.about) {
		s.Since = p.factSince
	}
	// The answer to another call ends a silence only when the node answers the next probe too. A rejection is no silence: this begins after it.
	switch turns := was != nil && was != s.about && (was == requests || s.about == requests); {
	case !n.Down():
		p.silentSince, p.turned = time.Time{}, false
	case turns:
		p.silentSince, p.turned = st.At, true
		s.silentSince(st.At, st.At)
	case p.turned:
		s.silentSince(st.At, p.silentSince)
	case p.silentSince.IsZero():
		p.silentSince = s.Since
	case p.silentSince.Before(s.Since):
		s.silentSince(st.At, p.silentSince)
	}
	n.left, n.ran, n.seenSince = maps.Clone(p.left), maps.Clone(p.chains), p.seenSince
}

func (p *presence) see(st *Status, n *Node, first bool) {
	// A node that leaves again before it was complete keeps the time at which it left first.
	leave := func(silent bool) {
		if p.awaySince.IsZero() || !p.completeSince.IsZero() {
			p.awaySince, p.unseen, p.silent = st.At, false, silent
		}
		p.completeSince = time.Time{}
	}
	if n.Down() {
		if p.up || first {
			leave(true)
		}
		p.up, p.completeSince = false, time.Time{}
		return
	}
	if !p.up {
		p.up, p.seenUp = true, true
	}
	if p.since.Before(n.since) {
		if !first {
			leave(false)
		}
		p.since = n.since
	}
	for name, c := range n.chains {
		if c.Bootstrapped.Is(1) {
			p.chains[name] = true
		}
	}
	if len(p.missing(st, n)) > 0 {
		p.completeSince = time.Time{}
		if p.awaySince.IsZero() && n.validates && (n.bootstraps() || len(n.notRun()) > 0) {
			p.awaySince, p.unseen = st.At, true
		}
		return
	}
	if p.completeSince.IsZero() {
		if p.completeSince = st.At; first {
			p.completeSince = st.At.Add(-backFor)
		}
	}
	p.health = p.health || n.Healthy.Known
	if n.ConnectedStake.Known {
		p.connected = n.ConnectedStake
	}
	if st.At.Sub(p.completeSince) >= backFor {
		p.awaySince = time.Time{}
	}
}

// bootstrapped reports whether the node reports chains, all of them as bootstrapped.
func (n *Node) bootstrapped() bool {
	known := false
	for _, c := range n.chains {
		if c.Bootstraps {
			return false
		}
		known = known || c.Bootstrapped.Known
	}
	return known && !n.bootstraps()
}

// bootstraps reports whether a chain of the node is not bootstrapped.
func (n *Node) bootstraps() bool {
	for _, c := range n.chains {
		if c.Bootstrapped.Is(0) {
			return true
		}
	}
	return false
}

// missing returns what the node lacks.
func (p *presence) missing(st *Status, n *Node) (missing []string) {
	if !n.Up.Is(1) {
		return []string{"it does not answer"}
	}
	notYet := func(what string) {
		text, _ := st.notYet("not known yet "+what, "not known "+what, n.since, nextRuns, "the page of the node says what fails")
		missing = append(missing, text)
	}
	var bootstrapping, failed, absent, silent, unknown []string
	names := slices.Collect(maps.Keys(p.chains))
	for name := range n.chains {
		names = AppendNew(names, name)
	}
	slices.SortFunc(names, CompareChains)
	some := len(p.chains) > 0 || p.awaySince.IsZero()
	for _, name := range names {
		c := cmp.Or(n.chains[name], &NodeChain{})
		some = some || c.Bootstrapped.Known
		switch {
		case c.StartFailed.Is(1):
			failed = append(failed, name)
		case c.Bootstrapped.Is(0):
			bootstrapping = append(bootstrapping, name)
		case c.Silent && p.chains[name]:
			silent = append(silent, name)
		case c.Bootstrapped.Known:
		case !p.chains[name] && !c.Missing:
		case c.Present.Is(0):
			absent = append(absent, name)
		default:
			unknown = append(unknown, name)
		}
	}
	for _, part := range []struct {
		names []string
		text  string
	}{
		{failed, "%s did not start"}, {bootstrapping, "%s: bootstrapping"}, {absent, "it does not run %s"}, {silent, "%s does not answer"},
	} {
		if len(part.names) > 0 {
			missing = append(missing, fmt.Sprintf(part.text, words.Brief(part.names)))
		}
	}
	if len(unknown) > 0 {
		notYet("whether " + words.Brief(unknown) + " is bootstrapped")
	}
	if !some {
		notYet("which chains are bootstrapped")
	}
	switch {
	case n.Healthy.Is(0):
		text := "it is unhealthy"
		var checks []string
		for _, check := range n.FailingChecks {
			checks = append(checks, check.Name)
		}
		if len(checks) > 0 {
			text += ": " + words.Brief(checks)
		}
		missing = append(missing, text)
	case !n.Healthy.Known && p.health:
		notYet("whether it is healthy")
	}
	needed := staking.Quorum
	if p.connected.Known {
		needed = min(needed, 0.95*p.connected.V)
	}
	switch {
	case n.ConnectedStake.Known && n.ConnectedStake.V < needed:
		missing = append(missing, "it is connected to "+words.Percent(n.ConnectedStake.V)+" of the stake")
	case !n.ConnectedStake.Known && p.connected.Known:
		notYet("how much stake it is connected to")
	}
	return missing
}

// Spend tells these nodes that they may stop: one yes at a time. If another node was told so within a minute, or waits for its turn, it tells them nothing
// and returns why.
func (st *Status) Spend(names ...string) (against string) {
	r := st.restarts
	r.mu.Lock()
	defer r.mu.Unlock()
	others := r.toldOthers(names, st)
	if len(others) == 0 && !st.Force {
		others = r.before(names, st)
	}
	if len(others) > 0 {
		r.queue(names, st)
		return strings.Join(others, "; ")
	}
	for _, name := range names {
		its := told{st.At, st.At, names}
		if before, is := r.told[name]; is && !st.Force && len(Missing(names, before.with)) == 0 {
			its.first, its.with = before.first, before.with
		}
		r.told[name] = its
		delete(r.waits, name)
	}
	return ""
}

// Wait remembers that these nodes may stop as soon as no other node was told so within a minute.
func (st *Status) Wait(names ...string) {
	st.restarts.mu.Lock()
	defer st.restarts.mu.Unlock()
	st.restarts.queue(names, st)
}

// queue remembers when these nodes were told no. The caller holds r.mu.
func (r *Restarts) queue(names []string, st *Status) {
	for _, name := range names {
		its, is := r.waits[name]
		if !is || st.At.Sub(its.last) >= toldFor {
			its.first = st.At
		}
		its.last = st.At
		r.waits[name] = its
	}
}

// before returns which other nodes have waited for longer than these, and still ask, as sentences. Who was told yes may ask again for a minute. The caller
// holds r.mu.
func (r *Restarts) before(names []string, st *Status) (texts []string) {
	since := st.At
	for _, name := range names {
		if yes, is := r.told[name]; is && st.At.Sub(yes.first) < toldFor {
			return nil
		}
		if its, is := r.waits[name]; is && its.first.Before(since) && st.At.Sub(its.last) < toldFor {
			since = its.first
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.waits)) {
		if its := r.waits[name]; st.At.Sub(its.last) < toldFor && its.first.Before(since) && !slices.Contains(names, name) {
			texts = append(texts, fmt.Sprintf("%s has waited for %s to stop: ask again in %s", name, words.Exact(st.At.Sub(its.first)), words.Exact(toldFor)))
		}
	}
	return texts
}

// toldOthers returns which nodes except these were told within a minute that they may stop, as sentences. The caller holds r.mu.
func (r *Restarts) toldOthers(except []string, st *Status) (texts []string) {
	for _, name := range slices.Sorted(maps.Keys(r.told)) {
		yes := r.told[name]
		if ago := max(0, st.At.Sub(yes.at)); ago < toldFor && !st.Force && !slices.Contains(except, name) && len(Missing(except, yes.with)) > 0 {
			texts = append(texts, fmt.Sprintf("%s was told yes %s ago: ask again in %s", name, words.Exact(ago), words.Exact(toldFor-ago)))
		}
	}
	return texts
}

// away returns the nodes except one that restarted and are not back, and those outside of a group that were told that they may stop, as sentences.
func (r *Restarts) away(st *Status, except string, group ...string) (texts []string) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if except != "" {
		group = append(group, except)
	}
	texts = r.toldOthers(group, st)
	var away []string
	for name, p := range r.nodes {
		left := !p.awaySince.IsZero() && st.At.Sub(p.awaySince) < awayAtMost
		if back := !p.completeSince.IsZero() && st.At.Sub(p.completeSince) >= backFor; left && !back && name != except && st.IsNode(name) {
			away = append(away, name)
		}
	}
	slices.Sort(away)
	for _, name := range away {
		p := r.nodes[name]
		ago := words.Seconds(st.At.Sub(p.awaySince).Seconds())
		text := name + " restarted " + ago + " ago and is not back"
		switch {
		case !p.seenUp:
			text = name + " has not answered since the exporter started " + ago + " ago and is not back"
		case p.unseen:
			text = name + " has not been back since the exporter started " + ago + " ago"
		case p.silent:
			text = name + " stopped answering " + ago + " ago and is not back"
		}
		missing := p.missing(st, st.Node(name))
		if len(missing) == 0 {
			missing = []string{"nothing has been missing for " + words.Exact(st.At.Sub(cmp.Or(p.completeSince, st.At))) + ", two minutes are needed"}
		}
		texts = append(texts, text+": "+strings.Join(missing, ", "))
	}
	return texts
}

// Back is the answer whether a node is back after a restart, as JSON. Back is absent if it is unknown.
type Back struct {
	Node          string     `json:"node"`
	Back          *bool      `json:"back,omitempty"`
	Reason        string     `json:"reason"`
	Missing       []string   `json:"missing,omitempty"`
	Restarted     *time.Time `json:"restarted,omitempty"` // when it stopped answering, or was seen to restart; absent if the node is back
	CompleteSince *time.Time `json:"complete_since,omitempty"`
}

// BackCollectors are the collectors whose samples decide whether a node is back.
var BackCollectors = []string{"up", "bootstrap", "heads", "health", "connected_stake"}

// IsBack tells whether a node is back: it answers, is bootstrapped on all chains that it ran before, which answer, is healthy and connected, for two minutes
// after the time after.
func (st *Status) IsBack(name string, after time.Time) (Verdict, Back) {
	a := Back{Node: name}
	switch {
	case name == "":
		a.Reason = "no node: write /is-back?node=NAME with a name of AVAX_NODES"
		return Invalid, a
	case !st.IsNode(name) && st.NodeOf(name) != "":
		name = st.NodeOf(name)
		a.Node = name
	case !st.IsNode(name):
		if a.Reason = st.starting(); a.Reason != "" {
			return Unknown, a
		}
		a.Reason = "unknown node: " + st.NodeList()
		return NotFound, a
	}
	var was *presence
	if st.restarts != nil {
		st.restarts.mu.Lock()
		defer st.restarts.mu.Unlock()
		was = st.restarts.nodes[name]
	}
	n := st.Node(name)
	if was == nil || !n.Up.Known {
		a.Reason = "not known: " + name + " has no recent answer of the collector up"
		return Unknown, a
	}
	if !was.awaySince.IsZero() {
		a.Restarted = &was.awaySince
	}
	since := was.completeSince
	if since.Before(after) && !since.IsZero() {
		since = after
	}
	a.Missing = was.missing(st, n)
	switch {
	case len(a.Missing) > 0:
		a.Back, a.Reason = new(false), "no: "+name+": "+strings.Join(a.Missing, ", ")
		return No, a
	case since.IsZero() || st.At.Sub(since) < backFor:
		a.Back, a.Reason = new(false), "no: "+name+": nothing has been missing for "+words.Exact(max(st.At.Sub(cmp.Or(since, st.At)), 0))+", two minutes are needed"
		return No, a
	}
	if unseen := st.unseen(was, n); unseen != "" {
		a.Reason = "not known: " + unseen
		return Unknown, a
	}
	a.CompleteSince = &was.completeSince
	chains := slices.SortedFunc(maps.Keys(was.chains), CompareChains)
	a.Back, a.Reason = new(true), "yes: "+name+" is back: bootstrapped on "+words.Brief(chains)
	if n.Healthy.Known {
		a.Reason += ", healthy"
	}
	if n.ConnectedStake.Known {
		a.Reason += ", connected to " + words.Percent(n.ConnectedStake.V) + " of the stake"
	}
	return Yes, a
}

// unseen returns what a yes says about a node and no run since the exporter's start has reported; empty if there is nothing. What the node does not offer,
// and what no collector reads, is not missed, except for the chains.
func (st *Status) unseen(was *presence, n *Node) string {
	for _, c := range []struct {
		collector, what string
		seen, must      bool
	}{
		{"bootstrap", "which chains of " + n.Name + " are bootstrapped", len(was.chains) > 0, true},
		{"health", "whether " + n.Name + " is healthy", n.Healthy.Known, false},
		{"connected_stake", "how much stake " + n.Name + " is connected to", n.ConnectedStake.Known, false},
	} {
		of := func(k metric.Key) bool { return k.Collector == c.collector && k.Target.Node == n.Name }
		fails := slices.ContainsFunc(st.Jobs, func(j *metric.Job) bool {
			return of(j.Last.Key) && j.Last.Err != nil && !errors.Is(j.Last.Err, metric.ErrNotOffered)
		})
		switch starting := st.starting(); {
		case c.seen:
		case starting != "":
			return strings.TrimPrefix(starting, "not known: ")
		case c.must || fails:
			return c.what + ": " + st.why(of)
		}
	}
	return ""
}
