// Package data is the typed client of the Data service: a REST API of indexed data of all chains.
//
// Each file holds one group of endpoints. Each method is one endpoint, with its types in the same file. A list has two
// methods: RewardPage returns one page, Rewards yields the items of all pages (see Paging). Every method returns a
// *scrape.Error if there is no answer. Invalid parameters are rejected with a remedy before anything is sent. Answers may
// be shared under scrape.MaxAge and must not be changed.
//
// The methods that no collector uses, such as AssetUTXO…, serve the command call. It checks an answer with Endpoint.Check
// before it prints it.
//
// The service may add values: a status, type or kind is a plain string, and the constants name the known ones.
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

// The headers for a key. The address of the service decides which one applies.
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

// IsKeyRejected reports whether the service rejects the key, or requires one. The service is up; a retry does not help.
func IsKeyRejected(err error) bool {
	return scrape.OutcomeOf(err) == scrape.Forbidden || err != nil && strings.Contains(strings.ToLower(err.Error()), "api key is invalid")
}

const (
	keyRejected = "the key is not accepted"
	keyMissing  = "a key is needed and none is sent"
)

// Explain adds the outcome and a remedy to the rejection of a key, or of requests without one.
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
