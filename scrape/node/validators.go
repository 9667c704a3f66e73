package node

import (
	"context"
	"slices"

	"github.com/avax-exporter/avax-exporter/scrape"
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

// ValidatorsCurrentValidators calls validators.getCurrentValidators of a subnet's chain for the given node IDs, or for all
// validators. The order is random. The C-Chain does not offer the method. For up to two minutes after a validator was added,
// the whole call fails.
func (c *Client) ValidatorsCurrentValidators(ctx context.Context, chain string, nodeIDs ...string) ([]ChainValidator, error) {
	answer, err := scrape.RPC[struct {
		Validators []ChainValidator `json:"validators"`
	}](ctx, c.u, at(validatorsPath, chain), "validators.getCurrentValidators", struct {
		NodeIDs []string `json:"nodeIDs,omitempty"`
	}{nodeIDs})
	if err == nil {
		err = distinct("validators.getCurrentValidators", slices.Values(answer.Validators), func(v ChainValidator) string { return v.NodeID + v.ValidationID })
	}
	return answer.Validators, err
}
