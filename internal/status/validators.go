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
	// Connection is absent; it has the family of Connected.
	Connection Value

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
	{read("avax_validator_reward_reachable", "node_id"), func(v *Validator) *Value { return &v.RewardReachable }},
}

var (
	validatorPresent   = read("avax_validator_present", "node_id")
	validatorEnd       = read("avax_validator_end_timestamp_seconds", "node_id")
	validatorDowntime  = read("avax_validator_downtime_used_seconds", "node_id")
	validatorConnected = read("avax_validator_connected", "node_id", "node")
	validatorUptime    = read("avax_validator_uptime_ratio", "node_id", "node")
	validatorVotes     = read("avax_validator_votes_yes_ratio", "node_id", "requirement")
)

func (st *Status) validator(id string) *Validator {
	v := st.validators[id]
	if v == nil {
		v = &Validator{NodeID: id, votes: map[string]Value{}}
		absent(validatorFields, v)
		v.LowestUptime, v.Connection = Value{Family: validatorUptime.Family}, Value{Family: validatorConnected.Family}
		st.validators[id] = v
	}
	return v
}

func (st *Status) readValidators() {
	fill(st.samples, validatorFields, func(l []string) *Validator { return st.validator(l[0]) })
	viewers := map[[2]string]bool{} // whether connected, by node ID and node
	st.samples.each(validatorConnected, func(s sample) {
		pair := [2]string{s.labels[0], s.labels[1]}
		viewers[pair] = viewers[pair] || s.V == 1
	})
	for pair, connected := range viewers {
		v := st.validator(pair[0])
		v.Viewers++
		if connected {
			v.Connected++
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
	votes := Value{Family: validatorVotes.Family}
	if n := st.nodes[st.NodeOf(v.NodeID)]; n != nil && n.Votes.Known {
		return n.Votes
	}
	for requirement, yes := range v.votes {
		if of, err := strconv.ParseFloat(requirement, 64); err == nil && v.Requirement.Is(of) {
			return yes
		}
	}
	return votes
}

// Votes returns the values about the votes for the reward that alerts may be about, without their numbers: see VotesOf.
func (v *Validator) Votes() []Value {
	return []Value{{Family: validatorVotes.Family}, {Family: nodeVotes.Family}}
}

var nodeVotes = read("avax_node_uptime_rewarding_stake_ratio", "node")
