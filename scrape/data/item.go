package data

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Item is an element of a list. A malformed item does not affect the other items.
type Item[T any] struct {
	Value T
	Err   error // nil for a valid item
}

// UnmarshalWire reads the next value of d of any type.
func (i *Item[T]) UnmarshalWire(d *wire.Decoder) error {
	raw, err := d.ReadRaw()
	if err != nil {
		return err
	}
	if raw.Kind() == 'n' {
		i.Err = errors.New("null")
		return nil
	}
	if err := wire.Decode(d.Sub(raw), &i.Value); errors.Is(err, wire.ErrMemory) {
		return err
	} else if err != nil {
		i.Err = err
	}
	return nil
}

// MarshalJSON writes the value.
func (i Item[T]) MarshalJSON() ([]byte, error) { return json.Marshal(i.Value) }

// itemError is the error of one item of a list.
type itemError struct{ error }

// IsItem reports whether an error of a walk concerns one item. After such an error the walk continues with the next item.
func IsItem(err error) bool { return errors.As(err, new(itemError)) }

func (e Endpoint) itemError(err error) error {
	return &scrape.Error{Op: e.Op(), Outcome: scrape.Malformed, Err: itemError{fmt.Errorf("one item: %w", err)}}
}
