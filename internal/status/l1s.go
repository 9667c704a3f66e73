package status

import (
	"slices"
	"strings"

	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// L1 is a monitored L1 or permissioned subnet.
type L1 struct {
	Chain, SubnetID string
	State           State

	Weight, ActiveWeight     Value
	ConnectedWeight          Value          // as the node with the lowest one reports it; isolated nodes do not count
	Active, Inactive, Legacy Value          // numbers of validators
	ProposersLeft            Value          // validators that can build the next block
	QuorumLoss               []Loss         // seconds until the active weight falls below each quorum, in the order of staking.Quorums
	TopUps                   []Labelled     // AVAX that keep every validator active, by number of days
	Validators               []*L1Validator // whose weight is known, by validation ID
	// Set is the validator set with its balances, from the last run; nil if it is not known.
	Set *staking.L1

	validators map[string]*L1Validator
	safe       map[string]Value    // whether the validators of a node can stop, by node ID
	canBuild   map[string]Value    // whether the validators of a node can build the next block, by node ID
	quorums    map[string]Value    // by quorum
	topUps     map[string]Labelled // by number of days
}

// Labelled is a value with one more label.
type Labelled struct {
	Label string
	Value
}

// Loss is the time until the active weight falls below a quorum in seconds, with its share.
type Loss struct {
	Labelled
	Share float64
}

// L1Validator is a validator of an L1 or permissioned subnet.
type L1Validator struct {
	Chain, NodeID, ValidationID string

	Weight, Active       Value
	Balance, Burn        Value // in AVAX and AVAX per day
	Runway               Value // in seconds
	End                  Value // in Unix seconds; of a permissioned subnet
	SafeToStop, CanBuild Value
	Viewers, Connected   int // nodes and observers that report whether they are connected to it, and those that are
}

var l1Fields = []field[L1]{
	{read("avax_l1_weight", "chain"), func(l *L1) *Value { return &l.Weight }},
	{read("avax_l1_active_weight", "chain"), func(l *L1) *Value { return &l.ActiveWeight }},
	{read("avax_l1_proposers_left", "chain"), func(l *L1) *Value { return &l.ProposersLeft }},
}

var l1ValidatorFields = []field[L1Validator]{
	{read("avax_l1_validator_weight", "chain", "node_id", "validation_id"), func(v *L1Validator) *Value { return &v.Weight }},
	{l1ValidatorActive, func(v *L1Validator) *Value { return &v.Active }},
	{l1ValidatorBalance, func(v *L1Validator) *Value { return &v.Balance }},
	{read("avax_l1_validator_burn_avax_per_day", "chain", "node_id", "validation_id"), func(v *L1Validator) *Value { return &v.Burn }},
	{l1ValidatorRunway, func(v *L1Validator) *Value { return &v.Runway }},
	{read("avax_l1_validator_end_timestamp_seconds", "chain", "node_id", "validation_id"), func(v *L1Validator) *Value { return &v.End }},
}

var (
	l1ValidatorActive  = read("avax_l1_validator_active", "chain", "node_id", "validation_id")
	l1ValidatorBalance = read("avax_l1_validator_balance_avax", "chain", "node_id", "validation_id")
	l1ValidatorRunway  = read("avax_l1_validator_runway_seconds", "chain", "node_id", "validation_id")
	l1Validators       = read("avax_l1_validators", "chain", "state")
	l1Connected        = read("avax_l1_connected_weight", "chain", "node")
	l1QuorumLoss       = read("avax_l1_quorum_loss_seconds", "chain", "quorum")
	l1TopUp            = read("avax_l1_top_up_avax", "chain", "days")
	l1SafeToStop       = read("avax_l1_safe_to_stop", "chain", "node_id")
	l1CanBuild         = read("avax_l1_proposer_can_build", "chain", "node_id")
	l1Seen             = read("avax_l1_validator_connected", "validation_id", "node")
	chainInfo          = read("avax_chain_info", "chain", "subnet_id")
)

func (st *Status) l1(chain string) *L1 {
	return entry(st.l1ByChain, chain, func() *L1 { return newL1(chain) })
}

func newL1(chain string) *L1 {
	l := &L1{
		Chain: chain, ConnectedWeight: Value{Family: l1Connected.Family},
		Active: Value{Family: l1Validators.Family}, Inactive: Value{Family: l1Validators.Family}, Legacy: Value{Family: l1Validators.Family},
		validators: map[string]*L1Validator{}, safe: map[string]Value{}, canBuild: map[string]Value{}, quorums: map[string]Value{}, topUps: map[string]Labelled{},
	}
	absent(l1Fields, l)
	return l
}

func (l *L1) validator(labels []string) *L1Validator {
	return entry(l.validators, labels[2], func() *L1Validator {
		v := &L1Validator{Chain: l.Chain, NodeID: labels[1], ValidationID: labels[2]}
		absent(l1ValidatorFields, v)
		return v
	})
}

// readL1s sets the L1s.
func (st *Status) readL1s() {
	configured := st.pool.Chains()
	fill(st.samples, l1Fields, func(l []string) *L1 { return st.l1(l[0]) })
	fill(st.samples, l1ValidatorFields, func(l []string) *L1Validator { return st.l1(l[0]).validator(l) })
	st.samples.each(chainInfo, func(s sample) { st.l1(s.labels[0]).SubnetID = s.labels[1] })
	st.samples.each(l1Validators, func(s sample) {
		l := st.l1(s.labels[0])
		switch s.labels[1] {
		case "active":
			l.Active = s.Value
		case "inactive":
			l.Inactive = s.Value
		case "legacy":
			l.Legacy = s.Value
		}
	})
	st.samples.each(l1QuorumLoss, func(s sample) { st.l1(s.labels[0]).quorums[s.labels[1]] = s.Value })
	st.samples.each(l1TopUp, func(s sample) { st.l1(s.labels[0]).topUps[s.labels[1]] = Labelled{s.labels[1], s.Value} })
	st.samples.each(l1SafeToStop, func(s sample) { st.l1(s.labels[0]).safe[s.labels[1]] = s.Value })
	st.samples.each(l1CanBuild, func(s sample) { st.l1(s.labels[0]).canBuild[s.labels[1]] = s.Value })
	st.readConnectedWeights()
	viewers, connected := st.connections(l1Seen)
	for chain, l1 := range sets(st) {
		st.l1(chain).Set = l1
	}
	for _, chain := range configured {
		st.l1(chain)
	}
	st.allL1s = sorted(st.l1ByChain, CompareChains)
	for _, l := range st.allL1s {
		for _, q := range staking.Quorums {
			if loss, known := l.quorums[q.Label]; known {
				l.QuorumLoss = append(l.QuorumLoss, Loss{Labelled{q.Label, loss}, q.Share})
			}
		}
		l.TopUps = sorted(l.topUps, CompareChains)
		for _, v := range sorted(l.validators, strings.Compare) {
			if connected[v.ValidationID] > 0 || !st.isBack(v.NodeID) {
				v.Viewers, v.Connected = viewers[v.ValidationID], connected[v.ValidationID]
			}
			v.SafeToStop, v.CanBuild = l.safeToStop(v.NodeID), l.canBuild[v.NodeID]
			if v.Weight.Known {
				l.Validators = append(l.Validators, v)
			}
		}
		if l.Weight.Known || slices.Contains(configured, l.Chain) {
			l.State = st.stateOf(l)
			st.L1s = append(st.L1s, l)
		}
	}
}

// safeToStop returns whether the validators of a node can stop.
func (l *L1) safeToStop(nodeID string) Value {
	if safe, known := l.safe[nodeID]; known {
		return safe
	}
	return Value{Family: l1SafeToStop.Family}
}

// readConnectedWeights sets the connected weight of each L1 to the lowest that a node reports. Isolated nodes do not count.
func (st *Status) readConnectedWeights() {
	stake := map[string]float64{}
	for name, n := range st.nodeByName {
		if n.ConnectedStake.Known {
			stake[name] = n.ConnectedStake.V
		}
	}
	isolated := staking.IsolatedBy(stake)
	st.samples.each(l1Connected, func(s sample) {
		if l := st.l1(s.labels[0]); !isolated[s.labels[1]] && (!l.ConnectedWeight.Known || s.V < l.ConnectedWeight.V) {
			l.ConnectedWeight = s.Value
		}
	})
}

// sets returns the validator sets of the monitored L1s by chain, from the collector l1_runway. If that has no result, it is from the
// collector l1, which has no burn rates.
func sets(st *Status) map[string]*staking.L1 {
	l1s := map[string]*staking.L1{}
	for _, j := range st.Jobs { // sorted: l1_runway comes after l1 and replaces its result
		if l1 := j.Good.Facts.L1; l1 != nil && st.At.Before(j.Good.Until) {
			l1s[j.Last.Target.Chain] = l1
		}
	}
	return l1s
}

// Runway returns the time until the first active validator becomes inactive, in seconds; absent if no balance is known.
func (l *L1) Runway() (first Value) {
	for _, v := range l.Validators {
		if v.Runway.Known && v.Active.Is(1) && (!first.Known || v.Runway.V < first.V) {
			first = v.Runway
		}
	}
	return first
}

// Priced reports whether the balances and burn rates of the validators are known.
func (l *L1) Priced() bool { return l.Set != nil && !l.Set.At.IsZero() && !l.Set.Unpriced }

// Ends returns the time until the validator becomes inactive in seconds, or the time of the end of its period; the larger the later.
func (v *L1Validator) Ends() Value { return v.Runway.Or(v.End) }

// validation returns the validator with a validation ID; nil if no monitored chain has it.
func (st *Status) validation(id string) (found *L1Validator) {
	for _, l := range st.allL1s {
		if v := l.validators[id]; v != nil && v.Weight.Known {
			found = v
		}
	}
	return found
}

// Values without a number: alerts about them color a cell that shows something else.
var (
	L1ValidatorActive    = Value{Family: l1ValidatorActive.Family}
	L1ValidatorConnected = Value{Family: l1Seen.Family}
	ValidatorConnected   = Value{Family: validatorConnected.Family}
	ValidatorEnd         = Value{Family: validatorEnd.Family}
	ValidatorVotes       = Value{Family: validatorVotes.Family}
	NodeVotes            = Value{Family: nodeVotes.Family}
)
