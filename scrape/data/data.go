// Package data is the typed client of the Data service: a REST API of indexed data of all chains.
//
// The table in methods.go declares all methods. Each Go method in calls.go calls one of them, and its types hold the fields that
// collectors use. A Go method with an iterator requests page after page (see Paging). Every Go method returns a *scrape.Error if
// there is no answer. If a parameter is invalid, nothing is sent and the error contains a remedy. Answers may be shared
// (scrape.MaxAge), so callers must not change them.
//
// The service may add values. Therefore a status, type or kind is a plain string, and constants name the known values.
//
// A key is sent as a header (scrape.Options.Header), KeyHeader. Budget limits the cost of calls.
package data

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// KeyHeader is the header for a key.
const KeyHeader = "x-service-api-key"

// Client is the client of one Data service.
type Client struct{ u *scrape.Upstream }

// New returns the client of the service behind u.
func New(u *scrape.Upstream) *Client { return &Client{u} }

// IsKeyRejected reports whether the service rejected the key, or rejected a request without a key. A retry does not help.
func IsKeyRejected(err error) bool {
	return scrape.OutcomeOf(err) == scrape.Forbidden || err != nil && strings.Contains(strings.ToLower(err.Error()), "api key is invalid")
}

const (
	keyRejected = "the service rejects the key"
	keyMissing  = "the service requires a key, and none is configured"
)

// Explain adds a message and sets the outcome forbidden if the service rejected the key (IsKeyRejected). It returns other
// errors unchanged.
func (c *Client) Explain(err error) error {
	var e *scrape.Error
	if !IsKeyRejected(err) || !errors.As(err, &e) {
		return err
	}
	words := keyRejected
	if !c.u.HasCredentials() {
		words = keyMissing
	}
	return &scrape.Error{Op: e.Op, Outcome: scrape.Forbidden, Err: fmt.Errorf("%s: %w", words, e.Err)}
}

// Call calls a method and returns the answer as JSON, unchanged, or nil if the answer is empty. An answer that the typed client
// cannot decode is malformed. Request makes the path and the body.
func (c *Client) Call(ctx context.Context, m *scrape.Method, path string, body any) (jsontext.Value, error) {
	answer, err := m.Raw(ctx, c.u, path, body)
	return answer, c.Explain(err)
}

// RepeatAfter is scrape.Options.RepeatAfter of the service. The service indexes neither every chain nor everything of a chain. The
// first time is short, because the service may be starting, or may index the chain soon. Blocks other than the first, transactions
// and messages are different: the service does not know them yet.
func RepeatAfter(path string, err error, answered bool) time.Duration {
	var e *scrape.Error
	switch {
	case answered || !errors.As(err, &e) || e.Outcome != scrape.NotFound:
		return 0
	case e.Op == GetBlock.Op() && !strings.HasSuffix(path, "/blocks/0"), e.Op == GetAggregatedSignatures.Op(), e.Op == GetICMMessage.Op():
		return 0
	}
	return time.Minute
}
