package collectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Discover adds to the known chains those of subnets that some node tracks:
// platform.getBlockchainStatus says Validating or Syncing. A chain that was
// found stays: a node that is down does not take its chains with it. The error
// tells of nodes that could not be asked; the chains stand all the same.
func Discover(ctx context.Context, ups *Upstreams, known []Chain) ([]Chain, error) {
	found := slices.Clone(known)
	var errs []error
	// A chain that is followed by an alias is not followed twice.
	ids := map[string]bool{}
	for _, c := range known {
		b, err := c.Blockchain(ctx, ups)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ids[b.ID] = true
	}
	ctx = scrape.MaxAge(ctx, 0)
	for _, n := range ups.Nodes() {
		all, err := n.PlatformBlockchains(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", n.Name(), err))
			continue
		}
		slices.SortFunc(all, func(a, b node.Blockchain) int { return cmp.Compare(a.ID, b.ID) })
		for _, b := range all {
			if b.SubnetID == node.PrimaryNetworkID || ids[b.ID] || slices.ContainsFunc(found, func(c Chain) bool { return c.Ref == b.ID }) {
				continue
			}
			status, err := n.PlatformBlockchainStatus(ctx, b.ID)
			if err != nil {
				errs = append(errs, fmt.Errorf("node %s: %w", n.Name(), err))
				break
			}
			if status == "Validating" || status == "Syncing" {
				found = append(found, Chain{Name: nameFor(b, found), Ref: b.ID})
			}
		}
	}
	return found, errors.Join(errs...)
}

// nameFor gives a discovered chain its own name where that is fit for a label
// and not taken: anybody may name a chain anything.
func nameFor(b node.Blockchain, taken []Chain) string {
	if !plainName.MatchString(b.Name) || slices.Contains([]string{"P", "X", "C"}, b.Name) ||
		slices.ContainsFunc(taken, func(c Chain) bool { return c.Name == b.Name }) {
		return b.ID
	}
	return b.Name
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
