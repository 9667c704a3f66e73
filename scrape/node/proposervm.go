package node

import (
	"context"
	"errors"
	"strconv"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Epoch is an epoch of a chain. Before the upgrade Granite all fields are zero.
type Epoch struct {
	Number       wire.Uint64   `json:"number"`
	StartTime    wire.UnixTime `json:"startTime"` // time of the block that ended the previous epoch
	PChainHeight wire.Uint64   `json:"pChainHeight"`
}

// ProposerVMCurrentEpoch calls proposervm.getCurrentEpoch of a chain: the epoch of the next block.
func (c *Client) ProposerVMCurrentEpoch(ctx context.Context, chain string) (Epoch, error) {
	return call(ctx, c, getCurrentEpoch, chain, nil)
}

// validatorAt is a validator in the answer of platform.getValidatorsAt.
type validatorAt struct {
	Weight wire.Uint64 `json:"weight"`
}

// PlatformValidatorsAt calls platform.getValidatorsAt: the weights of a subnet's validators at a P-Chain height, by node ID. The
// node ID of twenty zero bytes has the weight of all inactive validators. An unknown height is an error.
func (c *Client) PlatformValidatorsAt(ctx context.Context, height uint64, subnetID string) (map[string]uint64, error) {
	answer, err := call(ctx, c, getValidatorsAt, "", map[string]string{"height": strconv.FormatUint(height, 10), "subnetID": subnetID})
	if err == nil && answer == nil {
		err = &scrape.Error{Op: getValidatorsAt.Name, Outcome: scrape.Malformed, Err: errors.New("the result is null")}
	}
	weights := make(map[string]uint64, len(answer))
	for id, v := range answer {
		weights[id] = uint64(v.Weight)
	}
	return weights, err
}
