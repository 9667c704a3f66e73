package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

const (
	// MaxChains is the maximum number of monitored chains with AVAX_CHAINS=auto, and maxPairs that of chains times nodes and observers: a chain has jobs
	// for each of them, and each calls its node about once a minute.
	MaxChains = 250
	maxPairs  = 25_000
	// chainsOfNode is how many chains that no other node tracks a node may add at once, and chainsEvery is the time after which it may add another one.
	chainsOfNode = 100
	chainsEvery  = 3 * time.Minute
	// chainForgotten is how long no node may track a discovered chain until it is forgotten. A node that starts tracks its chains late.
	chainForgotten = 24 * time.Hour
)

// ErrTooManyChains is the error of Discover if nodes track chains that are not monitored, because of a limit.
var ErrTooManyChains = errors.New("too many chains tracked")

// discovered is a chain that Discover has found.
type discovered struct {
	chain Chain
	first time.Time           // when it was found
	last  map[*Node]time.Time // when a node tracked it last, or did not answer and had tracked it before
}

// Discover returns the known chains and the discovered chains. It discovers each chain of the network that at least one node tracks,
// except chains of the primary network. The chains of the network are those that most nodes list. The health checks of each node then
// show which chains the node tracks: a node has one check for each chain that it runs or could not start. A node adds few chains that no other node
// tracks. Discover forgets a chain that it has found if no node has tracked it for a day: the chains of a node do not disappear when the node goes down.
// If some nodes do not answer, Discover returns the chains of the other nodes, and an error that names the nodes without an answer.
func (p *Pool) Discover(ctx context.Context, known []Chain) ([]Chain, error) {
	found := slices.Clone(known)
	for _, id := range slices.Sorted(maps.Keys(p.auto)) {
		if is := p.auto[id].chain; !slices.Contains(found, is) {
			found = append(found, is)
		}
	}
	var errs []error
	// A chain that is configured by an alias must not be added again.
	ids := map[string]bool{}
	for _, c := range known {
		if p.auto[c.Ref] != nil {
			continue
		}
		b, err := p.Blockchain(ctx, c)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ids[b.ID] = true
	}
	nodes := p.Nodes()
	all, err := p.blockchains(scrape.MaxAge(ctx, 0))
	if err != nil {
		return found, errors.Join(append(errs, err)...)
	}
	var others []node.Blockchain
	for _, b := range all {
		if b.SubnetID != node.PrimaryNetworkID && !ids[b.ID] {
			others = append(others, b)
		}
	}
	slices.SortFunc(others, func(a, b node.Blockchain) int { return cmp.Compare(a.ID, b.ID) })
	tracked := make([][]node.Blockchain, len(nodes))
	failed := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes { // concurrently, so that a node that does not answer does not delay the others
		wg.Go(func() {
			tracked[i], failed[i] = n.tracked(ctx, others, 0)
			if failed[i] == nil {
				n.discovered.Store(true)
			}
		})
	}
	wg.Wait()
	for i, n := range nodes {
		if failed[i] != nil {
			errs = append(errs, &CallError{n, failed[i]})
		}
	}
	found, left := p.follow(found, nodes, tracked, failed)
	return found, errors.Join(append(errs, left)...)
}

// follow returns the chains with those that nodes track now, and without those that no node has tracked for long. failed are the errors of nodes of which this
// is not known. If there are more chains than may be monitored, each node has the same share of them, and its first ones count: a node with many chains
// takes none from another. The error is ErrTooManyChains.
func (p *Pool) follow(found []Chain, nodes []*Node, tracked [][]node.Blockchain, failed []error) ([]Chain, error) {
	now := time.Now()
	trackers := map[string]int{}
	for _, chains := range tracked {
		for _, b := range chains {
			trackers[b.ID]++
		}
	}
	left := map[string][]*Node{} // those that track a chain that is left out
	for i, n := range nodes {
		for _, is := range p.auto {
			if _, did := is.last[n]; did && failed[i] != nil {
				is.last[n] = now
			}
		}
		for _, b := range tracked[i] {
			is := p.auto[b.ID]
			if is == nil && trackers[b.ID] == 1 && !n.adds.Allow() {
				left[b.ID] = append(left[b.ID], n)
				continue
			}
			if is == nil {
				is = &discovered{Chain{Name: nameFor(b, found, nodes), Ref: b.ID}, now, map[*Node]time.Time{}}
				p.auto[b.ID] = is
				found = append(found, is.chain)
			}
			is.last[n] = now
		}
	}
	for _, is := range p.auto {
		maps.DeleteFunc(is.last, func(n *Node, last time.Time) bool {
			return !slices.Contains(nodes, n) || time.Since(last) > chainForgotten
		})
	}
	configured := len(found) - len(p.auto)
	room := min(MaxChains, maxPairs/max(1, len(nodes)+len(p.Observers()))) - configured
	for at, is := range p.byShare(nodes) {
		if at >= room || len(is.last) == 0 {
			delete(p.auto, is.chain.Ref)
			found = slices.DeleteFunc(found, func(c Chain) bool { return c == is.chain })
			for n := range is.last {
				left[is.chain.Ref] = append(left[is.chain.Ref], n)
			}
		}
	}
	if p.leftOut.Store(int64(len(left))); len(left) == 0 {
		return found, nil
	}
	by := slices.Sorted(slices.Values(Names(slices.Concat(slices.Collect(maps.Values(left))...))))
	return found, fmt.Errorf("%w: %d that %s tracks are left out", ErrTooManyChains, len(left), strings.Join(slices.Compact(by), " or "))
}

// byShare returns the discovered chains, first the oldest one of each node, then the second one of each, and so on. Those that no node tracks are last.
func (p *Pool) byShare(nodes []*Node) []*discovered {
	all := slices.SortedFunc(maps.Values(p.auto), func(a, b *discovered) int {
		return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.chain.Ref, b.chain.Ref))
	})
	place := map[*discovered]int{}
	for _, is := range all {
		place[is] = len(all)
	}
	for _, n := range nodes {
		has := 0
		for _, is := range all {
			if _, tracks := is.last[n]; tracks {
				place[is] = min(place[is], has)
				has++
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *discovered) int { return cmp.Compare(place[a], place[b]) })
	return all
}

// Undiscovered returns the names of the nodes that answer, and whose chains Discover has not found out yet.
func (p *Pool) Undiscovered() []string {
	var missing []string
	for _, n := range p.Nodes() {
		if !n.discovered.Load() && !n.unreachable(0) {
			missing = append(missing, n.Name())
		}
	}
	return missing
}

// Unmonitored returns the chains of subnets that are not monitored. Nodes must agree about the chains and their subnets: a verdict depends on it.
func (p *Pool) Unmonitored(ctx context.Context) ([]node.Blockchain, error) {
	all, err := Agreed(scrape.MaxAge(ctx, StaticAge), p, FactBlockchains, sameChains, func(ctx context.Context, n *Node) ([]node.Blockchain, error) {
		return n.PlatformBlockchains(ctx)
	})
	if err != nil && node.IsNotServed(err) {
		all, err = p.blockchains(scrape.MaxAge(ctx, StaticAge))
	}
	if err != nil {
		return nil, err
	}
	monitored := map[string]bool{}
	for _, c := range p.Chains() {
		if monitored[c.Ref] = true; c.Ref != "C" && !slices.ContainsFunc(all, func(b node.Blockchain) bool { return b.ID == c.Ref }) { // an alias
			b, err := p.Blockchain(ctx, c)
			if err != nil && scrape.OutcomeOf(err) != scrape.NotFound {
				return nil, err
			}
			monitored[b.ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(b node.Blockchain) bool { return b.SubnetID == node.PrimaryNetworkID || monitored[b.ID] }), nil
}

// sameChains reports whether two lists have the same chains, each of the same subnet.
func sameChains(a, b []node.Blockchain) bool {
	subnets := func(list []node.Blockchain) map[string]string {
		of := map[string]string{}
		for _, b := range list {
			of[b.ID] = b.SubnetID
		}
		return of
	}
	return maps.Equal(subnets(a), subnets(b))
}

// TracksOf returns those of the chains that the node tracks. Without the health API, an answer may be as old as StaticAge.
func (n *Node) TracksOf(ctx context.Context, chains []node.Blockchain) ([]node.Blockchain, error) {
	return n.tracked(ctx, chains, StaticAge)
}

// ownChecks are the names of the health checks that do not belong to a chain of a subnet.
var ownChecks = []string{
	"bls", "bootstrapped", "database", "diskspace", "futureupgrade", "network", "router", "shuttingDown", "validation", "P", "X", "C",
}

// tracked returns those of the chains that the node tracks, in the same order. If it returns an error, the list is
// incomplete. Without the health API, answers of the P-Chain may be as old as maxAge.
func (n *Node) tracked(ctx context.Context, chains []node.Blockchain, maxAge time.Duration) ([]node.Blockchain, error) {
	if len(chains) == 0 {
		return nil, nil
	}
	health, err := n.Health(scrape.MaxAge(ctx, time.Minute))
	switch scrape.OutcomeOf(err) {
	case scrape.OK:
	case scrape.Forbidden, scrape.NotFound: // a proxy in front of the node blocks the health API
		return n.syncing(scrape.MaxAge(ctx, maxAge), chains)
	default:
		return nil, err
	}
	ids := map[string]bool{}
	for name := range health.Checks {
		ids[name] = true
		isID := slices.ContainsFunc(chains, func(b node.Blockchain) bool { return b.ID == name })
		if isID || slices.Contains(ownChecks, name) {
			continue
		}
		id, err := n.BlockchainID(scrape.MaxAge(ctx, StaticAge), name) // an alias
		if err != nil && !node.IsNoSuchChain(err) {
			return nil, err
		}
		ids[id] = true
	}
	return slices.DeleteFunc(slices.Clone(chains), func(b node.Blockchain) bool { return !ids[b.ID] }), nil
}

// blockchains returns the chains of the network. If no node lists them, it returns those that your nodes track.
func (p *Pool) blockchains(ctx context.Context) ([]node.Blockchain, error) {
	all, err := p.listed(ctx)
	if !node.IsNotServed(err) {
		return all, err
	}
	lists, err := Each(ctx, Reachable(p.Nodes(), 0), BasisChains, func(ctx context.Context, n *Node) ([]node.Blockchain, error) { return n.named(ctx) })
	all = slices.Concat(lists...)
	slices.SortFunc(all, func(a, b node.Blockchain) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Compact(all), err
}

// listed returns the chains that most nodes list. A chain that one of several nodes invents is not among them.
func (p *Pool) listed(ctx context.Context) ([]node.Blockchain, error) {
	call := func(ctx context.Context, n *Node) ([]node.Blockchain, error) { return n.PlatformBlockchains(ctx) }
	own, observers := p.OfNetwork()
	healthy := answering(own)
	votes := ballot[[]node.Blockchain]{same: sameChains}
	if len(healthy) > 1 {
		asked := min(askedFirst, len(healthy))
		if votes.ask(ctx, healthy[:asked], call); len(votes.from) > 0 && !votes.unanimous() {
			votes.ask(ctx, slices.Concat(healthy[asked:], observers), call)
		}
	}
	if len(votes.from) == 0 {
		return First(ctx, p, BasisChains, call)
	}
	if votes.unanimous() {
		return votes.values[0], nil
	}
	lists := map[node.Blockchain]int{}
	var all []node.Blockchain
	for _, list := range votes.values {
		for _, b := range list {
			if lists[b]++; 2*lists[b] > len(votes.values) && 2*(lists[b]-1) <= len(votes.values) {
				all = append(all, b)
			}
		}
	}
	var most []int
	for i, list := range votes.values {
		if sameChains(list, all) {
			most = append(most, i)
		}
	}
	if len(most) > 0 {
		p.NoteContradicted(FactBlockchains, votes.from, most)
	}
	return all, nil
}

// named returns the chains that the health checks of the node name.
func (n *Node) named(ctx context.Context) ([]node.Blockchain, error) {
	health, err := n.Health(scrape.MaxAge(ctx, time.Minute))
	if err != nil {
		return nil, err
	}
	var tracked []node.Blockchain
	ctx = scrape.MaxAge(ctx, StaticAge)
	for name := range health.Checks {
		if slices.Contains(ownChecks, name) {
			continue
		}
		id, err := n.BlockchainID(ctx, name)
		if node.IsNoSuchChain(err) {
			id = name // of a chain that the node could not start
		} else if err != nil {
			return tracked, err
		}
		b, exists, err := n.PlatformBlockchain(ctx, id)
		if err != nil {
			return tracked, err
		}
		if exists {
			tracked = append(tracked, b)
		}
	}
	return tracked, nil
}

// syncing returns the chains that the node tracks, without the health API. It calls the node's P-Chain once for each
// chain, and each call takes the P-Chain's lock. A chain that the node could not start is missing in the result.
func (n *Node) syncing(ctx context.Context, chains []node.Blockchain) (tracked []node.Blockchain, err error) {
	for _, b := range chains {
		status, err := n.PlatformBlockchainStatus(ctx, b.ID)
		if err != nil {
			return tracked, err
		}
		if status == "Validating" || status == "Syncing" {
			tracked = append(tracked, b)
		}
		if len(tracked) > MaxChains {
			break
		}
	}
	return tracked, nil
}

// nameFor returns the name of a discovered chain for the label chain: its name on the P-Chain, with hyphens for spaces, else its blockchain ID.
// Anybody may create a chain with any name. So nameFor uses the name only if it is a plain label value that no other
// chain or node has.
func nameFor(b node.Blockchain, taken []Chain, nodes []*Node) string {
	name := strings.ReplaceAll(b.Name, " ", "-")
	if !plainName.MatchString(name) || slices.Contains([]string{"P", "X", "C", "network", "other"}, name) ||
		slices.ContainsFunc(taken, func(c Chain) bool { return c.Name == name }) ||
		named(nodes, name) {
		return b.ID
	}
	return name
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
