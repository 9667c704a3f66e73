package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// validatorSet is a whole validator set without the owners, which are most of the memory of a list.
type validatorSet []Validator

var getValidatorSet = scrape.As[validatorSet](getCurrentValidators.Method)

// PlatformValidatorSet calls platform.getCurrentValidators for a whole set, in random order. The validators have no
// ValidationRewardOwner and no DelegationRewardOwner. An empty subnetID means the primary network.
func (c *Client) PlatformValidatorSet(ctx context.Context, subnetID string) ([]Validator, error) {
	return call(ctx, c, getValidatorSet, "", validatorQuery{SubnetID: subnetID})
}

// UnmarshalJSONFrom decodes the list.
func (s *validatorSet) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return eachDistinct(d, func(v validatorOfSet) {
		v.ValidationRewardOwner, v.DelegationRewardOwner = nil, nil
		*s = append(*s, v.Validator)
	})
}

// validatorOfSet is a Validator in a list with each node ID once.
type validatorOfSet struct{ Validator }

func (v validatorOfSet) id() string { return v.NodeID }

// distinct is a list that is decoded item by item. A duplicate is an error, because counts and sums of the list would be wrong.
// Nodes send no duplicates, but a proxy that merges answers may.
type distinct[T interface{ id() string }] []T

// UnmarshalJSONFrom decodes the list.
func (l *distinct[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*l = distinct[T]{} // an empty list is not nil
	return eachDistinct(d, func(item T) { *l = append(*l, item) })
}

// eachDistinct decodes the items of a list one by one, and calls use for each. Null is an error.
func eachDistinct[T interface{ id() string }](d *jsontext.Decoder, use func(T)) error {
	if d.PeekKind() != jsontext.KindBeginArray {
		return errors.Join(d.SkipValue(), errors.New("not a list"))
	}
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
