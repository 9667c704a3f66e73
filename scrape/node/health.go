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

// health asks a resource under /ext/health. While something is wrong a node answers 503, with the same body.
func health(ctx context.Context, c *Client, path string, tags []string) (Health, error) {
	query := url.Values{}
	if len(tags) > 0 {
		query["tag"] = tags
	}
	return scrape.GetEvenAt[Health](ctx, c.u, http.StatusServiceUnavailable, "GET "+path, path, query)
}

// Health is what a node's checks of itself found when they last ran, which they do every 30 seconds.
type Health struct {
	Healthy bool                   `json:"healthy"`
	Checks  map[string]HealthCheck `json:"checks"` // by name, such as network, or by alias or ID of the chain
}

// HealthCheck is the last result of one check.
type HealthCheck struct {
	Message            jsontext.Value // as the check wrote it: a string, an object, a list; nil where it wrote none
	Error              string         // empty while all is well; "not yet run" for up to half a minute after the start
	Timestamp          wire.PastTime  // of the run; in the year 1 before the first
	Duration           *wire.Int64    // nanoseconds
	ContiguousFailures wire.Uint64
	TimeOfFirstFailure *wire.PastTime // of the failures without a success between
	Chain              *ChainHealth   // nil unless the check is a chain's
}

// ChainHealth is what the check of a chain found. A chain that bootstraps has no Consensus facts.
type ChainHealth struct {
	LastAcceptedHeight     *wire.Height
	LastAcceptedID         string
	ProcessingBlocks       *wire.Uint64     // that are voted on
	LongestProcessingBlock *wire.GoDuration // how long the oldest of them has been voted on

	// PercentConnected is the share of the chain's stake that is connected to the node, from 0 to 1, whatever its name.
	// An L1 validator that is inactive counts as disconnected.
	PercentConnected       *wire.Float
	DisconnectedValidators []string // node IDs
}

// UnmarshalWire reads a check, and out of its message what concerns a chain. A message of another shape is no error.
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

// Health asks GET /ext/health: all checks or, with tags, those of the node itself and of the tagged subnets, by subnet ID. An
// unknown tag is no error. A node that is not healthy is an answer and no error. For a moment after its start a node may
// hold the answer back.
func (c *Client) Health(ctx context.Context, tags ...string) (Health, error) {
	return health(ctx, c, "/ext/health", tags)
}
