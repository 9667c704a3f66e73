// Package collectors calls nodes and converts their answers into samples. Each collector has one file with its metric families, its Spec and its
// collect function. Files that begin with shared_ have what several collectors use. All lists the collectors, with those of
// package dataservice; there is no other registration.
package collectors

import (
	"slices"

	"github.com/avax-exporter/avax-exporter/collectors/dataservice"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// All returns all collectors, in the order in which documents and the status page list them.
func All() []*collector.Spec {
	return []*collector.Spec{
		up,
		identity,
		fleet,
		bootstrap,
		uptime,
		peers,
		stakingPort,
		connectedStake,
		health,
		upgrades,
		admin,
		network,
		networkViews,
		supply,
		validators,
		validatorViews,
		rewardBudget,
		delegations,
		payouts,
		addresses,
		assets,
		heads,
		blocks,
		forks,
		chainStatus,
		chainInfo,
		chainConfig,
		transactionPool,
		rpc,
		chainRules,
		feeConfig,
		l1,
		l1Views,
		l1Runway,
		l1Proposers,
		safeToStop,
		variants,
		observer,
		dataservice.TPS,
		dataservice.DataUp,
		dataservice.DataIndex,
		dataservice.DataBlockchains,
		subnets,
		dataservice.Rewards,
		nativeBalances,
		dataservice.Collectibles,
		dataservice.Transfers,
		dataservice.InternalTransactions,
		dataservice.Deployments,
		dataservice.AssetTransactions,
		dataservice.ICM,
		dataservice.ICMChains,
		dataservice.Signatures,
		dataservice.NFTMetadata,
	}
}

// MustFamily returns the declared family with this name, which has these labels. It panics if there is none: a program that reads a family by
// a wrong name does not start.
func MustFamily(name string, labels ...string) *metric.Family {
	_, f := Find(name)
	if f == nil {
		panic("collectors: no family " + name)
	}
	for _, label := range labels {
		if !slices.Contains(f.Labels, label) {
			panic("collectors: family " + name + " has no label " + label)
		}
	}
	return f
}

// Find returns the family with this name and its collector; nil if there is none.
func Find(name string) (*collector.Spec, *metric.Family) {
	for _, spec := range All() {
		for _, f := range spec.Families {
			if f.Name == name {
				return spec, f
			}
		}
	}
	return nil, nil
}
