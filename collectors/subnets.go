package collectors

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	subnetInfo = metric.New("avax_subnet_info",
		"The subnet of a monitored chain; always 1. The label is_l1 is true or false. The labels manager_blockchain_id and manager_address name the contract that "+
			"manages an L1's validators. They are empty if there is no such contract.",
		"subnet_id", "is_l1", "manager_blockchain_id", "manager_address")
	subnetOwner = metric.New("avax_subnet_owner_info",
		"An owner of the subnet, such as P-avax1…; always 1. The key of this address may sign changes of the subnet.",
		"subnet_id", "address").AtMost(collector.MaxNamed)
	subnetThreshold = metric.New("avax_subnet_owner_threshold",
		"Number of owners that must sign a change of the subnet.", "subnet_id")
)

var subnets = &collector.Spec{
	Name: "subnets",
	Help: "Owners of the subnets of the monitored chains, and validator manager contracts of L1s, from the P-Chain. If no node or observer reports them, " +
		"they are from the Data service.",
	Calls:    []string{"platform.getSubnet", data.GetSubnet.Op(), "platform.getBlockchains", "platform.getTx", "info.getNetworkID"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{subnetInfo, subnetOwner, subnetThreshold},
	Bind:     collector.Per(collector.SubnetChains, collectOwners),
	Cost:     collector.Calls(data.GetSubnet.Op(), 1),
}

// owners are the addresses that may change a subnet, and the contract that manages an L1's validators.
type owners struct {
	isL1                  bool
	managerChain, manager string
	addresses             []string
	threshold             *wire.Uint64 // nil: not reported
}

func collectOwners(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	b, err := ups.KnownBlockchain(ctx, on.Chain)
	if err != nil || b.SubnetID == node.PrimaryNetworkID {
		return err
	}
	if !ups.ChainReports(on.Chain, "owners of "+b.SubnetID) {
		return nil
	}
	s, err := nodes.Agreed(ctx, ups.Pool, nodes.FactOwners, exactly, func(ctx context.Context, n *nodes.Node) (owners, error) {
		return nodes.Optional(reportedOwners(ctx, n, b.SubnetID))
	})
	if err != nil && ups.Data != nil {
		s, err = listedOwners(ctx, ups, on.Chain, b.SubnetID)
	}
	if err != nil {
		return err
	}
	// The labels are the same for both sources: a node writes P-avax1… and lower case, the Data service avax1… and a checksum. With P-, an
	// owner has the label of its balance.
	out.Set(subnetInfo, 1, b.SubnetID, strconv.FormatBool(s.isL1), s.managerChain, strings.ToLower(s.manager))
	names := map[string]bool{}
	for _, address := range s.addresses {
		names[onPlatform(address)] = true
	}
	for address := range names {
		out.Set(subnetOwner, 1, b.SubnetID, address)
	}
	if s.threshold != nil {
		out.Set(subnetThreshold, float64(*s.threshold), b.SubnetID)
	}
	return nil
}

// reportedOwners requests the owners from a node or an observer.
func reportedOwners(ctx context.Context, n *nodes.Node, subnetID string) (owners, error) {
	s, err := n.PlatformSubnet(ctx, subnetID)
	found := owners{addresses: s.ControlKeys, threshold: &s.Threshold}
	if found.isL1 = s.IsL1(); found.isL1 {
		found.managerChain = s.ManagerChainID
		if s.ManagerAddress != nil {
			found.manager = *s.ManagerAddress
		}
	}
	return found, err
}

// listedOwners requests the owners from the Data service.
func listedOwners(ctx context.Context, ups *collector.Upstreams, c nodes.Chain, subnetID string) (found owners, err error) {
	network, err := ups.FindNetwork(ctx)
	if err != nil {
		return found, err
	}
	s, err := collector.OfChain(ctx, ups, c, data.GetSubnet.Op(), func(string) (data.Subnet, error) { return ups.Data.Subnet(ctx, network, subnetID) })
	if err == nil && s.SubnetID != subnetID {
		err = collector.WrongAnswer(data.GetSubnet.Op(), "subnet "+subnetID, "subnet "+s.SubnetID)
	}
	found.isL1 = s.IsL1
	if manager := s.L1ValidatorManagerDetails; manager != nil {
		found.managerChain, found.manager = manager.BlockchainID, manager.ContractAddress
	}
	if owner := s.SubnetOwnershipInfo; owner != nil {
		found.addresses, found.threshold = owner.Addresses, &owner.Threshold
	}
	return found, err
}

// onPlatform returns the address with the prefix of the P-Chain, which some answers leave out.
func onPlatform(address string) string { return "P-" + strings.TrimPrefix(address, "P-") }
