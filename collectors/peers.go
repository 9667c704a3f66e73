package collectors

import (
	"context"
	"iter"
	"net"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	nodePeers = metric.New("avax_node_peers",
		"Peers that the node is connected to.", "node")
	nodePeersInbound = metric.New("avax_node_peers_inbound",
		"Peers that opened the connection to the node. 0 for a long time means that peers cannot reach the node. A peer counts if it announces another port than "+
			"the port of the connection.", "node")
	nodePeersByVersion = metric.New("avax_node_peers_by_version",
		"Connected peers by reported version. Only the 20 most frequent versions have series of their own. The series version=other is the sum of the others.",
		"node", "version")
	nodePeersBenched = metric.New("avax_node_peers_benched",
		"Peers that this node has benched on the chain: for a limited time it does not query them. Of the chains that are not monitored, only the 20 with the "+
			"most benched peers have series of their own. The series chain=other is the sum of the others.",
		"node", "chain")
	nodeSubnetPeers = metric.New("avax_node_subnet_peers",
		"Connected peers that track the subnet of the chain. Absent for chains of the primary network, which all peers track.",
		"node", "chain")
	nodePeersSilent = metric.New("avax_node_peers_silent",
		"Connected peers from which the node received no message for 60 s.", "node")
)

var peers = &collector.Spec{
	Name:     "peers",
	Help:     "Peers of the node.",
	Calls:    []string{"info.peers", "platform.getBlockchains", "platform.getTx", "info.getBlockchainID"},
	Every:    time.Minute,
	Families: []*metric.Family{nodePeers, nodePeersInbound, nodePeersByVersion, nodePeersBenched, nodeSubnetPeers, nodePeersSilent},
	Bind:     collector.Per(collector.Nodes, collectPeers),
}

// silentAfter is the time without a message after which a peer counts as silent. A connected peer sends pings more often
// than once a minute.
const silentAfter = time.Minute

func collectPeers(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	n := on.Node
	answer, err := n.Peers(ctx)
	if err != nil {
		return err
	}
	// The times are from the node's clock, which may differ from the exporter's. The newest time counts as now.
	var now time.Time
	for _, p := range answer.Peers {
		for _, t := range []time.Time{p.LastSent.Time, p.LastReceived.Time} {
			if t.After(now) {
				now = t
			}
		}
	}
	var inbound, silent int
	versions, benched, elsewhere := map[string]int{}, map[string]int{}, map[string]int{}
	for _, c := range ups.AllChains() {
		benched[c.Name] = 0
	}
	refs, err := ups.RefsOf(ctx, n, benchedOn(answer.Peers))
	if err != nil {
		return err
	}
	for _, p := range answer.Peers {
		versions[p.Version]++
		if isInbound(p.IP, p.PublicIP) {
			inbound++
		}
		if now.Sub(p.LastReceived.Time) > silentAfter {
			silent++
		}
		for _, chain := range p.Benched {
			name := ups.ChainName(refs[chain])
			if _, monitored := benched[name]; monitored {
				benched[name]++
			} else {
				elsewhere[name]++
			}
		}
	}
	out.Set(nodePeers, float64(answer.NumPeers), n.Name())
	if known := func(p node.Peer) bool { return p.IP != "" && p.PublicIP != "" }; len(answer.Peers) == 0 || slices.ContainsFunc(answer.Peers, known) {
		out.Set(nodePeersInbound, float64(inbound), n.Name())
	}
	out.Set(nodePeersSilent, float64(silent), n.Name())
	for v, count := range collector.TopCounts(versions) {
		out.Set(nodePeersByVersion, float64(count), n.Name(), v)
	}
	for chain, count := range collector.TopCounts(elsewhere) {
		benched[chain] += count
	}
	for chain, count := range benched {
		out.Set(nodePeersBenched, float64(count), n.Name(), chain)
	}
	setSubnetPeers(ctx, ups, n, answer.Peers, out)
	return nil
}

// setSubnetPeers counts the peers that track the subnet of each monitored chain. Other subnets have no series, because
// anybody may create a subnet. The subnet of a chain never changes, so it is requested only until it is known. An error
// of that request is ignored here, because the collectors of the chain report it.
func setSubnetPeers(ctx context.Context, ups *collector.Upstreams, n *nodes.Node, all []node.Peer, out *metric.Batch) {
	if len(all) > 0 && !slices.ContainsFunc(all, func(p node.Peer) bool { return p.TrackedSubnets != nil }) {
		return // the node's release does not report subnets
	}
	for _, c := range ups.Chains() {
		b, err := ups.KnownBlockchain(ctx, c)
		switch {
		case scrape.OutcomeOf(err) == scrape.NotFound || b.SubnetID == node.PrimaryNetworkID:
			continue
		case err != nil:
			return // the requests for the other chains would fail too
		}
		count := 0
		for _, p := range all {
			if slices.Contains(p.TrackedSubnets, b.SubnetID) {
				count++
			}
		}
		out.Set(nodeSubnetPeers, float64(count), n.Name(), c.Name)
	}
}

// isInbound reports whether the peer opened the connection. The remote address of such a connection has an ephemeral
// port, not the port that the peer announces.
func isInbound(remote, announced string) bool {
	_, remotePort, err := net.SplitHostPort(remote)
	_, announcedPort, errAnnounced := net.SplitHostPort(announced)
	return err == nil && errAnnounced == nil && remotePort != announcedPort
}

// benchedOn yields the chains on which peers are benched, as the node calls them.
func benchedOn(peers []node.Peer) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, p := range peers {
			for _, chain := range p.Benched {
				if !yield(chain) {
					return
				}
			}
		}
	}
}
