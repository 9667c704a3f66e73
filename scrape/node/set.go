package node

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// ValidatorSet is a whole validator set that takes little memory. For each validator it holds the node ID, stake, period and
// rewards, and the uptime and connection that the node observes. It omits owners, keys and the fields of L1 validators. Most of
// an answer consists of these omitted fields.
type ValidatorSet struct{ all []member }

type validatorSetAnswer struct {
	Validators ValidatorSet `json:"validators"`
}

var getValidatorSet = scrape.As[validatorSetAnswer](getCurrentValidators.Method)

// PlatformValidatorSet calls platform.getCurrentValidators for a whole set, in random order. It decodes the answer while the
// answer arrives, and does not store the text of the answer. An empty subnetID means the primary network.
func (c *Client) PlatformValidatorSet(ctx context.Context, subnetID string) (*ValidatorSet, error) {
	answer, err := call(ctx, c, getValidatorSet, "", validatorQuery{SubnetID: subnetID})
	return &answer.Validators, err
}

// Len returns the number of validators.
func (s *ValidatorSet) Len() int { return len(s.all) }

// All yields the validators. Fields that the set does not hold are zero or nil.
func (s *ValidatorSet) All() iter.Seq[Validator] {
	return func(yield func(Validator) bool) {
		for _, m := range s.all {
			if !yield(m.validator()) {
				return
			}
		}
	}
}

// UnmarshalJSONFrom decodes the list, one validator at a time.
func (s *ValidatorSet) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	err := eachDistinct(d, func(v validatorOfSet) { s.all = append(s.all, newMember(v.Validator)) })
	s.all = slices.Clip(slices.Clone(s.all)) // without the space that append reserved
	return err
}

// validatorOfSet is a Validator in a list with each node ID once.
type validatorOfSet struct{ Validator }

func (v validatorOfSet) id() string { return v.NodeID }

// member holds the fields of a Validator that a set keeps, without pointers, because pointers would triple the memory of a set.
type member struct {
	nodeID                 string
	weight                 wire.Uint64
	start, end             int64 // Unix seconds
	potentialReward        wire.NanoAVAX
	accruedDelegateeReward wire.NanoAVAX
	delegationFee, uptime  wire.Percent
	delegatorCount         wire.Uint64
	delegatorWeight        wire.NanoAVAX
	nextPeriod             wire.Seconds
	autoCompoundShares     wire.Uint64
	authority              *Owner // of the few auto-renewed validators
	restakedValidation     wire.NanoAVAX
	restakedDelegatee      wire.NanoAVAX
	connected              bool
	hasEnd                 bool
	has                    uint16 // bits of the other optional fields, in the order of copyOptional
}

func newMember(v Validator) member {
	m := member{nodeID: v.NodeID, weight: v.Weight, start: v.StartTime.Unix(), authority: v.ValidatorAuthority}
	if v.EndTime != nil {
		m.end, m.hasEnd = v.EndTime.Unix(), true
	}
	m.copyOptional(&v, false)
	return m
}

func (m member) validator() Validator {
	v := Validator{NodeID: m.nodeID, Weight: m.weight, StartTime: wire.UnixTime{Time: time.Unix(m.start, 0).UTC()}, ValidatorAuthority: m.authority}
	if m.hasEnd {
		v.EndTime = &wire.UnixTime{Time: time.Unix(m.end, 0).UTC()}
	}
	m.copyOptional(&v, true)
	return v
}

// copyOptional copies the optional fields of v to m, or back.
func (m *member) copyOptional(v *Validator, back bool) {
	c := copying{&m.has, back, 1}
	copyField(&c, &m.potentialReward, &v.PotentialReward)
	copyField(&c, &m.accruedDelegateeReward, &v.AccruedDelegateeReward)
	copyField(&c, &m.delegationFee, &v.DelegationFee)
	copyField(&c, &m.uptime, &v.Uptime)
	copyField(&c, &m.connected, &v.Connected)
	copyField(&c, &m.delegatorCount, &v.DelegatorCount)
	copyField(&c, &m.delegatorWeight, &v.DelegatorWeight)
	copyField(&c, &m.nextPeriod, &v.NextPeriod)
	copyField(&c, &m.autoCompoundShares, &v.AutoCompoundRewardShares)
	copyField(&c, &m.restakedValidation, &v.RestakedValidationRewards)
	copyField(&c, &m.restakedDelegatee, &v.RestakedDelegateeRewards)
}

// copying is a copyOptional that has reached the field with this bit.
type copying struct {
	has  *uint16
	back bool
	bit  uint16
}

func copyField[T any](c *copying, kept *T, optional **T) {
	switch {
	case !c.back && *optional != nil:
		*kept = **optional
		*c.has |= c.bit
	case c.back && *c.has&c.bit != 0:
		value := *kept
		*optional = &value
	}
	c.bit <<= 1
}

// distinct is a list that is decoded item by item. A duplicate is an error, because counts and sums of the list would be wrong.
// Nodes send no duplicates, but a proxy that merges answers may.
type distinct[T interface{ id() string }] []T

// UnmarshalJSONFrom decodes the list.
func (l *distinct[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginArray {
		return errors.Join(d.SkipValue(), errors.New("not a list"))
	}
	*l = distinct[T]{} // an empty list is not nil
	return eachDistinct(d, func(item T) { *l = append(*l, item) })
}

// eachDistinct decodes the items of a list one by one, and calls use for each.
func eachDistinct[T interface{ id() string }](d *jsontext.Decoder, use func(T)) error {
	seen := map[string]bool{}
	return wire.Elements(d, func() error {
		var item T
		if err := wire.Decode(d, &item); err != nil {
			return err
		}
		if check, is := any(item).(interface{ incomplete() error }); is {
			if err := check.incomplete(); err != nil {
				return err
			}
		}
		if seen[item.id()] {
			return fmt.Errorf("duplicate %s", item.id())
		}
		seen[item.id()] = true
		use(item)
		return nil
	})
}
