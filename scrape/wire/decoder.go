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

// ErrMemory is the error for an answer whose decoded values would exceed the memory limit.
var ErrMemory = errors.New("the decoded answer exceeds the memory limit")

// maxDepth is the maximum number of nested objects and lists in an answer. Known answers have at most 12.
const maxDepth = 100

// Decoder decodes one answer and limits its memory and depth. An object with duplicate member names is an error.
type Decoder struct {
	*jsontext.Decoder
	memory *int // remaining bytes for decoded values
	depth  int  // depth, in the whole answer, of the value that this Decoder reads
}

// NewDecoder returns a Decoder for r. The parameter memory limits the memory of decoded values, in bytes. If the values would
// take more, decoding fails with ErrMemory.
func NewDecoder(r io.Reader, memory int) *Decoder {
	of := decoders.Get().(*jsontext.Decoder)
	of.Reset(r, options)
	return &Decoder{Decoder: of, memory: &memory}
}

var options = jsontext.AllowInvalidUTF8(true)

// decoders have buffers that the next answer reuses.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// maxReused is the largest answer in bytes whose buffers are reused.
const maxReused = 64 << 10

// Close lets another Decoder use the buffers of d. After Close, do not use d or values that ReadValue returned.
func (d *Decoder) Close() {
	if d.InputOffset() <= maxReused {
		d.Reset(strings.NewReader(""), options)
		decoders.Put(d.Decoder)
	}
	d.Decoder = nil
}

// Sub returns a Decoder for raw, a part of the answer. ReadRaw of d returned raw. Both Decoders share the same limits.
func (d *Decoder) Sub(raw jsontext.Value) *Decoder {
	return &Decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(raw), options), memory: d.memory, depth: d.depth + d.StackDepth()}
}

// Memory that the Go runtime and jsontext use, in bytes unless noted.
const (
	mapHeader = 48
	mapGroup  = 8   // number of entries in the first allocation of a map
	nameCost  = 100 // for each name of an object after the first fewNames names
	fewNames  = 64
	rawCost   = 4 // for each byte kept as text: text is copied when it grows and when its parts are decoded
)

// take subtracts n bytes from the remaining memory. It returns ErrMemory if too little remains.
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
	return d.checkDepth()
}

func (d *Decoder) checkDepth() error {
	if d.depth+d.StackDepth() > maxDepth {
		return &json.SemanticError{Err: fmt.Errorf("more than %d nested objects and lists", maxDepth)}
	}
	return nil
}

// name counts the memory of the n-th name of an object. jsontext keeps names until the end of the object, to find duplicates.
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

// read reads the next value token by token and passes the text of each token to keep.
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
			if err := errors.Join(d.checkDepth(), keep(byte(kind))); err != nil {
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
