package scrape

import (
	"context"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
)

// Post calls a REST resource that may change the upstream. The request is sent at most once, and its answer is never shared.
// Op and path are as for Get. A body is sent as JSON; nil sends none. Any 2xx status counts as an answer. An empty answer
// is malformed unless T can be nil.
func Post[T any](ctx context.Context, u *Upstream, op, path string, body any) (T, error) {
	content := []byte{}
	if body != nil {
		var err error
		if content, err = json.Marshal(body, json.Deterministic(true)); err != nil {
			var none T
			return none, &Error{op, Malformed, fmt.Errorf("body: %w", err)}
		}
	}
	answer := reflect.TypeFor[T]()
	return as[T](u.do(ctx, call{op: op, path: path, body: content, once: true, bare: nillable(answer), answer: answer, decode: decodeREST}))
}
