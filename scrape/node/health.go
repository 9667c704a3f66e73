package node

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Health is the result of a node's health checks. They run every 30 seconds.
type Health struct {
	Healthy bool                   `json:"healthy"`
	Checks  map[string]HealthCheck `json:"checks"` // by name, such as network, or by alias or ID of the chain
}

// HealthCheck is the last result of one check.
type HealthCheck struct {
	Message   healthMessage `json:"message,omitzero"`   // of a chain, or of the check named diskspace
	Failures  *wire.Uint64  `json:"contiguousFailures"` // absent while healthy
	Error     string        `json:"error,omitzero"`     // empty while healthy; "not yet run" for up to half a minute after the start
	Timestamp wire.PastTime `json:"timestamp"`          // time of the run; year 1 before the first run
}

// Failure returns the error text of a failing check, and an empty text if the check is healthy.
func (c HealthCheck) Failure() string {
	if c.Error == "" && c.Failures != nil && *c.Failures > 0 {
		return "no text"
	}
	return c.Error
}

// healthMessage holds the facts in the message of a check. A message of another form is not an error.
type healthMessage struct {
	consensus
	DiskFreeBytes   *wire.Uint64 // free bytes of the volume that holds the database; nil unless the check is diskspace
	DiskFreePercent *wire.Uint64 // the same in percent of the volume, rounded down
}

// consensus holds the facts about a chain. All are nil unless the check is about a bootstrapped chain.
type consensus struct {
	LastAcceptedHeight     *wire.Uint64     `json:"lastAcceptedHeight"`     // of the newest accepted block; the VM may not have executed it
	ProcessingBlocks       *wire.Uint64     `json:"processingBlocks"`       // blocks in voting
	LongestProcessingBlock *wire.GoDuration `json:"longestProcessingBlock"` // how long the oldest of these blocks has been in voting
}

// UnmarshalJSONFrom reads the next value of d of any type.
func (m *healthMessage) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	var of struct {
		Bytes   *wire.Uint64 `json:"availableDiskBytes"`
		Percent *wire.Uint64 `json:"availableDiskPercentage"`
		Engine  struct {
			Consensus consensus `json:"consensus,omitzero"`
		} `json:"engine,omitzero"`
	}
	if wire.DecodeBytes(text, &of) == nil {
		*m = healthMessage{of.Engine.Consensus, of.Bytes, of.Percent}
	}
	return nil
}

// Health calls GET /ext/health for all checks. The answer of an unhealthy node is not an error. Shortly after its start, a node
// may delay the answer.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return call(ctx, c, getHealth, "", nil)
}
