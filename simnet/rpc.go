package simnet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The JSON-RPC variant of the services info, admin, platform, avm and validators. EVM chains use another one, see
// evm.go.

// service holds the methods at a path, by their names without the service.
type service struct {
	name    string
	methods map[string]method
}

type method func(v *view, params json.RawMessage) (any, error)

type noParams struct{}

// on makes a method from a function with a struct of parameters.
func on[P any](f func(*view, P) (any, error)) method {
	return func(v *view, raw json.RawMessage) (any, error) {
		var p P
		if raw != nil && json.Unmarshal(raw, &p) != nil {
			// Parameters may also be a list that contains the object.
			if json.Unmarshal(raw, &[1]any{&p}) != nil {
				return nil, errBadParams
			}
		}
		return f(v, p)
	}
}

var (
	errBadParams = errors.New("couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. See documentation for example calls")
	errNotFound  = errors.New("not found")
)

// rpcRequest is a decoded request. Two kinds of errors return it.
type rpcRequest struct {
	Version string          `json:"jsonrpc"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	ID      json.RawMessage `json:"id"`
}

type rpcResult struct {
	Version string          `json:"jsonrpc"`
	Result  any             `json:"result"`
	ID      json.RawMessage `json:"id"`
}

type rpcError struct {
	Version string          `json:"jsonrpc"`
	Error   rpcErrorBody    `json:"error"`
	ID      json.RawMessage `json:"id"`
}

type rpcErrorBody struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

func rpcFailure(id json.RawMessage, code int, message string, data any) rpcError {
	return rpcError{"2.0", rpcErrorBody{code, message, data}, id}
}

// parseRequests parses the calls in a body, even if the service rejects them.
func parseRequests(body []byte) []rpcRequest {
	var batch []rpcRequest
	if json.Unmarshal(body, &batch) == nil {
		return batch
	}
	var one rpcRequest
	if json.Unmarshal(body, &one) != nil || one.Method == "" {
		return nil
	}
	return []rpcRequest{one}
}

// rpc answers a request to a service.
func (v *view) rpc(q *query, s service) reply {
	if q.Method != http.MethodPost {
		return newReply(http.StatusMethodNotAllowed, "text/plain; charset=utf-8", []byte("rpc: POST method required, received "+q.Method))
	}
	if mediaType(q.Request) != "application/json" {
		name, _, _ := strings.Cut(q.Header.Get("Content-Type"), ";")
		return newReply(http.StatusUnsupportedMediaType, "text/plain; charset=utf-8", []byte("rpc: unrecognized Content-Type: "+name))
	}
	body := v.call(q.body, s)
	if body == nil {
		return newReply(http.StatusOK, "", nil)
	}
	return newReply(http.StatusOK, "application/json; charset=utf-8", encode(body))
}

// call returns the body of the answer; nil for a notification.
func (v *view) call(body []byte, s service) any {
	var r rpcRequest
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&r); err != nil {
		text := strings.ReplaceAll(err.Error(), "simnet.rpcRequest", "json2.serverRequest")
		return rpcFailure(nil, -32700, text, rpcRequest{})
	}
	if r.ID == nil || string(r.ID) == "null" {
		return nil
	}
	if r.Version != "2.0" {
		return rpcFailure(r.ID, -32600, "jsonrpc must be 2.0", r)
	}
	result, err := v.dispatch(r, s)
	if err != nil {
		return rpcFailure(r.ID, -32000, err.Error(), nil)
	}
	return rpcResult{"2.0", result, r.ID}
}

func (v *view) dispatch(r rpcRequest, s service) (any, error) {
	name, function, ok := strings.Cut(r.Method, ".")
	if !ok || strings.Contains(function, ".") {
		return nil, fmt.Errorf("rpc: service/method request ill-formed: %q", r.Method)
	}
	first, size := utf8.DecodeRuneInString(function)
	if unicode.IsUpper(first) {
		return nil, errors.New("method must start with a non-uppercase letter")
	}
	exported := name + "." + string(unicode.ToUpper(first)) + function[size:]
	if name != s.name {
		return nil, fmt.Errorf("rpc: can't find service %q", exported)
	}
	m, ok := s.methods[function]
	if !ok {
		return nil, fmt.Errorf("rpc: can't find method %q", exported)
	}
	if string(r.Params) == "null" {
		r.Params = nil
	}
	return m(v, r.Params)
}
