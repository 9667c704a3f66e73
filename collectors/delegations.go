package collectors

import (
	"context"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	delegationEnd = metric.New("avax_delegation_end_timestamp_seconds",
		"End of a delegation of a monitored address, in Unix seconds. Nothing renews a delegation.", "address", "name", "node_id", "tx_id")
	delegationStake = metric.New("avax_delegation_stake_avax",
		"Stake of a delegation in AVAX.", "address", "name", "node_id", "tx_id")
	delegationReward = metric.New("avax_delegation_expected_reward_avax",
		"Reward of a delegation at its end in AVAX, after the validator's fee, if the validator's uptime is sufficient. If no node or observer lists the "+
			"delegation, this is the Data service's estimate.", "address", "name", "node_id", "tx_id")
	delegationValidatorEnd = metric.New("avax_delegation_validator_end_timestamp_seconds",
		"End of the validator of a delegation, in Unix seconds. Absent while an auto-renewed validator continues after its current period.", "address", "name",
		"node_id", "tx_id")
	delegationReachable = metric.New("avax_delegation_reward_reachable",
		"1 if the validator of a delegation can still meet its uptime requirement, 0 if not, by the uptime that one node or observer reports. Absent if none "+
			"reports it.", "address", "name", "node_id", "tx_id")
)

var delegations = &collector.Spec{
	Name: "delegations",
	Help: "Delegations of the addresses in AVAX_WATCH_DELEGATORS: at the validators in AVAX_VALIDATORS, and at all validators if the Data service is " +
		"configured.",
	Calls:    []string{"platform.getCurrentValidators", "info.upgrades", "info.getNodeID", "info.getNetworkID", data.ListPendingRewards.Op()},
	Every:    5 * time.Minute,
	Families: []*metric.Family{delegationEnd, delegationStake, delegationReward, delegationValidatorEnd, delegationReachable},
	Bind:     collector.PerItem(collector.Watchlist.DelegatorNames, collectDelegations),
	Cost:     collector.Calls(data.ListPendingRewards.Op(), 1),
}

// maxDelegatedTo is the maximum number of validators whose delegations one run lists. A list may have thousands of entries.
const maxDelegatedTo = 50

func collectDelegations(ctx context.Context, ups *collector.Upstreams, name string, out *metric.Batch) error {
	address := ups.Watched().Delegator(name).Address
	set := func(nodeID, txID string, end time.Time, stake, reward wire.NanoAVAX) (labels []string) {
		labels = []string{address, name, nodeID, txID}
		out.SetTime(delegationEnd, end, labels...)
		out.Set(delegationStake, stake.AVAX(), labels...)
		out.Set(delegationReward, reward.AVAX(), labels...)
		return labels
	}
	pending, err := pendingDelegations(ctx, ups, address)
	switch {
	case ups.IsEmpty() && err != nil:
		return err
	case ups.IsEmpty():
		current := map[string]payout{}
		for _, d := range pending {
			reward := wire.NanoAVAX(d.EstimatedReward.Amount.Uint64())
			set(d.NodeID, d.TxHash, d.EndTimestamp.Time, d.AmountStaked, reward)
			current[d.TxHash] = payout{NodeID: d.NodeID, End: d.EndTimestamp.Time, Expected: reward, Estimated: true}
		}
		expectPayouts(ups, out, name, current)
	default:
		if err != nil {
			out.Note("only the validators in AVAX_VALIDATORS: %v", err)
		}
		return listDelegations(ctx, ups, name, address, pending, out, set)
	}
	return nil
}

// listDelegations calls set for each delegation of an address that a node or an observer lists. It asks for the monitored validators, and
// those of the pending delegations.
func listDelegations(ctx context.Context, ups *collector.Upstreams, name, address string, pending []data.PendingReward, out *metric.Batch,
	set func(nodeID, txID string, end time.Time, stake, reward wire.NanoAVAX) (labels []string)) error {
	monitored, _, err := monitoredIDs(ctx, ups)
	if err != nil {
		return err
	}
	ids := slices.Clone(monitored)
	for _, d := range pending {
		ids = append(ids, d.NodeID)
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) > maxDelegatedTo {
		out.Note("only the delegations to %d of %d validators: list fewer in AVAX_VALIDATORS", maxDelegatedTo, len(ids))
		ids = ids[:maxDelegatedTo]
	}
	helicon, err := heliconTime(ctx, ups)
	if err != nil {
		return err
	}
	current := map[string]payout{}
	for _, id := range ids {
		found, err := nodes.Agreed(ctx, ups.Pool, factValidators, reported.same, func(ctx context.Context, n *nodes.Node) (reported, error) {
			entries, err := n.PlatformCurrentValidators(ctx, node.PrimaryNetworkID, id)
			return reported{entries, n.KnownID()}, err
		})
		if err != nil {
			return err
		}
		for _, v := range found.entries {
			for _, d := range v.Delegators {
				if !slices.Contains(d.RewardOwner.Addresses, address) || v.DelegationFee == nil {
					continue
				}
				reward, uptime := wire.NanoAVAX(staking.DelegatorReward(uint64(d.PotentialReward), v.DelegationFee.Ratio())), uptimeOf(v, found.by)
				labels := set(v.NodeID, d.TxID, d.EndTime.Time, d.Weight, reward)
				current[d.TxID] = payout{NodeID: v.NodeID, End: d.EndTime.Time, Expected: reward, Uptime: uptime}
				if v.EndTime != nil && (v.NextPeriod == nil || v.NextPeriod.Duration == 0) {
					out.SetTime(delegationValidatorEnd, v.EndTime.Time, labels...)
				}
				if uptime != nil {
					budget := staking.NewDowntimeBudget(periodOf(v), time.Now(), *uptime, staking.Requirement(v.StartTime.Time, helicon))
					out.SetBool(delegationReachable, budget.Reachable(), labels...)
				}
			}
		}
	}
	expectPayouts(ups, out, name, current)
	return nil
}

// pendingDelegations returns the delegations of an address that the Data service lists, if it is configured.
func pendingDelegations(ctx context.Context, ups *collector.Upstreams, address string) (found []data.PendingReward, err error) {
	if ups.Data == nil {
		return nil, nil
	}
	network, err := ups.FindNetwork(ctx)
	if err != nil {
		return nil, err
	}
	for r, err := range ups.Data.PendingRewards(ctx, network, address) {
		if err != nil {
			return found, collector.IfRejected(err, "AVAX_WATCH_DELEGATORS")
		}
		if r.RewardType == data.RewardDelegator {
			found = append(found, r)
		}
	}
	return found, nil
}
