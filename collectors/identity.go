package collectors

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	nodeInfo = metric.New("avax_node_info",
		"Identity and version of the node; always 1.",
		"node", "node_id", "version", "git_commit", "database_version", "rpc_protocol_version", "network", "network_id")
	nodeAddressInfo = metric.New("avax_node_address_info",
		"Address that the node announces to its peers; always 1.", "node", "ip")
	nodeIdentityInfo = metric.New("avax_node_identity_info",
		"Node ID and BLS public key of the node; always 1.", "node", "node_id", "bls_public_key")
	nodeVMInfo = metric.New("avax_node_vm_info",
		"A virtual machine that the node has loaded, by name or VM ID; always 1. A VM that failed to start has no series.",
		"node", "vm", "version").AtMost(collector.MaxNamed)
	nodeTxFee = metric.New("avax_node_tx_fee_avax",
		"X-Chain fee in AVAX that the node reports: for a transaction (tx) or for the creation of an asset (create_asset).", "node", "kind")
)

var identity = &collector.Spec{
	Name: "identity",
	Help: "Node ID, version, network, address, VMs and X-Chain fees of the node.",
	Calls: []string{
		"info.getNodeID", "info.getNodeIP", "info.getNodeVersion", "info.getNetworkID", "info.getNetworkName", "avm.getTxFee",
	},
	Every:    time.Minute,
	Families: []*metric.Family{nodeInfo, nodeAddressInfo, nodeIdentityInfo, nodeVMInfo, nodeTxFee},
	Bind:     collector.Per(collector.Nodes, collectIdentity),
}

// newIdentity is how long a node that has answered again is asked more often who it is, and one that has another identity for an hour: a wrong key pages soon,
// the page sees when the right one is back, and a load balancer shows other nodes.
const newIdentity = 2 * time.Minute

func collectIdentity(ctx context.Context, _ *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	n := on.Node
	id, err := n.Identity(ctx)
	soonUnless(time.Since(n.Since()) > newIdentity && n.Past().Unsettled() == "", out)
	if err != nil {
		return err
	}
	version, err := n.NodeVersion(ctx)
	if err != nil {
		return err
	}
	networkID, err := n.NetworkID(scrape.MaxAge(ctx, nodes.NetworkAge))
	if err != nil {
		return err
	}
	slowly := scrape.MaxAge(ctx, collector.StaticAge)
	networkName, err := n.NetworkName(slowly)
	if err != nil {
		return err
	}
	ip, err := n.NodeIP(slowly)
	if err != nil {
		return err
	}
	var protocol string
	if version.RPCProtocolVersion != nil {
		protocol = strconv.FormatUint(uint64(*version.RPCProtocolVersion), 10)
	}
	out.Set(nodeInfo, 1, n.Name(), id.NodeID, version.Version, version.GitCommit, version.DatabaseVersion,
		protocol, networkName, strconv.FormatUint(networkID, 10))
	if id.POP != nil {
		out.Set(nodeIdentityInfo, 1, n.Name(), id.NodeID, id.POP.PublicKey)
	}
	out.Set(nodeAddressInfo, 1, n.Name(), ip)
	for vm, v := range version.VMVersions {
		out.Set(nodeVMInfo, 1, n.Name(), vm, v)
	}

	incomplete := metric.WithSamples(errors.Join(id.Incomplete(), version.Incomplete()))
	fee, err := nodes.Optional(n.AVMTxFee(slowly, "X"))
	if node.IsStillBootstrapping(err) {
		return incomplete // the X-Chain is not bootstrapped yet; the other samples are complete
	}
	if incomplete != nil && errors.Is(err, metric.ErrNotOffered) { // which is a success, as with partial sync
		return incomplete
	}
	if err != nil {
		return err
	}
	out.Set(nodeTxFee, fee.TxFee.AVAX(), n.Name(), "tx")
	out.Set(nodeTxFee, fee.CreateAssetTxFee.AVAX(), n.Name(), "create_asset")
	return incomplete
}
