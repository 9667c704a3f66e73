package node

import (
	"context"
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
	err := eachDistinct(d, func(e entry) { s.all = append(s.all, e.member()) })
	s.all = slices.Clip(slices.Clone(s.all)) // without the space that append reserved
	return err
}

// entry holds the fields of a Validator that are decoded.
type entry struct {
	NodeID                 string         `json:"nodeID"`
	Weight                 wire.Uint64    `json:"weight"`
	StartTime              wire.UnixTime  `json:"startTime"`
	EndTime                *wire.UnixTime `json:"endTime"`
	PotentialReward        *wire.NanoAVAX `json:"potentialReward"`
	AccruedDelegateeReward *wire.NanoAVAX `json:"accruedDelegateeReward"`
	DelegationFee          *wire.Percent  `json:"delegationFee"`
	Uptime                 *wire.Percent  `json:"uptime"`
	Connected              *bool          `json:"connected"`
	DelegatorCount         *wire.Uint64   `json:"delegatorCount"`
	DelegatorWeight        *wire.NanoAVAX `json:"delegatorWeight"`
	NextPeriod             *wire.Seconds  `json:"nextPeriod"`
	AutoCompoundShares     *wire.Uint64   `json:"autoCompoundRewardShares"`
	Authority              *Owner         `json:"validatorAuthority"`
	RestakedValidation     *wire.NanoAVAX `json:"restakedValidationRewards"`
	RestakedDelegatee      *wire.NanoAVAX `json:"restakedDelegateeRewards"`
}

func (e entry) id() string { return e.NodeID }

// member is an entry without pointers, because pointers would triple the memory of a set.
type member struct {
	nodeID                 string
	weight                 wire.Uint64
	start, end             int64 // Unix seconds
	potentialReward        wire.NanoAVAX
	accruedDelegateeReward wire.NanoAVAX
	delegationFee, uptime  wire.Percent
	delegatorCount         wire.Uint64
	delegatorWeight        wire.NanoAVAX
	nextPeriod             time.Duration
	autoCompoundShares     wire.Uint64
	authority              *Owner // of the few auto-renewed validators
	restakedValidation     wire.NanoAVAX
	restakedDelegatee      wire.NanoAVAX
	connected              bool
	has                    fields
}

// fields is the set of optional fields that a member has.
type fields uint16

const (
	hasEnd fields = 1 << iota
	hasPotentialReward
	hasAccruedDelegateeReward
	hasDelegationFee
	hasUptime
	hasConnected
	hasDelegatorCount
	hasDelegatorWeight
	hasNextPeriod
	hasAutoCompoundShares
	hasRestakedValidation
	hasRestakedDelegatee
)

func (e entry) member() member {
	m := member{nodeID: e.NodeID, weight: e.Weight, start: e.StartTime.Unix(), authority: e.Authority}
	if e.EndTime != nil {
		m.end, m.has = e.EndTime.Unix(), m.has|hasEnd
	}
	if e.NextPeriod != nil {
		m.nextPeriod, m.has = e.NextPeriod.Duration, m.has|hasNextPeriod
	}
	take(&m, &m.autoCompoundShares, e.AutoCompoundShares, hasAutoCompoundShares)
	take(&m, &m.restakedValidation, e.RestakedValidation, hasRestakedValidation)
	take(&m, &m.restakedDelegatee, e.RestakedDelegatee, hasRestakedDelegatee)
	take(&m, &m.potentialReward, e.PotentialReward, hasPotentialReward)
	take(&m, &m.accruedDelegateeReward, e.AccruedDelegateeReward, hasAccruedDelegateeReward)
	take(&m, &m.delegationFee, e.DelegationFee, hasDelegationFee)
	take(&m, &m.uptime, e.Uptime, hasUptime)
	take(&m, &m.connected, e.Connected, hasConnected)
	take(&m, &m.delegatorCount, e.DelegatorCount, hasDelegatorCount)
	take(&m, &m.delegatorWeight, e.DelegatorWeight, hasDelegatorWeight)
	return m
}

func take[T any](m *member, into, from *T, has fields) {
	if from != nil {
		*into = *from
		m.has |= has
	}
}

func (m member) validator() Validator {
	v := Validator{NodeID: m.nodeID, Weight: m.weight, StartTime: wire.UnixTime{Time: time.Unix(m.start, 0).UTC()}, ValidatorAuthority: m.authority}
	if m.has&hasEnd != 0 {
		v.EndTime = &wire.UnixTime{Time: time.Unix(m.end, 0).UTC()}
	}
	if m.has&hasNextPeriod != 0 {
		v.NextPeriod = &wire.Seconds{Duration: m.nextPeriod}
	}
	v.AutoCompoundRewardShares = give(m, m.autoCompoundShares, hasAutoCompoundShares)
	v.RestakedValidationRewards = give(m, m.restakedValidation, hasRestakedValidation)
	v.RestakedDelegateeRewards = give(m, m.restakedDelegatee, hasRestakedDelegatee)
	v.PotentialReward = give(m, m.potentialReward, hasPotentialReward)
	v.AccruedDelegateeReward = give(m, m.accruedDelegateeReward, hasAccruedDelegateeReward)
	v.DelegationFee = give(m, m.delegationFee, hasDelegationFee)
	v.Uptime = give(m, m.uptime, hasUptime)
	v.Connected = give(m, m.connected, hasConnected)
	v.DelegatorCount = give(m, m.delegatorCount, hasDelegatorCount)
	v.DelegatorWeight = give(m, m.delegatorWeight, hasDelegatorWeight)
	return v
}

func give[T any](m member, value T, has fields) *T {
	if m.has&has == 0 {
		return nil
	}
	return &value
}

// distinct is a list that is decoded item by item. A duplicate is an error, because counts and sums of the list would be wrong.
// Nodes send no duplicates, but a proxy that merges answers may.
type distinct[T interface{ id() string }] []T

// UnmarshalJSONFrom decodes the list.
func (l *distinct[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if *l = nil; d.PeekKind() == jsontext.KindBeginArray {
		*l = distinct[T]{} // an empty list is not nil
	}
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
		if seen[item.id()] {
			return fmt.Errorf("duplicate %s", item.id())
		}
		seen[item.id()] = true
		use(item)
		return nil
	})
}
