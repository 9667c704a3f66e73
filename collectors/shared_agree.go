package collectors

import (
	"math"
	"reflect"
	"slices"

	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Nodes are a few blocks apart, so what changes with blocks may differ a little between them.

// agreement is how much amounts of two nodes may differ, as a share of the larger one.
const agreement = 0.01

// exactly reports whether two answers are equal.
func exactly[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

// closely reports whether two amounts differ by at most 1 %.
func closely(a, b float64) bool { return math.Abs(a-b) <= agreement*max(math.Abs(a), math.Abs(b)) }

// similarStake reports whether two nodes report the same stake, up to 1 % of all stake.
func similarStake(a, b []node.Validator) bool {
	stake, all := stakes(a)
	other, allOther := stakes(b)
	var differ float64
	for id, s := range stake {
		differ += math.Abs(float64(s) - float64(other[id]))
	}
	for id, s := range other {
		if _, both := stake[id]; !both {
			differ += float64(s)
		}
	}
	return differ <= agreement*float64(max(all, allOther))
}

// sameValidators reports whether two nodes report the same validators with the same terms. Amounts that change with each block, such as
// balances and delegated stake, may differ by 1 %. The uptime and the connection of a validator are observations of the node.
func sameValidators(a, b []node.Validator) bool {
	if len(a) != len(b) {
		return false
	}
	byID := make(map[[3]string]node.Validator, len(a))
	for _, v := range a {
		byID[[3]string{v.NodeID, v.TxID, v.ValidationID}] = v
	}
	return !slices.ContainsFunc(b, func(v node.Validator) bool {
		other, both := byID[[3]string{v.NodeID, v.TxID, v.ValidationID}]
		return !both || !sameValidator(v, other)
	})
}

func sameValidator(a, b node.Validator) bool {
	for _, amounts := range [][2]*wire.NanoAVAX{
		{a.Balance, b.Balance}, {a.DelegatorWeight, b.DelegatorWeight}, {a.AccruedDelegateeReward, b.AccruedDelegateeReward},
	} {
		if (amounts[0] == nil) != (amounts[1] == nil) || amounts[0] != nil && !closely(float64(*amounts[0]), float64(*amounts[1])) {
			return false
		}
	}
	if a.RestakedValidationRewards == nil || b.RestakedValidationRewards == nil { // of a release that does not report it
		a.RestakedValidationRewards, a.RestakedDelegateeRewards, b.RestakedValidationRewards, b.RestakedDelegateeRewards = nil, nil, nil, nil
	}
	for _, v := range []*node.Validator{&a, &b} {
		v.Balance, v.DelegatorWeight, v.AccruedDelegateeReward, v.DelegatorCount, v.Uptime, v.Connected = nil, nil, nil, nil, nil, nil
	}
	delegations := [2]map[string]node.Delegation{{}, {}}
	for i, v := range []*node.Validator{&a, &b} {
		for _, d := range v.Delegators {
			delegations[i][d.TxID] = d
		}
		v.Delegators = nil
	}
	return exactly(a, b) && exactly(delegations[0], delegations[1])
}

// medianStake returns the stake of each validator as the nodes report it that agree: the middle of their values, so that no single node
// decides. It also returns the sum.
func medianStake(all [][]node.Validator) (byNode map[string]uint64, sum uint64) {
	if len(all) == 1 {
		return stakes(all[0])
	}
	reported := map[string][]uint64{}
	for i, set := range all {
		stake, _ := stakes(set)
		for id, s := range stake {
			if reported[id] == nil {
				reported[id] = make([]uint64, len(all))
			}
			reported[id][i] = s
		}
	}
	byNode = make(map[string]uint64, len(reported))
	for id, values := range reported {
		slices.Sort(values)
		if s := values[(len(values)-1)/2]; s > 0 {
			byNode[id] = s
			sum += s
		}
	}
	return byNode, sum
}

// stakes returns the stake of each validator with its delegations, in nAVAX, and the sum.
func stakes(set []node.Validator) (byNode map[string]uint64, sum uint64) {
	byNode = make(map[string]uint64, len(set))
	for _, v := range set {
		s := stakeOf(v)
		byNode[v.NodeID] += s
		sum += s
	}
	return byNode, sum
}
