package collectors

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/state"
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
	delegatorKnown = metric.New("avax_delegator_known",
		"1 if a monitored address has a delegation, or had one in the last 30 days. 0 if the Data service knows none: the address may be wrong. Absent without the "+
			"Data service.", "address", "name")
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
	Families: []*metric.Family{delegationEnd, delegationStake, delegationReward, delegationValidatorEnd, delegationReachable, delegatorKnown},
	Bind:     collector.Per(collector.Items(collector.Watchlist.DelegatorItems), collectDelegations),
	// All addresses are requested together, and each answer serves all jobs for a period.
	ReusesAnswers: true,
	Cost: func(w collector.Watchlist, _ int) map[string]int {
		return map[string]int{data.ListPendingRewards.Op(): pagesOf(w.Delegators)}
	},
}

// pagesOf estimates the pages of a list about delegators, if each has delegationsEach entries.
func pagesOf(delegators []collector.Item) (pages int) {
	const delegationsEach, pageSize = 4, 100
	for chunk := range slices.Chunk(delegators, data.MaxAddresses) {
		pages += (len(chunk)*delegationsEach + pageSize - 1) / pageSize
	}
	return pages
}

// maxDelegatedTo is the maximum number of validators whose delegations one run lists. A list may have thousands of entries.
const maxDelegatedTo = 50

func collectDelegations(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	name, address := on.Item.Name, on.Item.Value
	current := map[string]payout{}
	pending, err := pendingDelegations(ctx, ups, []string{address})
	incomplete := err != nil
	for _, d := range pending {
		current[d.TxHash] = payout{NodeID: d.NodeID, End: d.EndTimestamp.Time, Stake: d.AmountStaked, Expected: wire.NanoAVAX(d.EstimatedReward.Amount.Uint64()),
			Estimated: true}
	}
	if !incomplete && ups.Data != nil {
		if err := keepUnconfirmed(ups, name+" "+address, current); err != nil {
			return err
		}
	}
	if incomplete { // what was known before does not change
		for tx, p := range payoutsOf(ups, name) {
			if p.End.After(time.Now()) && p.Stake > 0 {
				current[tx] = p
			}
		}
	}
	set := func(tx string, p payout) (labels []string) {
		labels = []string{address, name, p.NodeID, tx}
		out.SetTime(delegationEnd, p.End, labels...)
		out.Set(delegationStake, p.Stake.AVAX(), labels...)
		out.Set(delegationReward, p.Expected.AVAX(), labels...)
		return labels
	}
	if !ups.IsEmpty() {
		if err != nil {
			out.Note("of other validators than those in AVAX_VALIDATORS, only delegations that were known before: %v", err)
			err = nil
		}
		listed, err := listDelegations(ctx, ups, address, current, out, set)
		if err != nil {
			return err
		}
		for tx, p := range current {
			if _, there := listed[tx]; !there {
				set(tx, p)
			}
		}
		maps.Copy(current, listed)
	} else {
		for tx, p := range current {
			set(tx, p)
		}
	}
	switch {
	case err != nil && len(current) > 0:
		return metric.WithSamples(err)
	case err != nil:
		return err
	}
	expectPayouts(ups, out, name, current)
	if known := len(payoutsOf(ups, name)) > 0; ups.Data != nil && !incomplete {
		out.SetBool(delegatorKnown, known, address, name)
	}
	return nil
}

// keepUnconfirmed adds the delegations that the last reading of the Data service's list had and this one lacks, unless they have ended: an item that
// moved to another page may be missing. Two readings in succession must lack it.
func keepUnconfirmed(ups *collector.Upstreams, of string, current map[string]payout) error {
	entry := "delegations " + of
	before, _ := state.Load[map[string]payout](&ups.Memory, entry)
	if err := ups.Memory.Save(entry, maps.Clone(current)); err != nil {
		return err
	}
	for tx, p := range before {
		if _, there := current[tx]; !there && p.End.After(time.Now()) {
			current[tx] = p
		}
	}
	return nil
}

// listDelegations returns the delegations of an address that a node or an observer lists, and calls set for each. It asks for the monitored
// validators, and those of the known delegations.
func listDelegations(ctx context.Context, ups *collector.Upstreams, address string, known map[string]payout, out *metric.Batch,
	set func(tx string, p payout) (labels []string)) (map[string]payout, error) {
	monitored, all, err := monitoredIDs(ctx, ups)
	if err != nil {
		return nil, err
	}
	if all && ups.Data == nil {
		return nil, &nodes.SettingError{Variable: "AVAX_VALIDATORS", Err: errors.New("with all, delegations are found only with AVAX_DATA_URL")}
	}
	ids := slices.Clone(monitored)
	for _, d := range known {
		ids = append(ids, d.NodeID)
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) > maxDelegatedTo {
		out.Note("only the delegations to %d of %d validators: list fewer in AVAX_VALIDATORS", maxDelegatedTo, len(ids))
		ids = ids[:maxDelegatedTo]
	}
	helicon, err := heliconTime(ctx, ups)
	if err != nil {
		return nil, err
	}
	current := map[string]payout{}
	for _, id := range ids {
		views, err := nodes.Agreeing(ctx, ups.Pool, nodes.FactValidators, reported.same, func(ctx context.Context, n *nodes.Node) (reported, error) {
			entries, err := n.PlatformCurrentValidators(ctx, node.PrimaryNetworkID, id)
			return reported{entries, n.KnownID()}, err
		})
		if err != nil {
			return nil, err
		}
		for _, v := range views[0].entries {
			for _, d := range v.Delegators {
				if !slices.Contains(d.RewardOwner.Addresses, address) || v.DelegationFee == nil {
					continue
				}
				reward, uptime := wire.NanoAVAX(staking.DelegatorReward(uint64(d.PotentialReward), v.DelegationFee.Ratio())), uptimeIn(views, v.NodeID)
				current[d.TxID] = payout{NodeID: v.NodeID, End: d.EndTime.Time, Stake: d.Weight, Expected: reward, Uptime: uptime}
				labels := set(d.TxID, current[d.TxID])
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
	return current, nil
}

// pendingDelegations returns the delegations of addresses that the Data service lists, if it is configured. It requests those of all
// delegators together, because one request costs as much as one for a single address.
func pendingDelegations(ctx context.Context, ups *collector.Upstreams, addresses []string) (found []data.PendingReward, err error) {
	if ups.Data == nil {
		return nil, nil
	}
	network, err := ups.FindNetwork(ctx)
	if err != nil {
		return nil, err
	}
	all := collector.Values(ups.Watched().Delegators)
	for chunk := range slices.Chunk(all, data.MaxAddresses) {
		if !slices.ContainsFunc(chunk, func(a string) bool { return slices.Contains(addresses, a) }) {
			continue
		}
		for r, err := range ups.Data.PendingRewards(ctx, network, chunk, nil) {
			if err != nil {
				return found, collector.IfRejected(err, "AVAX_WATCH_DELEGATORS")
			}
			if r.RewardType == data.RewardDelegator && ownedBy(r.Addresses, addresses) {
				found = append(found, r)
			}
		}
	}
	return found, nil
}

// ownedBy reports whether one of the owners, as the Data service lists them, is one of the addresses.
func ownedBy(owners, addresses []string) bool {
	return slices.ContainsFunc(addresses, func(a string) bool {
		return slices.ContainsFunc(owners, func(o string) bool { return data.BareAddress(o) == data.BareAddress(a) })
	})
}
