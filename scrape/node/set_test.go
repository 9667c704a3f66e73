package node_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
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
				AutoCompoundRewardShares: v.AutoCompoundRewardShares,
				PotentialReward:          v.PotentialReward, AccruedDelegateeReward: v.AccruedDelegateeReward, DelegationFee: v.DelegationFee,
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

// A set is decoded in pieces. Its memory must follow its size, since the exporter keeps one per node.
func TestValidatorSetMemoryFollowsItsSize(t *testing.T) {
	for _, size := range []int{0, 1, 7, 8, 9, 16, 17, 1024, 1025, 5000} {
		var list []string
		for i := range size {
			list = append(list, fmt.Sprintf(`{"nodeID":"%d","weight":"%d","startTime":"1"}`, i, i))
		}
		var set node.ValidatorSet
		if err := wire.Decode(wire.NewDecoder(strings.NewReader("["+strings.Join(list, ",")+"]"), 1<<20), &set); err != nil {
			t.Fatal(err)
		}
		n := 0
		for v := range set.All() {
			if v.NodeID != strconv.Itoa(n) || v.Weight != wire.Uint64(n) {
				t.Errorf("set of %d: validator %d is %+v", size, n, v)
			}
			n++
		}
		if n != size || set.Len() != size {
			t.Errorf("%d of %d validators, Len is %d", n, size, set.Len())
		}
		if room := set.Room(); room > max(8, 2*size) {
			t.Errorf("%d validators use the memory of %d", size, room)
		}
	}
}
