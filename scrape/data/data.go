// Package data is the typed client of the Data service: a REST API of indexed data of all chains.
//
// Each file holds one group of endpoints. Each method calls one endpoint; its types are in the same file. A list has two
// methods: RewardPage returns one page, Rewards yields the items of all pages (see Paging). Every method returns a
// *scrape.Error if there is no answer. If a parameter is invalid, nothing is sent and the error contains a remedy. Answers
// may be shared (scrape.MaxAge), so callers must not change them.
//
// Some methods, such as AssetTransactions, are not used by any collector. The command call needs these methods: it checks an
// answer with Endpoint.Check before it prints the answer.
//
// The service may add values. Therefore a status, type or kind is a plain string, and constants name the known values.
//
// A key is sent as a header (scrape.Options.Header): KeyHeader or LegacyKeyHeader. Budget limits the cost of calls.
package data

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// The headers for a key. The URL of the service determines which one applies.
const (
	KeyHeader       = "x-service-api-key"
	LegacyKeyHeader = "x-glacier-api-key"
)

// Client is the client of one Data service.
type Client struct {
	u *scrape.Upstream

	mu        sync.Mutex
	reindexed map[nft]time.Time // time of the last Reindex
}

// New returns the client of the service behind u.
func New(u *scrape.Upstream) *Client { return &Client{u: u} }

// Name returns the configured name of the service.
func (c *Client) Name() string { return c.u.Name() }

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
