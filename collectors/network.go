package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	networkValidators = metric.New("avax_network_validators",
		"Number of validators of the primary network, or of the subnet of a monitored chain.", "subnet_id")
	networkStake = metric.New("avax_network_stake_avax",
		"The validators' own stake in AVAX, without delegations.", "subnet_id")
	networkDelegatedStake = metric.New("avax_network_delegated_stake_avax",
		"Stake delegated to the validators in AVAX.", "subnet_id")
	networkDelegators = metric.New("avax_network_delegators",
		"Number of delegations to the validators.", "subnet_id")
)

var network = &collector.Spec{
	Name:     "network",
	Help:     "Size and stake of the validator sets.",
	Calls:    []string{"platform.getCurrentValidators", "platform.getBlockchains", "platform.getTx"},
	Every:    collector.FullSetEvery,
	Families: []*metric.Family{networkValidators, networkStake, networkDelegatedStake, networkDelegators},
	Bind: func(ups *collector.Upstreams) []collector.Job {
		return append(collector.Per(collector.Network, collectNetwork)(ups), collector.Per(collector.SubnetChains, collectSubnetSize)(ups)...)
	},
}

func collectNetwork(ctx context.Context, ups *collector.Upstreams, _ collector.Subject, out *metric.Batch) error {
	sets, err := primarySets(ctx, ups)
	if err != nil {
		return err
	}
	primary := sets[0]
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
	return nil
}

// collectSubnetSize runs in a separate job for each chain: a chain that is not found or is bootstrapping must not affect
// the other chains.
func collectSubnetSize(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	b, err := ups.Blockchain(ctx, on.Chain)
	if err != nil || b.SubnetID == node.PrimaryNetworkID || !ups.ChainReports(on.Chain, "size of "+b.SubnetID) {
		return err
	}
	set, err := subnetSet(scrape.MaxAge(ctx, 2*time.Minute), ups, b.SubnetID) // the collector named l1 makes the same call
	if err != nil {
		return err
	}
	out.Set(networkValidators, float64(len(set)), b.SubnetID)
	return nil
}
