package wire

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decoders have buffers that the next answer reuses.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// maxReused is the largest answer in bytes whose buffers are reused.
const maxReused = 64 << 10

// NewDecoder returns a decoder for one answer. An object with duplicate member names is an error.
func NewDecoder(r io.Reader) *jsontext.Decoder {
	d := decoders.Get().(*jsontext.Decoder)
	d.Reset(r, jsontext.AllowInvalidUTF8(true))
	return d
}

// Free lets a later NewDecoder use the buffers of d. After Free, do not use d or values that ReadValue returned.
func Free(d *jsontext.Decoder) {
	if d.InputOffset() <= maxReused {
		d.Reset(strings.NewReader(""))
		decoders.Put(d)
	}
}

// Decode decodes the next value of d into the variable that into points to. A missing value never becomes zero. A struct
// field that is a pointer, or tagged omitzero, may be absent or null. Any other missing field is an error. Null in place of a
// list or map decodes to nil, because servers written in Go send an empty list as null. Null in place of any other value is an
// error, also within a list or map. Unknown members are ignored. Of a field's json tag, only the name and omitzero have an
// effect.
//
// A type with an UnmarshalJSONFrom, UnmarshalJSON or UnmarshalText method decodes itself.
func Decode(d *jsontext.Decoder, into any) error { return decode(d, reflect.ValueOf(into).Elem()) }

// DecodeBytes is Decode for the first value of a text.
func DecodeBytes(text []byte, into any) error {
	d := NewDecoder(bytes.NewReader(text))
	defer Free(d)
	return Decode(d, into)
}

// DecodeMember decodes one member of an object, as Decode decodes a field of a struct. Other members are ignored.
func DecodeMember(d *jsontext.Decoder, name string, into any) error {
	v := reflect.ValueOf(into).Elem()
	only := field{name: name, required: true, nillable: nillable(v.Kind())}
	return decodeFields(d, []field{only}, func(field) reflect.Value { return v })
}

// Optional reports for each field of a struct that may be absent, by its name in JSON, whether it is there.
func Optional(of any) map[string]bool {
	v, has := reflect.ValueOf(of), map[string]bool{}
	for _, f := range fieldsOf(v.Type()) {
		if !f.required {
			has[f.name] = !v.FieldByIndex(f.index).IsZero()
		}
	}
	return has
}

// Members reads an object. It calls read for each member with its name; read must read the value.
func Members(d *jsontext.Decoder, read func(name string) error) error {
	if kind := d.PeekKind(); kind != jsontext.KindBeginObject {
		return errors.Join(unexpected(d, "not an object"), d.SkipValue())
	}
	return each(d, jsontext.KindEndObject, func() error {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		return read(name.String())
	})
}

// ErrTooMany is the error of a list with more than maxElements elements.
var ErrTooMany = fmt.Errorf("a list has more than %d elements", maxElements)

// maxElements is the maximum number of elements of a list that is decoded one by one. The largest known list, the validators of
// the primary network of a public network, has a few thousand.
const maxElements = 100_000

// Elements reads a list. It calls read for each element; read must read the element. Null is a list without elements.
func Elements(d *jsontext.Decoder, read func() error) error {
	switch d.PeekKind() {
	case jsontext.KindNull:
		return d.SkipValue()
	case jsontext.KindBeginArray:
	default:
		return errors.Join(unexpected(d, "not a list"), d.SkipValue())
	}
	n := 0
	return each(d, jsontext.KindEndArray, func() error {
		if n++; n > maxElements {
			return ErrTooMany
		}
		return read()
	})
}

// each reads an object or a list, and calls read for each member or element.
func each(d *jsontext.Decoder, end jsontext.Kind, read func() error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for kind := d.PeekKind(); kind != end && kind != jsontext.KindInvalid; kind = d.PeekKind() {
		if err := read(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// unexpected returns an error at the current position.
func unexpected(d *jsontext.Decoder, what string) error {
	return &json.SemanticError{JSONPointer: d.StackPointer(), Err: errors.New(what)}
}

func decode(d *jsontext.Decoder, v reflect.Value) error {
	kind, as := d.PeekKind(), v.Kind()
	if decodesItself(v.Type()) {
		as = reflect.Invalid
	}
	switch {
	case kind == jsontext.KindNull && as != reflect.Invalid && !nillable(as):
		return errors.Join(d.SkipValue(), unexpected(d, "null"))
	case as == reflect.Pointer && kind != jsontext.KindNull:
		v.Set(reflect.New(v.Type().Elem()))
		return decode(d, v.Elem())
	case as == reflect.Slice && kind == jsontext.KindBeginArray:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0)) // an empty list is not nil
		return Elements(d, func() error {
			v.Grow(1)
			v.SetLen(v.Len() + 1)
			return decode(d, v.Index(v.Len()-1))
		})
	case as == reflect.Map && kind == jsontext.KindBeginObject:
		v.Set(reflect.MakeMap(v.Type()))
		return each(d, jsontext.KindEndObject, func() error {
			key, value := reflect.New(v.Type().Key()), reflect.New(v.Type().Elem()).Elem()
			if err := json.UnmarshalDecode(d, key.Interface(), json.StringifyNumbers(true)); err != nil {
				return err
			}
			if err := decode(d, value); err != nil {
				return err
			}
			v.SetMapIndex(key.Elem(), value)
			return nil
		})
	case as == reflect.Struct && kind == jsontext.KindBeginObject:
		return decodeStruct(d, v)
	case as == reflect.String && kind == jsontext.KindString: // the json library would allocate 4 KiB per Decoder for strings
		text, err := d.ReadToken()
		v.SetString(text.String())
		return err
	}
	return json.UnmarshalDecode(d, v.Addr().Interface()) // a scalar, nil, or an undecodable value
}

func nillable(kind reflect.Kind) bool {
	return kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map || kind == reflect.Interface
}

func decodeStruct(d *jsontext.Decoder, v reflect.Value) error {
	return decodeFields(d, fieldsOf(v.Type()), func(f field) reflect.Value { return v.FieldByIndex(f.index) })
}

// decodeFields decodes the members of an object to variables.
func decodeFields(d *jsontext.Decoder, fields []field, variable func(field) reflect.Value) error {
	seen := make([]bool, len(fields))
	err := Members(d, func(name string) error {
		for i, f := range fields {
			if f.name == name && (f.nillable || d.PeekKind() != jsontext.KindNull) { // otherwise null counts as absent
				seen[i] = true
				return decode(d, variable(f))
			}
		}
		return d.SkipValue()
	})
	if err != nil {
		return err
	}
	for i, f := range fields {
		if f.required && !seen[i] {
			return unexpected(d, f.name+" is missing")
		}
	}
	return nil
}

// field is a field of a struct.
type field struct {
	name     string
	index    []int
	required bool // neither a pointer nor omitzero
	nillable bool // nil can represent null
}

var fields sync.Map // reflect.Type to []field

func fieldsOf(t reflect.Type) []field {
	if known, ok := fields.Load(t); ok {
		return known.([]field)
	}
	var all []field
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		kind := f.Type.Kind()
		all = append(all, field{name, f.Index, kind != reflect.Pointer && options != "omitzero", nillable(kind)})
	}
	fields.Store(t, all)
	return all
}

var selfDecoding sync.Map // reflect.Type to bool

func decodesItself(t reflect.Type) bool {
	if known, ok := selfDecoding.Load(t); ok {
		return known.(bool)
	}
	p := reflect.PointerTo(t)
	itself := p.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) || p.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	selfDecoding.Store(t, itself)
	return itself
}
