package node

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// health requests a resource under /ext/health. An unhealthy node answers with status 503 and the same body.
func health(ctx context.Context, c *Client, path string, tags []string) (Health, error) {
	query := url.Values{}
	if len(tags) > 0 {
		query["tag"] = tags
	}
	return scrape.GetEvenAt[Health](ctx, c.u, http.StatusServiceUnavailable, "GET "+path, path, query)
}

// Health is the result of a node's health checks. They run every 30 seconds.
type Health struct {
	Healthy bool                   `json:"healthy"`
	Checks  map[string]HealthCheck `json:"checks"` // by name, such as network, or by alias or ID of the chain
}

// HealthCheck is the last result of one check.
type HealthCheck struct {
	Message            jsontext.Value // of the check, unchanged: a string, an object or a list; nil if there is none
	Error              string         // empty while healthy; "not yet run" for up to half a minute after the start
	Timestamp          wire.PastTime  // time of the run; year 1 before the first run
	Duration           *wire.Int64    // nanoseconds
	ContiguousFailures wire.Uint64
	TimeOfFirstFailure *wire.PastTime // of the current series of failures
	Chain              *ChainHealth   // nil unless the check is about a chain
}

// ChainHealth is the result of the check of a chain. While the chain is bootstrapping, the first four fields are empty.
type ChainHealth struct {
	LastAcceptedHeight     *wire.Height
	LastAcceptedID         string
	ProcessingBlocks       *wire.Uint64     // blocks in voting
	LongestProcessingBlock *wire.GoDuration // how long the oldest of these blocks has been in voting

	// PercentConnected is the share of the chain's stake that is connected to the node: a ratio from 0 to 1, despite its
	// name. An inactive L1 validator counts as disconnected.
	PercentConnected       *wire.Float
	DisconnectedValidators []string // node IDs
}

// UnmarshalWire decodes a check, and the facts about a chain in its message. A message of another form is not an error.
func (h *HealthCheck) UnmarshalWire(d *wire.Decoder) error {
	var check struct {
		Message            jsontext.Value `json:"message,omitzero"`
		Error              string         `json:"error,omitzero"`
		Timestamp          wire.PastTime  `json:"timestamp"`
		Duration           *wire.Int64    `json:"duration"`
		ContiguousFailures wire.Uint64    `json:"contiguousFailures,omitzero"`
		TimeOfFirstFailure *wire.PastTime `json:"timeOfFirstFailure"`
	}
	if err := wire.Decode(d, &check); err != nil {
		return err
	}
	chain, err := chainHealth(d, check.Message)
	*h = HealthCheck{
		Message: check.Message, Error: check.Error, Timestamp: check.Timestamp, Duration: check.Duration,
		ContiguousFailures: check.ContiguousFailures, TimeOfFirstFailure: check.TimeOfFirstFailure,
		Chain: chain,
	}
	return err
}

func chainHealth(d *wire.Decoder, message jsontext.Value) (*ChainHealth, error) {
	if message.Kind() != jsontext.KindBeginObject {
		return nil, nil
	}
	var of struct {
		Engine *struct {
			Consensus *struct {
				LastAcceptedHeight     *wire.Height     `json:"lastAcceptedHeight"`
				LastAcceptedID         string           `json:"lastAcceptedID,omitzero"`
				ProcessingBlocks       *wire.Uint64     `json:"processingBlocks"`
				LongestProcessingBlock *wire.GoDuration `json:"longestProcessingBlock"`
			} `json:"consensus"`
		} `json:"engine"`
		Networking *struct {
			PercentConnected       *wire.Float `json:"percentConnected"`
			DisconnectedValidators []string    `json:"disconnectedValidators,omitzero"`
		} `json:"networking"`
	}
	err := wire.Decode(d.Sub(message), &of)
	if errors.Is(err, wire.ErrMemory) {
		return nil, err
	}
	if err != nil || of.Engine == nil && of.Networking == nil {
		return nil, nil
	}
	chain := &ChainHealth{}
	if of.Engine != nil && of.Engine.Consensus != nil {
		found := of.Engine.Consensus
		chain.LastAcceptedHeight, chain.LastAcceptedID = found.LastAcceptedHeight, found.LastAcceptedID
		chain.ProcessingBlocks, chain.LongestProcessingBlock = found.ProcessingBlocks, found.LongestProcessingBlock
	}
	if of.Networking != nil {
		chain.PercentConnected, chain.DisconnectedValidators = of.Networking.PercentConnected, of.Networking.DisconnectedValidators
	}
	return chain, nil
}

// Health calls GET /ext/health for all checks. Tags are subnet IDs. With tags, Health returns only the checks of the node
// itself and of these subnets. An unknown tag is not an error. The answer of an unhealthy node is not an error either. Shortly
// after its start, a node may delay the answer.
func (c *Client) Health(ctx context.Context, tags ...string) (Health, error) {
	return health(ctx, c, "/ext/health", tags)
}
