package testworld

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Huge are numbers that an upstream may send in place of any other: too large, too precise, too long, negative, or no number.
var Huge = []string{
	"-1", "0.5", "1e18", "9007199254740993", "18446744073709551615", "18446744073709551616", "1e308", "1e309", "1e-400", "1e1000000000", "-9223372036854775809",
	strings.Repeat("9", 78), strings.Repeat("9", 100_000), "0x" + strings.Repeat("f", 16), "0x" + strings.Repeat("f", 64), "0x" + strings.Repeat("f", 65),
	"NaN", "Infinity",
	"2000000", "253402300800", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2562047h47m16.854775807s",
}

// number matches what an upstream may write for a number, a time or a duration.
var number = regexp.MustCompile(`^(0x[0-9a-fA-F]{1,16}|-?[0-9][0-9.]*|\d{4}-\d\d-\d\dT.*|[0-9.]+(ns|µs|ms|s|m|h).*)$`)

// HugeNumbers decodes an answer with each of its numbers replaced by each number of Huge, and returns how many answers that were. Each must be an error of one
// line, or have only numbers that are finite.
func HugeNumbers(t testing.TB, name, answer string, decode func(text string) (any, error)) int {
	t.Helper()
	texts, err := withHuge(answer)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, text := range texts {
		value, err := decode(text)
		if err != nil && (len(err.Error()) > 2<<10 || strings.ContainsAny(err.Error(), "\r\n")) {
			t.Errorf("%s: an error that does not fit into a line: %.300s", name, err)
		}
		if err != nil {
			continue
		}
		if places := unbounded(value); len(places) > 0 {
			t.Errorf("%s: %s for %.300s", name, places, text)
		}
	}
	return len(texts)
}

// withHuge returns an answer as often as it has numbers, times the numbers of Huge, each with one of them replaced. It keeps the answer's form: a number stays
// a number if it can.
func withHuge(answer string) (texts []string, err error) {
	var whole any
	d := json.NewDecoder(strings.NewReader(answer))
	d.UseNumber()
	if err := d.Decode(&whole); err != nil {
		return nil, err
	}
	var walk func(at any, set func(any)) error
	walk = func(at any, set func(any)) error {
		replace := func(bare bool) error {
			for _, huge := range Huge {
				var value any = huge
				if bare && json.Valid([]byte(huge)) {
					value = json.RawMessage(huge)
				}
				set(value)
				text, err := json.Marshal(whole)
				if err != nil {
					return err
				}
				texts = append(texts, string(text))
			}
			set(at)
			return nil
		}
		switch v := at.(type) {
		case map[string]any:
			for name, inner := range v {
				if err := walk(inner, func(x any) { v[name] = x }); err != nil {
					return err
				}
			}
		case []any:
			if len(v) > 0 {
				return walk(v[0], func(x any) { v[0] = x })
			}
		case json.Number:
			return replace(true)
		case string:
			if number.MatchString(v) {
				return replace(false)
			}
		}
		return nil
	}
	err = walk(whole, func(any) {})
	return texts, err
}

// unbounded returns where a decoded value has a number that is not finite, or a method without parameters that returns one.
func unbounded(value any) (places []string) {
	var walk func(v reflect.Value, at string, depth int)
	walk = func(v reflect.Value, at string, depth int) {
		if !v.IsValid() || depth > 6 {
			return
		}
		if v.CanInterface() {
			for i := range v.NumMethod() {
				m := v.Type().Method(i)
				if v.Kind() == reflect.Pointer && v.IsNil() || m.Type.NumIn() != 1 || m.Type.NumOut() != 1 || v.Kind() == reflect.Interface {
					continue
				}
				out := m.Type.Out(0)
				if out.Kind() == reflect.Pointer {
					out = out.Elem()
				}
				if out.Kind() == reflect.Float64 {
					walk(v.Method(i).Call(nil)[0], at+"."+m.Name, depth+1)
				}
			}
		}
		switch v.Kind() {
		case reflect.Float64:
			if f := v.Float(); math.IsInf(f, 0) || math.IsNaN(f) {
				places = append(places, fmt.Sprintf("%s: %v", at, f))
			}
		case reflect.Pointer, reflect.Interface:
			walk(v.Elem(), at, depth)
		case reflect.Struct:
			if v.Type().PkgPath() == "time" || v.Type().PkgPath() == "math/big" {
				return
			}
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					walk(v.Field(i), at+"."+v.Type().Field(i).Name, depth+1)
				}
			}
		case reflect.Slice, reflect.Array:
			for i := range min(v.Len(), 3) {
				walk(v.Index(i), at+"[]", depth+1)
			}
		case reflect.Map:
			for _, k := range v.MapKeys() {
				walk(v.MapIndex(k), at+"{}", depth+1)
			}
		}
	}
	walk(reflect.ValueOf(value), "", 0)
	slices.Sort(places)
	return slices.Compact(places)
}
