package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// spoilage is an answer with one field of another type.
type spoilage struct {
	what string // path and new value
	body func() []byte
}

// others are the replacement values of a field.
var others = []any{nil, true, "spoilt", json.Number("-0.5"), json.Number("1e999"), []any{}, map[string]any{}}

// spoils reports whether no upstream may send this value in place of the other one.
func spoils(path []string, v, other any) bool {
	_, isText := v.(string)
	_, isList := v.([]any)
	_, isObject := v.(map[string]any)
	_, isNumber := other.(json.Number)
	switch {
	case other == nil && len(path) > 0 && strings.Trim(path[len(path)-1], "0123456789") == "":
		return true // an element
	case other == nil:
		return !isText && !isList && !isObject // what is optional, and an empty list
	case isNumber && isText:
		_, err := strconv.ParseFloat(v.(string), 64)
		return err != nil // numbers may be strings, and strings numbers
	}
	return fmt.Sprintf("%T", other) != fmt.Sprintf("%T", v)
}

// spoilt replaces every field of a JSON answer by every other type, one at a time. Of a list only the first and the last element.
func spoilt(body []byte) []spoilage {
	tree, err := parse(body)
	if err != nil {
		return nil
	}
	var all []spoilage
	var walk func(path []string, v any, set func(any))
	walk = func(path []string, v any, set func(any)) {
		for _, other := range others {
			if !spoils(path, v, other) {
				continue
			}
			all = append(all, spoilage{fmt.Sprintf("%s = %#v", strings.Join(path, "."), other), func() []byte {
				set(other)
				defer set(v)
				body, err := json.Marshal(tree)
				if err != nil {
					panic(err)
				}
				return body
			}})
		}
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(append(slices.Clone(path), name), v[name], func(to any) { v[name] = to })
			}
		case []any:
			for _, i := range slices.Compact([]int{0, len(v) - 1}) {
				if i >= 0 && i < len(v) {
					walk(append(slices.Clone(path), fmt.Sprint(i)), v[i], func(to any) { v[i] = to })
				}
			}
		}
	}
	top := func(to any) { tree = to }
	walk(nil, tree, top)
	return all
}

// rewrite replaces every value of a JSON answer, the inner ones first.
func rewrite(body []byte, f func(any) any) []byte {
	tree, err := parse(body)
	if err != nil {
		return body
	}
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for name := range v {
				v[name] = walk(v[name])
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		}
		return f(v)
	}
	out, err := json.Marshal(walk(tree))
	if err != nil {
		panic(err)
	}
	return out
}

func parse(body []byte) (any, error) {
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	err := decoder.Decode(&tree)
	return tree, err
}
