package scrape

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Method is one method of an upstream's API. The table of an API declares each of its methods once, with Declare.
type Method struct {
	Name         string   // as documents and the command call name it, such as info.getNodeID or data.rewards
	Verb         string   // GET or POST for a REST resource; empty for JSON-RPC
	Path         string   // {name} stands for a value, such as a chain
	Params       []string // names in order; the name of an optional parameter ends in a question mark
	Positional   bool     // the parameters are a list, not an object
	Changes      string   // what the call does, as an infinitive; empty for a method that only reads
	Deprecated   string   // since which version, or the replacement; empty if the method is not deprecated
	Lacking      string   // which upstreams do not offer the method; empty if each one does
	Member       string   // the answer is an object, and only this member of it is decoded; empty for the whole answer
	AnswerStatus int      // a status other than 2xx that may carry an answer
	MayBeEmpty   bool     // an answer without a body is valid
	State        string   // an error with this text is a state of the upstream, see MaxAge; empty if there is none
	MaxBody      int64    // maximum size of an answer in bytes, after decompression; 0: 1 MiB
	Units        int      // cost of a request in compute units of the Data service; each page of a list is a request
	MaxPageSize  int      // maximum number of items per page; 0 for a method without pages

	decode   func(*jsontext.Decoder) (any, error)
	nullable bool // null is a valid answer
}

// Typed is a method whose answers are decoded to T.
type Typed[T any] struct{ *Method }

// Declare adds a method to a table. Answers are decoded by wire.Decode.
func Declare[T any](table *[]*Method, m Method) Typed[T] {
	declared := As[T](&m)
	*table = append(*table, declared.Method)
	return declared
}

// As returns the same method with answers that are decoded to another type.
func As[T any](m *Method) Typed[T] {
	as := *m
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
		as.nullable = m.Member == ""
	}
	as.decode = func(d *jsontext.Decoder) (any, error) {
		var answer T
		var err error
		if m.Member != "" {
			err = wire.DecodeMember(d, m.Member, &answer)
		} else {
			err = wire.Decode(d, &answer)
		}
		return answer, err
	}
	return Typed[T]{&as}
}

// Op returns the name of the method in errors and labels: info.getNodeID, or GET /v1/networks/{network}/rewards.
func (m *Method) Op() string {
	if m.Verb == "" {
		return m.Name
	}
	return m.Verb + " " + m.Path
}

// Usage returns the method with its parameters, such as avm.getTx {"txID":…, "encoding"?:…}. A question mark follows the name
// of an optional parameter.
func (m *Method) Usage() string {
	var params []string
	for _, p := range m.Params {
		if name, optional := strings.CutSuffix(p, "?"); !m.Positional && optional {
			p = `"` + name + `"?:…`
		} else if !m.Positional {
			p = `"` + name + `":…`
		}
		params = append(params, p)
	}
	switch {
	case params == nil:
		return m.Name
	case m.Positional:
		return m.Name + " [" + strings.Join(params, ", ") + "]"
	}
	return m.Name + " {" + strings.Join(params, ", ") + "}"
}

// Check returns an error if params are invalid for the method. If params is nil, the call has no parameters. The check is
// needed because a node ignores unknown parameters. Without the check, the answer would look correct after a typing error.
func (m *Method) Check(params jsontext.Value) error {
	var list []jsontext.Value
	var object map[string]jsontext.Value
	switch {
	case params == nil:
	case m.Positional && (params.Kind() != jsontext.KindBeginArray || json.Unmarshal(params, &list) != nil):
		return fmt.Errorf("the parameters are not a list: write %s", m.Usage())
	case !m.Positional && (params.Kind() != jsontext.KindBeginObject || json.Unmarshal(params, &object) != nil):
		return fmt.Errorf("the parameters are not an object: write %s", m.Usage())
	case len(list) > len(m.Params):
		return fmt.Errorf("%d parameters are too many: write %s", len(list), m.Usage())
	}
	for name := range object {
		if !slices.Contains(m.Params, name) && !slices.Contains(m.Params, name+"?") {
			return fmt.Errorf("there is no parameter %q: write %s", name, m.Usage())
		}
	}
	for i, name := range m.Params {
		if _, named := object[name]; !named && i >= len(list) && !strings.HasSuffix(name, "?") {
			return fmt.Errorf("the parameter %q is missing: write %s", name, m.Usage())
		}
	}
	return nil
}

// Call calls the method. Path is Method.Path with its values, and the query of a GET. Params are the parameters of a JSON-RPC
// method or the body of a POST; nil sends none. The call may be retried and its answer may be shared (see MaxAge), unless the
// method changes something. A shared answer must not be changed.
func (t Typed[T]) Call(ctx context.Context, u *Upstream, path string, params any) (T, error) {
	value, err := u.do(ctx, t.Method, path, params)
	answer, _ := value.(T) // fails only if there is no answer, or if T is an interface and the answer is null
	return answer, err
}

// Raw calls the method and returns the answer as JSON, unchanged. An answer that Call could not decode is malformed.
func (m *Method) Raw(ctx context.Context, u *Upstream, path string, params any) (jsontext.Value, error) {
	raw := *m
	raw.decode = func(d *jsontext.Decoder) (any, error) {
		text, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		text = text.Clone()
		_, err = m.Decode(text)
		return text, err
	}
	value, err := u.do(ctx, &raw, path, params)
	answer, _ := value.(jsontext.Value)
	return answer, err
}

// Decode decodes an answer as Call does.
func (m *Method) Decode(text jsontext.Value) (any, error) {
	d := wire.NewDecoder(bytes.NewReader(text))
	defer wire.Free(d)
	return m.decode(d)
}

// Cursor is the parameter that requests the next page of a list, and its value. It is empty after the last page.
type Cursor struct{ Param, Value string }

// Next returns the cursor in an answer. Of a method without pages it is empty.
func (m *Method) Next(answer jsontext.Value) Cursor {
	value, _ := m.Decode(answer)
	if page, ok := value.(interface{ Next() Cursor }); ok {
		return page.Next()
	}
	return Cursor{}
}

// body returns the body of a request, or nil for a GET.
func (m *Method) body(params any) ([]byte, error) {
	switch {
	case m.Verb == "":
		if m.Positional && params == nil {
			params = []any{}
		}
		return json.Marshal(struct {
			Version string `json:"jsonrpc"`
			ID      int    `json:"id"`
			Method  string `json:"method"`
			Params  any    `json:"params,omitzero"`
		}{"2.0", rpcID, m.Name, params}, json.Deterministic(true))
	case params != nil:
		return json.Marshal(params, json.Deterministic(true))
	case m.Verb != "GET":
		return []byte{}, nil
	}
	return nil, nil
}
