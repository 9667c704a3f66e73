package node

import (
	"context"
	"slices"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// ChainValidator is a validator of a subnet's chain in the eyes of the answering node. Each node has its own opinion,
// and of itself always the best.
type ChainValidator struct {
	ValidationID     string        `json:"validationID"` // on a permissioned subnet the ID of the transaction that added it
	NodeID           string        `json:"nodeID"`
	Weight           wire.Uint64   `json:"weight"`
	StartTimestamp   wire.UnixTime `json:"startTimestamp"`
	IsActive         bool          `json:"isActive"` // false once an L1 validator's balance is used up; its weight stays
	IsL1Validator    bool          `json:"isL1Validator"`
	IsConnected      bool          `json:"isConnected"` // also false for an inactive validator whose node is up
	UptimePercentage wire.Percent  `json:"uptimePercentage"`
	UptimeSeconds    wire.Seconds  `json:"uptimeSeconds"`
}

// ValidatorsCurrentValidators asks validators.getCurrentValidators of a subnet's chain: those of the given node IDs that
// are in the set, or all, in random order. Not offered on the C-Chain. For up to two minutes after a validator was added
// it fails as a whole.
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
