package nodes

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/avax-exporter/avax-exporter/internal/spelling"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// chainIDs are the EVM chain IDs of the C-Chain.
var chainIDs = []uint64{43114, 43113, 43112}

// meant returns what an operator probably meant by the name of a chain that the P-Chain does not have, such as the ID of its subnet, and what to write.
// It is empty if nothing is known.
func meant(ctx context.Context, n *Node, ref string) string {
	if id, err := strconv.ParseUint(ref, 0, 64); err == nil && slices.Contains(chainIDs, id) {
		return "this is the EVM chain ID of the C-Chain: write C"
	}
	if alias := strings.TrimSuffix(strings.ToUpper(ref), "-CHAIN"); slices.Contains([]string{"P", "X", "C"}, alias) {
		return "the alias of this chain is " + alias + ": write " + alias
	}
	if ref == node.PrimaryNetworkID {
		return "this is the ID of the Primary Network: write P, X or C"
	}
	if kind := spelling.Kind(ref); kind == "a node ID" || kind == "an EVM address" {
		return "this is " + kind + ": write a blockchain ID"
	}
	all, err := n.PlatformBlockchains(ctx)
	if err != nil {
		return ""
	}
	var tracked []node.Blockchain // of others the node does not know the EVM chain ID
	if number.MatchString(ref) {
		tracked, _ = n.TracksOf(ctx, all)
	}
	for _, is := range []struct {
		what string
		of   func(node.Blockchain) bool
	}{
		{"the ID of a subnet", func(b node.Blockchain) bool { return b.SubnetID == ref }},
		{"the ID of a VM", func(b node.Blockchain) bool { return b.VMID == ref }},
		{"the name of a chain, which nodes do not know", func(b node.Blockchain) bool { return strings.EqualFold(b.Name, ref) }},
		{"an EVM chain ID", func(b node.Blockchain) bool {
			want, err := strconv.ParseUint(ref, 0, 64)
			if err != nil || !slices.Contains(tracked, b) {
				return false
			}
			id, err := n.EthChainID(ctx, b.ID)
			return err == nil && id == want
		}},
	} {
		var found []string
		for _, b := range all {
			if len(found) < maxMeant && is.of(b) {
				found = append(found, fmt.Sprintf("%s (%s)", b.ID, b.Name))
			}
		}
		if len(found) > 0 {
			return "this is " + is.what + ": write the blockchain ID: " + strings.Join(found, " or ")
		}
	}
	var names, ids []string
	for _, b := range all {
		names, ids = append(names, b.Name), append(ids, b.ID)
	}
	if near := spelling.Near(ref, names); len(near) > 0 {
		return fmt.Sprintf("did you mean %s (%s)?", ids[slices.Index(names, near[0])], near[0])
	}
	if number.MatchString(ref) {
		return "this is a number, such as an EVM chain ID: write a blockchain ID"
	}
	return ""
}

// maxMeant is the maximum number of chains that are suggested.
const maxMeant = 3

var number = regexp.MustCompile(`^(\d+|0x[0-9a-fA-F]+)$`)
