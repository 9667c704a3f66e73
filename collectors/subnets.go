package collectors

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	subnetInfo = metric.New("avax_subnet_info",
		"The subnet of a monitored chain; always 1. The label is_l1 is true or false. The labels manager_blockchain_id and manager_address name the contract that manages an L1's validators. They are empty if there is no such contract.",
		"subnet_id", "is_l1", "manager_blockchain_id", "manager_address")
	subnetOwner = metric.New("avax_subnet_owner_info",
		"An owner of the subnet; always 1. The key of this address may sign changes of the subnet.", "subnet_id", "address").AtMost(maxNamed)
	subnetThreshold = metric.New("avax_subnet_owner_threshold",
		"Number of owners that must sign a change of the subnet.", "subnet_id")
)

var subnets = &Spec{
	Name:     "subnets",
	Help:     "Owners of the subnets of the monitored chains, and validator manager contracts of L1s.",
	Calls:    []string{opSubnet, "platform.getBlockchains", "info.getBlockchainID", "info.getNetworkID"},
	Every:    time.Minute,
	Families: []*metric.Family{subnetInfo, subnetOwner, subnetThreshold},
	Scope:    metric.ScopeChain,
	Bind:     withData(perChain(collectOwners)),
	Cost:     calls(opSubnet, 1),
}

func collectOwners(ctx context.Context, ups *Upstreams, c nodes.Chain, out *metric.Batch) error {
	b, err := ups.KnownBlockchain(ctx, c)
	if err != nil || b.SubnetID == node.PrimaryNetworkID {
		return err
	}
	if !ups.chainReports(c, "owners of "+b.SubnetID) {
		return nil
	}
	s, err := ofChain(ctx, ups, c, opSubnet, func(string) (data.Subnet, error) {
		return ups.Data.Subnet(ctx, ups.Data.networkName(), b.SubnetID)
	})
	if err == nil && s.SubnetID != b.SubnetID {
		err = wrongAnswer(opSubnet, "subnet "+b.SubnetID, "subnet "+s.SubnetID)
	}
	if err != nil {
		return err
	}
	var manager data.L1Manager
	if s.L1ValidatorManagerDetails != nil {
		manager = *s.L1ValidatorManagerDetails
	}
	out.Set(subnetInfo, 1, s.SubnetID, strconv.FormatBool(s.IsL1), manager.BlockchainID, manager.ContractAddress)
	if owner := s.SubnetOwnershipInfo; owner != nil {
		for _, address := range slices.Compact(slices.Sorted(slices.Values(owner.Addresses))) {
			out.Set(subnetOwner, 1, s.SubnetID, address)
		}
		out.Set(subnetThreshold, float64(owner.Threshold), s.SubnetID)
	}
	return nil
}
