package collectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// MostChains is how many chains are followed at most where they are looked for.
const MostChains = 1000

// Discover adds to the known chains those of subnets that some node tracks:
// platform.getBlockchainStatus says Validating or Syncing. A chain that was
// found stays: a node that is down does not take its chains with it. Once there
// are MostChains, nobody is asked. The error tells of nodes that could not be
// asked; the chains stand all the same.
func Discover(ctx context.Context, t *Targets, known []Chain) ([]Chain, error) {
	if len(known) >= MostChains {
		return known, nil
	}
	found := slices.Clone(known)
	var errs []error
	// A chain that is followed by an alias is not followed twice.
	ids := map[string]bool{}
	for _, c := range known {
		b, err := c.Blockchain(ctx, t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ids[b.ID] = true
	}
	nodes := t.Nodes()
	tracked := make([][]node.Blockchain, len(nodes))
	failed := make([]error, len(nodes))
	ctx = scrape.MaxAge(ctx, 0)
	var wg sync.WaitGroup
	for i, n := range nodes { // at once: one that does not answer holds up no other
		wg.Go(func() { tracked[i], failed[i] = n.tracked(ctx, ids) })
	}
	wg.Wait()
	for i, n := range nodes {
		if failed[i] != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", n.Name(), failed[i]))
		}
		for _, b := range tracked[i] {
			if len(found) < MostChains && !slices.ContainsFunc(found, func(c Chain) bool { return c.Ref == b.ID }) {
				found = append(found, Chain{Name: nameFor(b, found, nodes), Ref: b.ID})
			}
		}
	}
	return found, errors.Join(errs...)
}

// tracked returns the chains of subnets that the node tracks, by ID, without
// those known already; with an error those that it told of before.
func (n *Node) tracked(ctx context.Context, known map[string]bool) ([]node.Blockchain, error) {
	all, err := n.PlatformBlockchains(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b node.Blockchain) int { return cmp.Compare(a.ID, b.ID) })
	var tracked []node.Blockchain
	for _, b := range all {
		if b.SubnetID == node.PrimaryNetworkID || known[b.ID] {
			continue
		}
		status, err := n.PlatformBlockchainStatus(ctx, b.ID)
		if err != nil {
			return tracked, err
		}
		if status == "Validating" || status == "Syncing" {
			tracked = append(tracked, b)
		}
		if len(tracked) == MostChains {
			break
		}
	}
	return tracked, nil
}

// nameFor gives a discovered chain its own name where that is fit for a label
// and not taken: anybody may name a chain anything.
func nameFor(b node.Blockchain, taken []Chain, nodes []*Node) string {
	if !plainName.MatchString(b.Name) || slices.Contains([]string{"P", "X", "C", "network", other}, b.Name) ||
		slices.ContainsFunc(taken, func(c Chain) bool { return c.Name == b.Name }) ||
		slices.ContainsFunc(nodes, func(n *Node) bool { return n.Name() == b.Name }) {
		return b.ID
	}
	return b.Name
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
