package collectors

import (
	"context"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	validatorPresent = metric.New("avax_validator_present",
		"1 if the monitored validator is in the primary network's validator set, 0 if not. For a configured node: absent until the node has been in the set once, "+
			"and again a day after it has left.", "node_id")
	validatorStart = metric.New("avax_validator_start_timestamp_seconds",
		"Start of the validation period, in Unix seconds.", "node_id")
	validatorEnd = metric.New("avax_validator_end_timestamp_seconds",
		"End of the validation period, in Unix seconds. An auto-renewed validator has this series only in its last period.", "node_id")
	validatorPeriodEnd = metric.New("avax_validator_period_end_timestamp_seconds",
		"End of the current period of an auto-renewed validator, in Unix seconds. Absent for other validators.", "node_id")
	validatorNextPeriod = metric.New("avax_validator_next_period_seconds",
		"Length in seconds of the next period of an auto-renewed validator. 0 if the current period is the last. Absent for other validators.", "node_id")
	validatorAutoCompound = metric.New("avax_validator_auto_compound_ratio",
		"Share (0 to 1) of the reward that an auto-renewed validator stakes again in its next period. Absent for other validators.", "node_id")
	validatorAuthority = metric.New("avax_validator_authority_info",
		"1 for each address that may change the period and the restaked share of an auto-renewed validator. Absent for other validators.", "node_id", "address")
	validatorRestaked = metric.New("avax_validator_restaked_reward_avax",
		"Rewards in AVAX that an auto-renewed validator staked again so far. kind is validation or delegation. AvalancheGo 1.15.0 does not report it.", "node_id",
		"kind")
	validatorStake = metric.New("avax_validator_stake_avax",
		"The validator's own stake in AVAX.", "node_id")
	validatorDelegatedStake = metric.New("avax_validator_delegated_stake_avax",
		"Stake delegated to the validator in AVAX.", "node_id")
	validatorRoom = metric.New("avax_validator_delegation_room_avax",
		"Stake that can still be delegated to the validator in AVAX. The limit of the whole stake is 3,000,000 AVAX or five times the validator's own stake, "+
			"whichever is lower.", "node_id")
	validatorDelegators = metric.New("avax_validator_delegators",
		"Delegations to the validator.", "node_id")
	validatorPotentialReward = metric.New("avax_validator_potential_reward_avax",
		"Reward of the validator at the end of its period if its uptime is sufficient, in AVAX.", "node_id")
	validatorDelegateeReward = metric.New("avax_validator_accrued_delegatee_reward_avax",
		"The validator's share of its delegators' rewards so far, in AVAX. This share is paid with the validator's own reward.", "node_id")
	validatorDelegationFee = metric.New("avax_validator_delegation_fee_ratio",
		"Share (0 to 1) of the delegators' rewards that the validator keeps.", "node_id")
)

var validators = &collector.Spec{
	Name:          "validators",
	Critical:      true,
	Help:          "Period, stake and rewards of the monitored validators, from the P-Chain.",
	Calls:         []string{"platform.getCurrentValidators", "info.getNodeID"},
	Every:         time.Minute,
	RareIfAll:     true,
	ReusesAnswers: true, // validator_views makes the same calls
	Families: []*metric.Family{
		validatorPresent, validatorStart, validatorEnd, validatorPeriodEnd, validatorNextPeriod, validatorAutoCompound, validatorAuthority, validatorRestaked,
		validatorStake, validatorDelegatedStake, validatorRoom, validatorDelegators, validatorPotentialReward, validatorDelegateeReward, validatorDelegationFee,
	},
	Bind: collector.Per(collector.Network, collectValidators),
}

// collectValidators exports avax_validator_present as 0 for expected validators that are not in the set: those in AVAX_VALIDATORS, or configured nodes that
// have been in the set. A configured node that was never a validator, such as an RPC node, is not expected. With AVAX_VALIDATORS=all, no validator is.
func collectValidators(ctx context.Context, ups *collector.Upstreams, _ collector.Subject, out *metric.Batch) error {
	own, watched := ups.Nodes(), ups.Watched().Validators
	if watched.All || len(watched.IDs) > 0 {
		own = nil
	}
	expected := slices.Clone(watched.IDs)
	for _, n := range own {
		// A configured node may have a new ID. Request its previous ID too, because that validator may still be in the set.
		expected = append(expected, n.Expected()...)
	}
	slices.Sort(expected)
	expected = slices.Compact(expected)
	entries, _, err := monitoredEntries(ctx, ups, expected...)
	if err != nil {
		return err
	}
	present := map[string]bool{}
	for _, v := range entries {
		present[v.NodeID] = true
		setValidator(out, v)
	}
	for _, n := range own {
		n.NoteValidators(present)
	}
	for _, id := range expected {
		if !present[id] {
			out.Set(validatorPresent, 0, id)
		}
	}
	return nil
}

func setValidator(out *metric.Batch, v node.Validator) {
	out.Set(validatorPresent, 1, v.NodeID)
	out.SetTime(validatorStart, v.StartTime.Time, v.NodeID)
	if v.EndTime != nil && (v.NextPeriod == nil || v.NextPeriod.Duration == 0) {
		out.SetTime(validatorEnd, v.EndTime.Time, v.NodeID)
	}
	if v.NextPeriod != nil {
		out.Set(validatorNextPeriod, v.NextPeriod.Seconds(), v.NodeID)
		if v.EndTime != nil {
			out.SetTime(validatorPeriodEnd, v.EndTime.Time, v.NodeID)
		}
	}
	if v.AutoCompoundRewardShares != nil {
		out.Set(validatorAutoCompound, float64(*v.AutoCompoundRewardShares)/1e6, v.NodeID)
	}
	if v.ValidatorAuthority != nil {
		for _, address := range v.ValidatorAuthority.Addresses {
			out.Set(validatorAuthority, 1, v.NodeID, onPlatform(address))
		}
	}
	if v.RestakedValidationRewards != nil {
		out.Set(validatorRestaked, v.RestakedValidationRewards.AVAX(), v.NodeID, "validation")
	}
	if v.RestakedDelegateeRewards != nil {
		out.Set(validatorRestaked, v.RestakedDelegateeRewards.AVAX(), v.NodeID, "delegation")
	}
	out.Set(validatorStake, wire.NanoAVAX(v.Weight).AVAX(), v.NodeID)
	if v.DelegatorWeight != nil {
		out.Set(validatorDelegatedStake, v.DelegatorWeight.AVAX(), v.NodeID)
		out.Set(validatorRoom, wire.NanoAVAX(staking.DelegationRoom(uint64(v.Weight), uint64(*v.DelegatorWeight))).AVAX(), v.NodeID)
	}
	if v.DelegatorCount != nil {
		out.Set(validatorDelegators, float64(*v.DelegatorCount), v.NodeID)
	}
	if v.PotentialReward != nil {
		out.Set(validatorPotentialReward, v.PotentialReward.AVAX(), v.NodeID)
	}
	if v.AccruedDelegateeReward != nil {
		out.Set(validatorDelegateeReward, v.AccruedDelegateeReward.AVAX(), v.NodeID)
	}
	if v.DelegationFee != nil {
		out.Set(validatorDelegationFee, v.DelegationFee.Ratio(), v.NodeID)
	}
}
