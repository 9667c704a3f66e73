package node

import (
	"context"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// ChainValidator is a validator of a subnet's chain as the answering node observes it. Nodes observe different values. About
// itself, a node always reports the best possible values.
type ChainValidator struct {
	ValidationID     string        `json:"validationID"` // on a permissioned subnet: ID of the transaction that added the validator
	NodeID           string        `json:"nodeID"`
	Weight           wire.Uint64   `json:"weight"`
	StartTimestamp   wire.UnixTime `json:"startTimestamp"`
	IsActive         bool          `json:"isActive"` // false once an L1 validator's balance is 0; its weight stays
	IsL1Validator    bool          `json:"isL1Validator"`
	IsConnected      bool          `json:"isConnected"` // false for an inactive validator, even if its node is up
	UptimePercentage wire.Percent  `json:"uptimePercentage"`
	UptimeSeconds    wire.Seconds  `json:"uptimeSeconds"`
}

func (v ChainValidator) id() string { return v.NodeID + v.ValidationID }

// ValidatorsCurrentValidators calls validators.getCurrentValidators of a subnet's chain, for all validators in random order.
// The C-Chain does not offer the method. For up to two minutes after a validator was added, the whole call fails.
func (c *Client) ValidatorsCurrentValidators(ctx context.Context, chain string) ([]ChainValidator, error) {
	return call(ctx, c, getChainValidators, chain, map[string]string{})
}
