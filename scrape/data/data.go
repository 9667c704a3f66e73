// Package data is the typed client of the data service: REST, and what it has indexed of all chains.
//
// One file holds one group of endpoints, one method one endpoint, its types beside it. A list has two methods: RewardPage
// asks one page, Rewards walks through them (see Paging). Every method returns a *scrape.Error where it has no answer.
// What the interface does not allow is refused with the outcome rejected, in words that say what to write, and nothing
// is sent. Answers may be shared under scrape.MaxAge and must not be changed.
//
// What no collector reads, such as AssetUTXO…, is there for the command call, which checks an answer with Endpoint.Check
// before it prints it.
//
// The service may grow: a status, type or kind is a plain string, of which the constants name the known ones.
//
// Who has a key sends it as a header (scrape.Options.Header): KeyHeader or LegacyKeyHeader. What calls cost, and how not
// to spend more than there is, says Budget.
package data

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// The headers that a key is sent in; which one depends on the address of the service.
const (
	KeyHeader       = "x-service-api-key"
	LegacyKeyHeader = "x-glacier-api-key"
)

// Client asks one data service.
type Client struct {
	u *scrape.Upstream

	mu        sync.Mutex
	reindexed map[nft]time.Time // when Reindex asked
}

// New asks the service behind u.
func New(u *scrape.Upstream) *Client { return &Client{u: u} }

// Name is the configured name of the service.
func (c *Client) Name() string { return c.u.Name() }

// IsKeyRejected tells whether the service does not accept the key, or wants one. The service is up; asking again does not
// help.
func IsKeyRejected(err error) bool {
	return scrape.OutcomeOf(err) == scrape.Forbidden || err != nil && strings.Contains(strings.ToLower(err.Error()), "api key is invalid")
}

const (
	keyRejected = "the key is not accepted"
	keyMissing  = "a key is needed and none is sent"
)

// Explain gives the refusal of a key, or of requests without one, its outcome and its words.
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
