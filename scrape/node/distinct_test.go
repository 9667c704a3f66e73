package node_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Counts and sums of an answer with duplicates would be wrong.
func TestAnswersWithDuplicatesAreMalformed(t *testing.T) {
	const (
		validator = `{"nodeID":"NodeID-A","weight":"1","startTime":"1","txID":"T"}`
		delegator = `{"txID":"D","nodeID":"NodeID-A","startTime":"1","endTime":"2","weight":"1"}`
		l1Member  = `{"validationID":"V","nodeID":"NodeID-A","weight":1,"startTimestamp":1,"isActive":true,"isL1Validator":true,"isConnected":true,"uptimePercentage":1,"uptimeSeconds":1}`
		peer      = `{"nodeID":"NodeID-A","lastSent":"2026-01-01T00:00:00Z","lastReceived":"2026-01-01T00:00:00Z"}`
		chain     = `{"id":"B","name":"n","subnetID":"s","vmID":"v"}`
	)
	for name, test := range map[string]struct {
		result string // %s: one or two items
		item   string
		ask    func(context.Context, *node.Client) error
	}{
		"validators": {`{"validators":[%s]}`, validator, func(ctx context.Context, c *node.Client) error {
			_, err := c.PlatformCurrentValidators(ctx, "")
			return err
		}},
		"delegators": {`{"validators":[{"delegators":[%s],` + validator[1:] + `]}`, delegator, func(ctx context.Context, c *node.Client) error {
			_, err := c.PlatformCurrentValidators(ctx, "")
			return err
		}},
		"chain validators": {`{"validators":[%s]}`, l1Member, func(ctx context.Context, c *node.Client) error {
			_, err := c.ValidatorsCurrentValidators(ctx, "C")
			return err
		}},
		"peers":       {`{"numPeers":"1","peers":[%s]}`, peer, func(ctx context.Context, c *node.Client) error { _, err := c.Peers(ctx); return err }},
		"blockchains": {`{"blockchains":[%s]}`, chain, func(ctx context.Context, c *node.Client) error { _, err := c.PlatformBlockchains(ctx); return err }},
	} {
		for _, items := range []string{test.item, test.item + "," + test.item} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, fmt.Sprintf(test.result, items))
			}))
			t.Cleanup(server.Close)
			u, err := scrape.New(scrape.Options{Name: "local", URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			err = test.ask(t.Context(), node.New(u))
			switch twice := items != test.item; {
			case !twice && err != nil:
				t.Errorf("%s: %v", name, err)
			case twice && (scrape.OutcomeOf(err) != scrape.Malformed || !strings.Contains(err.Error(), "duplicate")):
				t.Errorf("%s: error %v", name, err)
			}
		}
	}
}
