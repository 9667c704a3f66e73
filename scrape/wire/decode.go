package wire

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode decodes the next value of d into the variable that into points to. A missing value never becomes zero. A struct
// field that is a pointer, or tagged omitzero, may be absent or null. Any other missing field is an error. Null in place of a
// list or map decodes to nil, because servers written in Go send an empty list as null. Null in place of any other value is an
// error, also within a list or map. Unknown members are ignored. Of a field's json tag, only the name and omitzero have an
// effect.
//
// A type that is an Unmarshaler decodes itself. So does a scalar type with an UnmarshalJSONFrom, UnmarshalJSON or
// UnmarshalText method.
func Decode(d *Decoder, into any) error {
	v := reflect.ValueOf(into).Elem()
	if err := d.take(int(v.Type().Size())); err != nil {
		return err
	}
	return decode(d, v)
}

// Unmarshaler is a composite type that decodes itself, within the limits of the Decoder.
type Unmarshaler interface {
	// UnmarshalWire reads the next value of d to its end.
	UnmarshalWire(d *Decoder) error
}

func decode(d *Decoder, v reflect.Value) error {
	kind := d.PeekKind()
	p := typeDecoderOf(v.Type())
	switch {
	case p.self:
		return d.placed(v.Addr().Interface().(Unmarshaler).UnmarshalWire(d))
	case v.Type() == rawType:
		raw, err := d.ReadRaw()
		v.SetBytes(raw)
		return err
	case p.as == reflect.Pointer && kind != jsontext.KindNull:
		if err := d.take(int(v.Type().Elem().Size())); err != nil {
			return err
		}
		v.Set(reflect.New(v.Type().Elem()))
		return decode(d, v.Elem())
	case p.as == reflect.Slice && kind == jsontext.KindBeginArray:
		return decodeSlice(d, v)
	case p.as == reflect.Map && kind == jsontext.KindBeginObject:
		return decodeMap(d, v)
	case p.as == reflect.Struct && kind == jsontext.KindBeginObject:
		return decodeStruct(d, v, p)
	case p.as == reflect.String && kind == jsontext.KindString:
		return decodeString(d, v)
	}
	// A scalar, null, or an undecodable value.
	if err := json.UnmarshalDecode(d.Decoder, v.Addr().Interface()); err != nil {
		return err
	}
	if v.Kind() == reflect.String {
		return d.take(v.Len())
	}
	return nil
}

// decodeString does not use the json library, because the library allocates 4 KiB per Decoder for strings.
func decodeString(d *Decoder, v reflect.Value) error {
	text, err := d.ReadToken()
	if err != nil {
		return err
	}
	v.SetString(text.String())
	return d.take(v.Len())
}

func decodeSlice(d *Decoder, v reflect.Value) error {
	if err := d.open(); err != nil {
		return err
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0)) // an empty list is not nil
	for n := 0; d.PeekKind() != jsontext.KindEndArray; n++ {
		had := v.Cap()
		v.Grow(1)
		if err := d.take((v.Cap() - had) * int(v.Type().Elem().Size())); err != nil {
			return err
		}
		v.SetLen(n + 1)
		if err := decodeElement(d, v.Index(n)); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

func decodeMap(d *Decoder, v reflect.Value) error {
	if err := d.open(); err != nil {
		return err
	}
	key, element := v.Type().Key(), v.Type().Elem()
	v.Set(reflect.MakeMap(v.Type()))
	cost := mapHeader
	for n := 0; d.PeekKind() == jsontext.KindString; n++ {
		switch entry := int(key.Size() + element.Size()); {
		case n == 0:
			cost += mapGroup * entry
		case n >= mapGroup:
			cost = 2 * entry
		}
		if err := d.take(cost); err != nil {
			return err
		}
		cost = 0
		name, value := reflect.New(key), reflect.New(element)
		if err := d.name(n); err != nil {
			return err
		}
		if typeDecoderOf(key).as == reflect.String {
			if err := decodeString(d, name.Elem()); err != nil {
				return err
			}
		} else if err := json.UnmarshalDecode(d.Decoder, name.Interface(), json.StringifyNumbers(true)); err != nil {
			return err
		}
		if err := decodeElement(d, value.Elem()); err != nil {
			return err
		}
		v.SetMapIndex(name.Elem(), value.Elem())
	}
	if err := d.take(cost); err != nil {
		return err
	}
	_, err := d.ReadToken()
	return err
}

// decodeElement decodes an element of a list or map.
func decodeElement(d *Decoder, v reflect.Value) error {
	if d.PeekKind() == jsontext.KindNull && !nillable(v.Kind()) && !typeDecoderOf(v.Type()).self {
		if err := d.SkipValue(); err != nil {
			return err
		}
		return &json.SemanticError{JSONPointer: d.StackPointer(), Err: errors.New("null")}
	}
	return decode(d, v)
}

func nillable(kind reflect.Kind) bool {
	return kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map || kind == reflect.Interface
}

func decodeStruct(d *Decoder, v reflect.Value, p *typeDecoder) error {
	if err := d.open(); err != nil {
		return err
	}
	var onStack [64]bool
	seen := onStack[:]
	if len(p.fields) > len(onStack) {
		seen = make([]bool, len(p.fields))
	}
	for n := 0; d.PeekKind() == jsontext.KindString; n++ {
		if err := d.name(n); err != nil {
			return err
		}
		name, err := d.ReadValue()
		if err != nil {
			return err
		}
		i, known := p.find(name)
		if known && !p.fields[i].nillable && d.PeekKind() == jsontext.KindNull {
			known = false // null counts as absent
		}
		if known {
			seen[i] = true
			err = decode(d, v.FieldByIndex(p.fields[i].index))
		} else {
			err = d.Skip()
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for i, f := range p.fields {
		if f.required && !seen[i] {
			return &json.SemanticError{JSONPointer: d.StackPointer(), Err: fmt.Errorf("%s is missing", f.name)}
		}
	}
	return nil
}

// typeDecoder describes how to decode a type.
type typeDecoder struct {
	self   bool         // the type is an Unmarshaler
	as     reflect.Kind // Pointer, Slice, Map, Struct or String; Invalid: the json library decodes the type
	fields []field
	byName map[string]int
}

type field struct {
	name     string
	index    []int
	required bool // neither a pointer nor omitzero
	nillable bool // nil can represent null
}

func (p *typeDecoder) find(quoted jsontext.Value) (int, bool) {
	if i, ok := p.byName[string(quoted[1:len(quoted)-1])]; ok {
		return i, true
	}
	name, _ := jsontext.AppendUnquote(nil, quoted)
	i, ok := p.byName[string(name)]
	return i, ok
}

var rawType = reflect.TypeFor[jsontext.Value]()

var typeDecoders sync.Map // reflect.Type to *typeDecoder

func typeDecoderOf(t reflect.Type) *typeDecoder {
	if known, ok := typeDecoders.Load(t); ok {
		return known.(*typeDecoder)
	}
	p := &typeDecoder{self: reflect.PointerTo(t).Implements(reflect.TypeFor[Unmarshaler]())}
	if !p.self && (canContainAbsent(t) || t.Kind() == reflect.String && !decodesItself(t)) {
		p.as = t.Kind()
	}
	if p.as == reflect.Struct {
		p.readFields(t)
	}
	typeDecoders.Store(t, p)
	return p
}

// canContainAbsent reports whether a type can contain absent values.
func canContainAbsent(t reflect.Type) bool {
	if decodesItself(t) {
		return false
	}
	switch t.Kind() {
	case reflect.Pointer:
		return true
	case reflect.Slice:
		return t.Elem().Kind() != reflect.Uint8 // bytes are a string
	}
	return t.Kind() == reflect.Map || t.Kind() == reflect.Struct
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) || p.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func (p *typeDecoder) readFields(t reflect.Type) {
	p.byName = make(map[string]int)
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		kind := f.Type.Kind()
		p.byName[name] = len(p.fields)
		p.fields = append(p.fields, field{
			name:     name,
			index:    f.Index,
			required: kind != reflect.Pointer && options != "omitzero",
			nillable: nillable(kind),
		})
	}
}
