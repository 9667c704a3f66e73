package node_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// A set yields the same validators as the list, without the omitted fields.
func TestValidatorSetEqualsTheList(t *testing.T) {
	c := replay(t, "healthy")
	for network, subnet := range map[string]string{"primary": "", "no such": "2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtof"} {
		want, err := c.PlatformCurrentValidators(t.Context(), subnet)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range want {
			want[i] = node.Validator{
				NodeID: v.NodeID, Weight: v.Weight, StartTime: v.StartTime, EndTime: v.EndTime, NextPeriod: v.NextPeriod,
				AutoCompoundRewardShares: v.AutoCompoundRewardShares, ValidatorAuthority: v.ValidatorAuthority,
				RestakedValidationRewards: v.RestakedValidationRewards, RestakedDelegateeRewards: v.RestakedDelegateeRewards,
				PotentialReward: v.PotentialReward, AccruedDelegateeReward: v.AccruedDelegateeReward, DelegationFee: v.DelegationFee,
				Uptime: v.Uptime, Connected: v.Connected, DelegatorCount: v.DelegatorCount, DelegatorWeight: v.DelegatorWeight,
			}
		}
		set, err := c.PlatformValidatorSet(t.Context(), subnet)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, slices.AppendSeq([]node.Validator{}, set.All())); diff != "" || set.Len() != len(want) {
			t.Errorf("%s: %d in the set, %d in the list (-):\n%s", network, set.Len(), len(want), diff)
		}
	}
}

func TestValidatorSetKeepsAbsentFieldsAbsent(t *testing.T) {
	const whole = `{"nodeID":"NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg","weight":"5","startTime":"1"}`
	for body, want := range map[string]string{
		`{"validators":[` + whole + `]}`: "",
		`{"validators":[{"nodeID":"NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg","startTime":"1"}]}`: "validators.0: weight is missing",
		`{"validators":[` + whole + `,{"nodeID":"a","weight":"x","startTime":"1"}]}`:             "validators.1.weight",
		`{}`:                  "validators is missing",
		`{"validators":null}`: "validators is missing",
		`{"validators":{}}`:   "validators",
		`{"validators":[7]}`:  "validators.0",
	} {
		set, err := answering(t, `{"jsonrpc":"2.0","id":1,"result":`+body+`}`).PlatformValidatorSet(t.Context(), "")
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", body, err, want)
		case want == "" && err != nil:
			t.Errorf("%s: %v", body, err)
		case want == "":
			for v := range set.All() {
				if v.Weight != 5 || v.Uptime != nil || v.Connected != nil || v.EndTime != nil || v.DelegatorWeight != nil {
					t.Errorf("%s: %+v", body, v)
				}
			}
		}
	}
}
