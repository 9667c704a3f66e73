package nodes

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// peerDetectionDelay is the maximum time until peers report that a stopped or hanging node is not connected. The
// longest measured time was 50 s.
const peerDetectionDelay = time.Minute

// MaxAnswerAge returns the maximum age of the last answer of a reachable node: one and a half periods of the collector.
// Call it at the start of a run, because the deadline of ctx is then half a period away.
func MaxAnswerAge(ctx context.Context) time.Duration {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return 0
	}
	return 3 * time.Until(deadline)
}

// Reachable returns the nodes and observers of a list that are not unreachable as in Pool.Unreachable, because a run would
// wait for the others. If none is reachable, it returns all.
func Reachable(all []*Node, maxAge time.Duration) []*Node {
	reachable := slices.DeleteFunc(slices.Clone(all), func(n *Node) bool { return n.unreachable(maxAge) })
	if len(reachable) == 0 {
		return all
	}
	return reachable
}

// unreachable reports whether the node did not answer the latest up probe. For an observer, and if the collector "up" does
// not run, the last call counts instead. A node is also unreachable if its last answer is older than maxAge (0: no limit).
func (n *Node) unreachable(maxAge time.Duration) bool {
	if n.OtherNetwork() {
		return false
	}
	answered, down := n.Answered(), !n.Healthy()
	n.mu.Lock()
	if n.probed {
		down = n.down
	}
	n.mu.Unlock()
	return down || maxAge > 0 && !n.Observer && !answered.IsZero() && time.Since(answered) > maxAge
}

// Unreachable holds the configured nodes that are unreachable.
type Unreachable struct {
	Nodes []*Node
	// IDs are the node IDs of these nodes. An ID is omitted if another configured node with this ID is reachable.
	IDs map[string]bool

	set map[*Node]bool
}

// Unreachable returns the nodes that did not answer the latest up probe, or whose last answer is older than maxAge (0:
// no limit). Collectors count such a node as not connected, by its ID.
func (p *Pool) Unreachable(maxAge time.Duration) Unreachable {
	u := Unreachable{set: map[*Node]bool{}}
	for _, n := range p.Nodes() {
		if n.unreachable(maxAge) {
			u.Nodes, u.set[n] = append(u.Nodes, n), true
		}
	}
	u.IDs = IDsOf(p.Nodes(), func(n *Node) bool { return u.set[n] })
	return u
}

// IDsOf returns the known IDs of those nodes of a list of which something is true. An ID is omitted if another node of the list has it too, and it is
// not true of that one: a node that claims the ID of another decides nothing about it.
func IDsOf(all []*Node, is func(*Node) bool) map[string]bool {
	ids := map[string]bool{}
	for _, n := range all {
		if is(n) {
			ids[n.KnownID()] = true
		}
	}
	delete(ids, "")
	if len(ids) == 0 {
		return ids // this is the usual case, and must be fast: every run of l1_views asks
	}
	for _, n := range all {
		if !is(n) {
			delete(ids, n.KnownID())
		}
	}
	return ids
}

// Presence is what a node says when it is asked.
type Presence struct {
	Node    string
	ID      string   // its node ID; empty if it does not answer
	Stopped []string // names of the monitored chains of subnets that do not answer there, although the node does
	// Active are those of the nodes it was asked about, and itself, that are active validators of a monitored chain of a subnet, by its own P-Chain, by the
	// name of the chain. A chain that it does not run, or about which it does not say, is absent.
	Active map[string][]string
	Peers  []string // those of the nodes it was asked about that are its peers, and its own ID; nil if it does not say
}

// activeAmong returns those of these node IDs, and its own, that are active validators of a subnet by its P-Chain; nil if it does not say.
func (n *Node) activeAmong(ctx context.Context, subnetID string, ids []string) []string {
	own := n.KnownID()
	if subnetID == "" || own == "" {
		return nil
	}
	set, err := n.PlatformCurrentValidators(ctx, subnetID, append(slices.Clone(ids), own)...)
	if err != nil {
		return nil
	}
	active := []string{}
	for _, v := range set {
		if v.Balance == nil || *v.Balance > 0 { // a validator of a permissioned subnet has none
			active = append(active, v.NodeID)
		}
	}
	return active
}

// peersAmong returns those of these node IDs that are peers of the node; nil if it does not say.
func (n *Node) peersAmong(ctx context.Context, ids []string) []string {
	if len(ids) == 0 { // it would list all peers
		return nil
	}
	answer, err := n.PeersOf(ctx, ids...)
	if err != nil {
		return nil
	}
	peers := []string{}
	for _, p := range answer.Peers {
		peers = append(peers, p.NodeID)
	}
	return peers
}

// Ask calls all nodes of the network now and their chains of subnets, asks which of these node IDs are active validators of the chains and which are their
// peers, and returns what they say before ctx ends. No earlier answer counts. It changes nothing that collectors report: of a chain that does not answer
// in this time, only the answer says so.
func (p *Pool) Ask(ctx context.Context, ids []string) []Presence {
	chains := p.SubnetChains()
	subnets := make([]string, len(chains)) // empty if not known
	for i, c := range chains {
		if b, err := p.KnownBlockchain(ctx, c); err == nil {
			subnets[i] = b.SubnetID
		}
	}
	ctx = scrape.MaxAge(scrape.Fresh(scrape.Urgent(ctx)), time.Millisecond)
	all := slices.DeleteFunc(slices.Clone(p.Nodes()), (*Node).OtherNetwork)
	_, found, _ := callAll(ctx, all, false, func(ctx context.Context, n *Node) (Presence, error) {
		is := Presence{Node: n.Name(), Active: map[string][]string{}}
		stopped, active := make([]bool, len(chains)), make([][]string, len(chains))
		var calls sync.WaitGroup
		for i, c := range chains {
			calls.Go(func() {
				_, err := n.EthBlockByNumber(ctx, c.Ref, nil) // not by CallChain: who asks has little patience
				if stopped[i] = IsStopped(err); err == nil {
					active[i] = n.activeAmong(ctx, subnets[i], ids)
				}
			})
		}
		var peers []string
		calls.Go(func() { peers = n.peersAmong(ctx, ids) })
		if who, err := n.Identity(ctx); err == nil {
			is.ID = who.NodeID
		}
		calls.Wait()
		if peers != nil && is.ID != "" {
			is.Peers = append(peers, is.ID)
		}
		for i, c := range chains {
			if stopped[i] && is.ID != "" {
				is.Stopped = append(is.Stopped, c.Name)
			}
			if active[i] != nil && is.ID == n.KnownID() {
				is.Active[c.Name] = active[i]
			}
		}
		return is, nil
	})
	return found
}

// Has reports whether the node is unreachable.
func (u Unreachable) Has(n *Node) bool { return u.set[n] }

// Names returns the names of the nodes.
func (u Unreachable) Names() []string { return Names(u.Nodes) }

// Counted returns the names of the nodes that a run counts as not connected. If a node has never answered, its ID is
// not known, and its peers may report it as connected. So Counted omits such a node until peerDetectionDelay after the
// exporter added it.
func (u Unreachable) Counted() []string {
	var counted []*Node
	for _, n := range u.Nodes {
		if n.KnownID() != "" || time.Since(n.added) > peerDetectionDelay {
			counted = append(counted, n)
		}
	}
	return Names(counted)
}

// Names returns the names of nodes.
func Names(all []*Node) []string {
	names := make([]string, 0, len(all))
	for _, n := range all {
		names = append(names, n.Name())
	}
	return names
}
