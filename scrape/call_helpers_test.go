package scrape_test

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// declared holds the methods of the tests, because an answer belongs to its method.
var declared sync.Map

type declaredKey struct {
	name, verb, path, changes string
	status                    int
	empty                     bool
	limit                     int64
	answer                    reflect.Type
}

func method[T any](m scrape.Method) scrape.Typed[T] {
	var table []*scrape.Method
	key := declaredKey{m.Name, m.Verb, m.Path, m.Changes, m.AnswerStatus, m.MayBeEmpty, m.MaxBody, reflect.TypeFor[T]()}
	known, _ := declared.LoadOrStore(key, scrape.Declare[T](&table, m))
	return known.(scrape.Typed[T])
}

// rpc calls a JSON-RPC method that only reads.
func rpc[T any](ctx context.Context, u *scrape.Upstream, path, name string, params any) (T, error) {
	return method[T](scrape.Method{Name: name}).Call(ctx, u, path, params)
}

// rpcOnce calls a JSON-RPC method that changes something.
func rpcOnce[T any](ctx context.Context, u *scrape.Upstream, path, name string, params any) (T, error) {
	return method[T](scrape.Method{Name: name, Changes: "change something"}).Call(ctx, u, path, params)
}

// get requests a REST resource. Op is such as GET /v1/things/{id}.
func get[T any](ctx context.Context, u *scrape.Upstream, op, path string, query url.Values) (T, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return method[T](scrape.Method{Verb: http.MethodGet, Path: strings.TrimPrefix(op, "GET ")}).Call(ctx, u, path, nil)
}

// post sends a body to a REST resource. Op is such as POST /v1/things.
func post[T any](ctx context.Context, u *scrape.Upstream, op, path string, body any) (T, error) {
	return method[T](scrape.Method{Verb: http.MethodPost, Path: strings.TrimPrefix(op, "POST "), Changes: "change something",
		MayBeEmpty: reflect.TypeFor[T]().Kind() == reflect.Pointer}).Call(ctx, u, path, body)
}
