package status

import (
	"strconv"
	"strings"
)

// Validator is a monitored validator of the primary network.
type Validator struct {
	NodeID string

	Present, Start, End          Value // Start and End in Unix seconds
	Requirement                  Value // of uptime
	WeightedUptime, LowestUptime Value // LowestUptime is the lowest of those that nodes and observers observed
	DowntimeUsed, DowntimeBudget Value // in seconds
	PotentialReward              Value // in AVAX
	RewardReachable              Value
	// Viewers is the number of nodes and observers that report whether they are connected to it, and Connected how many are.
	Viewers, Connected int

	votes map[string]Value // by requirement
}

var validatorFields = []field[Validator]{
	{validatorPresent, func(v *Validator) *Value { return &v.Present }},
	{read("avax_validator_start_timestamp_seconds", "node_id"), func(v *Validator) *Value { return &v.Start }},
	{validatorEnd, func(v *Validator) *Value { return &v.End }},
	{read("avax_validator_uptime_requirement_ratio", "node_id"), func(v *Validator) *Value { return &v.Requirement }},
	{read("avax_validator_weighted_uptime_ratio", "node_id"), func(v *Validator) *Value { return &v.WeightedUptime }},
	{validatorDowntime, func(v *Validator) *Value { return &v.DowntimeUsed }},
	{read("avax_validator_downtime_budget_seconds", "node_id"), func(v *Validator) *Value { return &v.DowntimeBudget }},
	{read("avax_validator_potential_reward_avax", "node_id"), func(v *Validator) *Value { return &v.PotentialReward }},
	{validatorReward, func(v *Validator) *Value { return &v.RewardReachable }},
}

var (
	validatorPresent   = read("avax_validator_present", "node_id")
	validatorEnd       = read("avax_validator_end_timestamp_seconds", "node_id")
	validatorDowntime  = read("avax_validator_downtime_used_seconds", "node_id")
	validatorReward    = read("avax_validator_reward_reachable", "node_id")
	validatorConnected = read("avax_validator_connected", "node_id", "node")
	validatorUptime    = read("avax_validator_uptime_ratio", "node_id", "node")
	validatorVotes     = read("avax_validator_votes_yes_ratio", "node_id", "requirement")
)

func (st *Status) validator(id string) *Validator {
	return entry(st.validators, id, func() *Validator {
		v := &Validator{NodeID: id, LowestUptime: Value{Family: validatorUptime.Family}, votes: map[string]Value{}}
		absent(validatorFields, v)
		return v
	})
}

func (st *Status) readValidators() {
	fill(st.samples, validatorFields, func(l []string) *Validator { return st.validator(l[0]) })
	viewers, connected := st.connections(validatorConnected)
	for id := range viewers {
		v := st.validator(id)
		if connected[id] > 0 || !st.isBack(id) {
			v.Viewers, v.Connected = viewers[id], connected[id]
		}
	}
	st.samples.each(validatorUptime, func(s sample) {
		if v := st.validator(s.labels[0]); !v.LowestUptime.Known || s.V < v.LowestUptime.V {
			v.LowestUptime = s.Value
		}
	})
	st.samples.each(validatorVotes, func(s sample) { st.validator(s.labels[0]).votes[s.labels[1]] = s.Value })
	for _, v := range sorted(st.validators, strings.Compare) {
		if v.Present.Known {
			st.Validators = append(st.Validators, v)
		}
	}
}

// Uptime is the uptime that peers observed, weighted by stake. If it is not known, it is the lowest that a node or observer observed.
func (v *Validator) Uptime() Value { return v.WeightedUptime.Or(v.LowestUptime) }

// VotesOf returns the share of stake that would vote for the reward of a validator under the current requirement. For your own validator it is
// the value of its node, so that the tables of validators and nodes, and the alerts, show the same value.
func (st *Status) VotesOf(v *Validator) Value {
	if n := st.nodeByName[st.NodeOf(v.NodeID)]; n != nil && n.Votes.Known {
		return n.Votes
	}
	for requirement, yes := range v.votes {
		if of, err := strconv.ParseFloat(requirement, 64); err == nil && v.Requirement.Is(of) {
			return yes
		}
	}
	return Value{Family: validatorVotes.Family}
}
