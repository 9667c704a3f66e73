package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrMemory ends the decoding of an answer that would take more memory than is allowed.
var ErrMemory = errors.New("the answer takes more memory than is allowed")

// maxDepth is how deep an answer may be nested. Known answers are at most 12 deep.
const maxDepth = 100

// Decoder decodes one answer with limits of memory and depth. An object with duplicate member names is an error.
type Decoder struct {
	*jsontext.Decoder
	memory *int // bytes that what is decoded may still take
	depth  int  // of the value that this Decoder reads, in the whole answer
}

// NewDecoder returns a Decoder for r. Decoded values take at most this much memory in bytes; beyond it the error is ErrMemory.
func NewDecoder(r io.Reader, memory int) *Decoder {
	of := decoders.Get().(*jsontext.Decoder)
	of.Reset(r, options)
	return &Decoder{Decoder: of, memory: &memory}
}

var options = jsontext.AllowInvalidUTF8(true)

// decoders have buffers that the next answer reuses.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// mostReused is the largest answer in bytes whose buffers are reused.
const mostReused = 64 << 10

// Close lets another Decoder use the buffers of d. Afterwards neither d nor raw text that it returned may be used.
func (d *Decoder) Close() {
	if d.InputOffset() <= mostReused {
		d.Reset(strings.NewReader(""), options)
		decoders.Put(d.Decoder)
	}
	d.Decoder = nil
}

// Sub returns a Decoder for a value of the same answer that was read as raw text, with the same limits.
func (d *Decoder) Sub(raw jsontext.Value) *Decoder {
	return &Decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(raw), options), memory: d.memory, depth: d.depth + d.StackDepth()}
}

// Sizes in bytes of what the Go runtime and jsontext keep.
const (
	mapHeader = 48
	mapGroup  = 8   // entries that the first allocation holds
	nameCost  = 100 // of each name of an object with more than fewNames
	fewNames  = 64
	rawCost   = 4 // of each byte kept as text: it is copied when it grows and when its parts are decoded
)

// take counts memory that will be used, in bytes.
func (d *Decoder) take(n int) error {
	if *d.memory -= n; *d.memory < 0 {
		return ErrMemory
	}
	return nil
}

// open reads the start of an object or list.
func (d *Decoder) open() error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	return d.deep()
}

func (d *Decoder) deep() error {
	if d.depth+d.StackDepth() > maxDepth {
		return &json.SemanticError{Err: fmt.Errorf("nested more than %d deep", maxDepth)}
	}
	return nil
}

// name counts the n-th name of an object. jsontext keeps it until the end of the object, to find duplicates.
func (d *Decoder) name(n int) error {
	if n < fewNames {
		return nil
	}
	return d.take(nameCost)
}

// Skip reads the next value and discards it.
func (d *Decoder) Skip() error { return d.read(func(...byte) error { return nil }) }

// ReadRaw reads the next value as text, without space between its tokens.
func (d *Decoder) ReadRaw() (jsontext.Value, error) {
	var raw jsontext.Value
	err := d.read(func(text ...byte) error {
		had := cap(raw)
		raw = append(raw, text...)
		return d.take(rawCost * (cap(raw) - had))
	})
	return raw, err
}

// read reads the next value token by token, so that only keep holds parts of it.
func (d *Decoder) read(keep func(text ...byte) error) error {
	outside := d.StackDepth()
	for {
		kind := d.PeekKind()
		closes := kind == jsontext.KindEndObject || kind == jsontext.KindEndArray
		if depth := d.StackDepth(); depth > outside && !closes {
			in, n := d.StackIndex(depth)
			var err error
			switch {
			case in == jsontext.KindBeginObject && n%2 == 1:
				err = keep(':')
			case n > 0:
				err = keep(',')
			}
			if err == nil && in == jsontext.KindBeginObject && n%2 == 0 {
				err = d.name(int(n / 2))
			}
			if err != nil {
				return err
			}
		}
		if closes || kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray {
			if _, err := d.ReadToken(); err != nil {
				return err
			}
			if err := errors.Join(d.deep(), keep(byte(kind))); err != nil {
				return err
			}
		} else {
			text, err := d.ReadValue()
			if err != nil {
				return err
			}
			if err := keep(text...); err != nil {
				return err
			}
		}
		if d.StackDepth() <= outside {
			return nil
		}
	}
}

// placed adds the position in the answer to an error of an Unmarshaler.
func (d *Decoder) placed(err error) error {
	var meaning *json.SemanticError
	var syntax *jsontext.SyntacticError
	if err == nil || errors.Is(err, ErrMemory) || errors.As(err, &meaning) || errors.As(err, &syntax) {
		return err
	}
	return &json.SemanticError{JSONPointer: d.StackPointer(), Err: err}
}
