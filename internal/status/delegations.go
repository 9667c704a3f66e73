package status

import (
	"fmt"
	"strings"
)

// Delegation is a delegation of a monitored address.
type Delegation struct {
	TxID, NodeID string // transaction, and the validator
	Owner        string // name of the address

	End             Value // in Unix seconds
	Stake, Reward   Value // in AVAX; the expected reward after the validator's fee
	RewardReachable Value
}

var delegationFields = []field[Delegation]{
	{read("avax_delegation_end_timestamp_seconds", "tx_id", "node_id", "name"), func(d *Delegation) *Value { return &d.End }},
	{read("avax_delegation_stake_avax", "tx_id", "node_id", "name"), func(d *Delegation) *Value { return &d.Stake }},
	{read("avax_delegation_expected_reward_avax", "tx_id", "node_id", "name"), func(d *Delegation) *Value { return &d.Reward }},
	{read("avax_delegation_reward_reachable", "tx_id", "node_id", "name"), func(d *Delegation) *Value { return &d.RewardReachable }},
}

var delegatorKnown = read("avax_delegator_known", "address", "name")

// unknownDelegator is the text about an address, with its name.
const unknownDelegator = "nothing known of %s (%s): is the address correct?"

func (st *Status) readDelegations() {
	st.samples.each(delegatorKnown, func(s sample) {
		if s.V == 0 {
			st.UnknownDelegators = append(st.UnknownDelegators, fmt.Sprintf(unknownDelegator, s.labels[0], s.labels[1]))
		}
	})
	all := map[string]*Delegation{}
	fill(st.samples, delegationFields, func(l []string) *Delegation {
		return entry(all, l[0], func() *Delegation {
			d := &Delegation{TxID: l[0], NodeID: l[1], Owner: l[2]}
			absent(delegationFields, d)
			return d
		})
	})
	for _, d := range sorted(all, strings.Compare) {
		if d.End.Known {
			st.Delegations = append(st.Delegations, d)
		}
	}
}
