package collectors

import (
	"context"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	networkValidators = metric.New("avax_network_validators",
		"Validators in the set of the primary network or of a followed chain's subnet.", "subnet_id")
	networkStake = metric.New("avax_network_stake_avax",
		"The validators' own stake in AVAX, without delegations.", "subnet_id")
	networkDelegatedStake = metric.New("avax_network_delegated_stake_avax",
		"Stake delegated to the validators in AVAX.", "subnet_id")
	networkDelegators = metric.New("avax_network_delegators",
		"Delegations to the validators.", "subnet_id")
)

var network = &Spec{
	Name:     "network",
	Help:     "How large are the validator sets?",
	Calls:    []string{"platform.getCurrentValidators", "platform.getBlockchains", "info.getBlockchainID"},
	Every:    fullSetEvery,
	Families: []*metric.Family{networkValidators, networkStake, networkDelegatedStake, networkDelegators},
	Bind:     once(collectNetwork),
}

func collectNetwork(ctx context.Context, ups *Upstreams, out *metric.Batch) error {
	primary, err := fullSet(ctx, ups, node.PrimaryNetworkID)
	if err != nil {
		return err
	}
	var stake, delegated wire.NanoAVAX
	var delegators uint64
	for _, v := range primary {
		stake += wire.NanoAVAX(v.Weight)
		if v.DelegatorWeight != nil {
			delegated += *v.DelegatorWeight
		}
		if v.DelegatorCount != nil {
			delegators += uint64(*v.DelegatorCount)
		}
	}
	out.Set(networkValidators, float64(len(primary)), node.PrimaryNetworkID)
	out.Set(networkStake, stake.AVAX(), node.PrimaryNetworkID)
	out.Set(networkDelegatedStake, delegated.AVAX(), node.PrimaryNetworkID)
	out.Set(networkDelegators, float64(delegators), node.PrimaryNetworkID)

	subnets, err := ups.subnets(ctx)
	for _, s := range subnets {
		set, err := fullSet(ctx, ups, s.subnetID)
		if err != nil {
			return err
		}
		out.Set(networkValidators, float64(len(set)), s.subnetID)
	}
	return err
}
