package node_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// A set yields the same validators as the list, without the owners of rewards.
func TestValidatorSetEqualsTheList(t *testing.T) {
	recorded := replay(t, "healthy")
	for name, c := range map[string]struct {
		*node.Client
		subnet string
		least  int // validators
	}{
		"primary": {recorded, "", 1},
		"no such": {recorded, "2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtof", 0},
		"every field": {answering(t, `{"jsonrpc":"2.0","id":1,"result":{"validators":[{"nodeID":"a","txID":"b","weight":"1","startTime":"2","endTime":"3",
			"potentialReward":"4","accruedDelegateeReward":"5","delegationFee":"6","uptime":"7","connected":true,"delegatorCount":"8",
			"delegatorWeight":"9","nextPeriod":"10","autoCompoundRewardShares":"11","restakedValidationRewards":"12","restakedDelegateeRewards":"13",
			"validatorAuthority":{"locktime":"0","threshold":"1","addresses":["P-c"]},
			"validationRewardOwner":{"locktime":"0","threshold":"1","addresses":["P-d"]},
			"delegationRewardOwner":{"locktime":"0","threshold":"1","addresses":["P-e"]}}]}}`), "", 1},
	} {
		want := must.Get(c.PlatformCurrentValidators(t.Context(), c.subnet))(t)
		for i := range want {
			want[i].ValidationRewardOwner, want[i].DelegationRewardOwner = nil, nil
		}
		set := must.Get(c.PlatformValidatorSet(t.Context(), c.subnet))(t)
		if diff := cmp.Diff(want, set, cmpopts.EquateEmpty()); diff != "" || len(set) < c.least {
			t.Errorf("%s: %d in the set, %d in the list (-):\n%s", name, len(set), len(want), diff)
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
		`{"validators":null}`: "not a list",
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
			for _, v := range set {
				if v.Weight != 5 || v.Uptime != nil || v.Connected != nil || v.EndTime != nil || v.DelegatorWeight != nil {
					t.Errorf("%s: %+v", body, v)
				}
			}
		}
	}
}
