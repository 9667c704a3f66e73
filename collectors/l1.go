package collectors

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	l1Validators = metric.New("avax_l1_validators",
		"Validators of the chain's subnet by state: active, inactive (no balance left), or legacy (of a permissioned subnet).",
		"chain", "state")
	l1Weight = metric.New("avax_l1_weight",
		"Weight of all validators, in the unit of the chain. Inactive validators count, because the quorum is a share of this weight.", "chain")
	l1ActiveWeight = metric.New("avax_l1_active_weight",
		"Weight of the active and the legacy validators, in the unit of the chain.", "chain")
	l1ValidatorInfo = metric.New("avax_l1_validator_info",
		"A validator of the chain; always 1. For a legacy validator, validation_id is the transaction that added it.",
		"chain", "node_id", "validation_id")
	l1ValidatorOwner = metric.New("avax_l1_validator_owner_info",
		"Owners of an L1 validator; always 1. remaining_balance_owner receives the balance when the validation ends; deactivation_owner may deactivate the "+
			"validator. A label value such as 2 of A,B,C means that two of these three addresses must sign. Absent for a legacy validator.",
		"chain", "node_id", "validation_id", "remaining_balance_owner", "deactivation_owner")
	l1ValidatorWeight = metric.New("avax_l1_validator_weight",
		"Weight of the validator, in the unit of the chain.", "chain", "node_id", "validation_id")
	l1ValidatorActive = metric.New("avax_l1_validator_active",
		"1 if the validator has a balance for its fee or is a legacy validator, 0 if its balance is used up.", "chain", "node_id", "validation_id")
	l1ValidatorStart = metric.New("avax_l1_validator_start_timestamp_seconds",
		"Start of the validation, in Unix seconds.", "chain", "node_id", "validation_id")
	l1ValidatorEnd = metric.New("avax_l1_validator_end_timestamp_seconds",
		"End of a legacy validator's period, in Unix seconds. Absent for an L1 validator, which has no end.", "chain", "node_id", "validation_id")
	l1ValidatorBalance = metric.New("avax_l1_validator_balance_avax",
		"Balance for the validator's fee in AVAX, as of the last accepted block of the P-Chain. Absent for a legacy validator.",
		"chain", "node_id", "validation_id")
)

var l1 = &collector.Spec{
	Name:     "l1",
	Critical: true,
	Help:     "Validators, weights and balances of the monitored L1s, from the P-Chain.",
	Calls:    []string{"platform.getCurrentValidators", "platform.getBlockchains", "platform.getTx"},
	Every:    2 * time.Minute,
	Families: []*metric.Family{
		l1Validators, l1Weight, l1ActiveWeight,
		l1ValidatorInfo, l1ValidatorOwner, l1ValidatorWeight, l1ValidatorActive, l1ValidatorStart, l1ValidatorEnd, l1ValidatorBalance,
	},
	Bind: collector.Per(collector.SubnetChains, collectL1),
}

func collectL1(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	c := on.Chain
	b, err := ups.Blockchain(ctx, c)
	if err != nil || b.SubnetID == node.PrimaryNetworkID {
		return err
	}
	set, err := subnetSet(ctx, ups, b.SubnetID)
	if err != nil {
		return err
	}
	states := map[string]int{"active": 0, "inactive": 0, "legacy": 0}
	l1Set := &staking.L1{Set: make([]staking.Validator, 0, len(set))}
	var weight, activeWeight uint64
	for _, found := range set {
		v, err := l1Validator(c, found)
		if err != nil {
			return err
		}
		state := "active"
		switch {
		case v.Legacy:
			state = "legacy"
		case !v.Active():
			state = "inactive"
		}
		states[state]++
		weight += v.Weight
		if v.Active() {
			activeWeight += v.Weight
		}
		out.Set(l1ValidatorInfo, 1, c.Name, v.NodeID, v.ID)
		if remaining, deactivation := ownerText(found.RemainingBalanceOwner), ownerText(found.DeactivationOwner); remaining+deactivation != "" {
			out.Set(l1ValidatorOwner, 1, c.Name, v.NodeID, v.ID, remaining, deactivation)
		}
		out.Set(l1ValidatorWeight, float64(v.Weight), c.Name, v.NodeID, v.ID)
		out.SetBool(l1ValidatorActive, v.Active(), c.Name, v.NodeID, v.ID)
		out.SetTime(l1ValidatorStart, found.StartTime.Time, c.Name, v.NodeID, v.ID)
		if found.EndTime != nil {
			out.SetTime(l1ValidatorEnd, v.End, c.Name, v.NodeID, v.ID)
		}
		if found.Balance != nil {
			out.Set(l1ValidatorBalance, found.Balance.AVAX(), c.Name, v.NodeID, v.ID)
		}
		l1Set.Set, l1Set.Unpriced = append(l1Set.Set, v), l1Set.Unpriced || !v.Legacy
	}
	for state, count := range states {
		out.Set(l1Validators, float64(count), c.Name, state)
	}
	out.Set(l1Weight, float64(weight), c.Name)
	out.Set(l1ActiveWeight, float64(activeWeight), c.Name)
	out.Facts.L1 = l1Set
	return nil
}

// ownerText returns an owner as a label value: its address, or "2 of A,B,C". If not all addresses fit, it returns
// "2 of A,B and 7 more". A long list must not fail the run, because anybody may register a validator with many owner
// addresses. If there is no owner, ownerText returns an empty text.
func ownerText(o *node.Owner) string {
	switch {
	case o == nil || len(o.Addresses) == 0:
		return ""
	case len(o.Addresses) == 1 && o.Threshold == 1 && len(o.Addresses[0]) <= metric.MaxValue:
		return o.Addresses[0]
	}
	threshold := strconv.FormatUint(uint64(o.Threshold), 10) + " of "
	addresses := slices.Sorted(slices.Values(o.Addresses))
	for n := min(len(addresses), metric.MaxValue/2); n > 0; n-- {
		text := threshold + strings.Join(addresses[:n], ",")
		if beyond := len(addresses) - n; beyond > 0 {
			text += fmt.Sprintf(" and %d more", beyond)
		}
		if len(text) <= metric.MaxValue {
			return text
		}
	}
	return fmt.Sprintf("%s%d", threshold, len(addresses))
}
