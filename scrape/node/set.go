package node

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// ValidatorSet is a whole validator set that takes little memory. For each validator it holds the node ID, stake, period and
// rewards, and the uptime and connection that the node observes. It omits owners, keys and the fields of L1 validators. Most of
// an answer consists of these omitted fields.
type ValidatorSet struct {
	pieces [][]member // all but the last are full; a single slice would be copied each time it grows
}

// Limits of the size of a piece. A new piece is as large as all earlier pieces together, within these limits.
const (
	smallestPiece = 8
	largestPiece  = 1024
)

// PlatformValidatorSet calls platform.getCurrentValidators for a whole set, in random order. It decodes the answer while the
// answer arrives, and does not store the text of the answer. An empty subnetID means the primary network.
func (c *Client) PlatformValidatorSet(ctx context.Context, subnetID string) (*ValidatorSet, error) {
	answer, err := platform[struct {
		Validators ValidatorSet `json:"validators"`
	}](ctx, c, "platform.getCurrentValidators", struct {
		SubnetID string `json:"subnetID,omitempty"`
	}{subnetID})
	if err == nil {
		err = distinct("platform.getCurrentValidators", answer.Validators.members(), func(m member) string { return m.nodeID })
	}
	if err != nil {
		return nil, err
	}
	return &answer.Validators, nil
}

// Len returns the number of validators.
func (s *ValidatorSet) Len() int {
	n := 0
	for _, p := range s.pieces {
		n += len(p)
	}
	return n
}

func (s *ValidatorSet) add(m member) {
	last := len(s.pieces) - 1
	if last < 0 || len(s.pieces[last]) == cap(s.pieces[last]) {
		s.pieces = append(s.pieces, make([]member, 0, min(max(smallestPiece, s.Len()), largestPiece)))
		last++
	}
	s.pieces[last] = append(s.pieces[last], m)
}

// All yields the validators. Fields that the set does not hold are zero or nil.
func (s *ValidatorSet) All() iter.Seq[Validator] {
	return func(yield func(Validator) bool) {
		for m := range s.members() {
			if !yield(m.validator()) {
				return
			}
		}
	}
}

func (s *ValidatorSet) members() iter.Seq[member] {
	return func(yield func(member) bool) {
		for _, piece := range s.pieces {
			for _, m := range piece {
				if !yield(m) {
					return
				}
			}
		}
	}
}

// UnmarshalWire decodes the list, one validator at a time.
func (s *ValidatorSet) UnmarshalWire(d *wire.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginArray {
		return wire.Decode(d, &[]entry{}) // returns the error
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != jsontext.KindEndArray {
		if d.PeekKind() == jsontext.KindNull {
			return &json.SemanticError{JSONPointer: d.StackPointer(), Err: errors.New("null")}
		}
		var e entry
		if err := wire.Decode(d, &e); err != nil {
			return err
		}
		s.add(e.member())
	}
	_, err := d.ReadToken()
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
}

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
)

func (e entry) member() member {
	m := member{nodeID: e.NodeID, weight: e.Weight, start: e.StartTime.Unix()}
	if e.EndTime != nil {
		m.end, m.has = e.EndTime.Unix(), m.has|hasEnd
	}
	if e.NextPeriod != nil {
		m.nextPeriod, m.has = e.NextPeriod.Duration, m.has|hasNextPeriod
	}
	take(&m, &m.autoCompoundShares, e.AutoCompoundShares, hasAutoCompoundShares)
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
	v := Validator{NodeID: m.nodeID, Weight: m.weight, StartTime: wire.UnixTime{Time: time.Unix(m.start, 0).UTC()}}
	if m.has&hasEnd != 0 {
		v.EndTime = &wire.UnixTime{Time: time.Unix(m.end, 0).UTC()}
	}
	if m.has&hasNextPeriod != 0 {
		v.NextPeriod = &wire.Seconds{Duration: m.nextPeriod}
	}
	v.AutoCompoundRewardShares = give(m, m.autoCompoundShares, hasAutoCompoundShares)
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
