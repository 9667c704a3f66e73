package node

import (
	"context"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

func platform[T any](ctx context.Context, c *Client, method string, params any) (T, error) {
	return scrape.RPC[T](ctx, c.u, platformPath, method, params)
}

// Owner lists the addresses that may spend or decide after Locktime. Threshold is the number of Addresses that must sign.
type Owner struct {
	Locktime  wire.Uint64 `json:"locktime"` // Unix seconds; 0 for none
	Threshold wire.Uint64 `json:"threshold"`
	Addresses []string    `json:"addresses"`
}

// Validator is a member of the current validator set. It has one of three forms. Its subnet determines which fields are set:
//
//   - primary network: TxID, EndTime, rewards, fee, uptime, delegations; an auto-renewed validator also has NextPeriod;
//   - permissioned subnet: only TxID and EndTime;
//   - L1: ValidationID, PublicKey, owners, MinNonce, Balance; no EndTime.
//
// The list of an L1 that was a permissioned subnet may contain validators of the last two forms.
type Validator struct {
	NodeID    string         `json:"nodeID"`
	Weight    wire.Uint64    `json:"weight"` // nAVAX on the primary network, elsewhere in the subnet's own unit
	StartTime wire.UnixTime  `json:"startTime"`
	EndTime   *wire.UnixTime `json:"endTime"`       // moves with each period of an auto-renewed validator
	TxID      string         `json:"txID,omitzero"` // empty on an L1

	PotentialReward        *wire.NanoAVAX `json:"potentialReward"`
	AccruedDelegateeReward *wire.NanoAVAX `json:"accruedDelegateeReward"`
	ValidationRewardOwner  *Owner         `json:"validationRewardOwner"`
	DelegationRewardOwner  *Owner         `json:"delegationRewardOwner"`
	DelegationFee          *wire.Percent  `json:"delegationFee"`
	Uptime                 *wire.Percent  `json:"uptime"`    // as the answering node observed it; always 100 for the answering node itself
	Connected              *bool          `json:"connected"` // to the answering node
	Signer                 *Signer        `json:"signer"`
	DelegatorCount         *wire.Uint64   `json:"delegatorCount"`
	DelegatorWeight        *wire.NanoAVAX `json:"delegatorWeight"`
	Delegators             []Delegator    `json:"delegators,omitzero"` // nil unless the call had exactly one node ID

	NextPeriod               *wire.Seconds `json:"nextPeriod"`
	AutoCompoundRewardShares *wire.Uint64  `json:"autoCompoundRewardShares"` // in millionths
	ValidatorAuthority       *Owner        `json:"validatorAuthority"`

	ValidationID          string         `json:"validationID,omitzero"` // empty except on an L1
	PublicKey             string         `json:"publicKey,omitzero"`    // BLS, hex after 0x
	RemainingBalanceOwner *Owner         `json:"remainingBalanceOwner"`
	DeactivationOwner     *Owner         `json:"deactivationOwner"`
	MinNonce              *wire.Uint64   `json:"minNonce"`
	Balance               *wire.NanoAVAX `json:"balance"` // 0: inactive; changes only when the P-Chain accepts a block
}

// Delegator is a delegation to a validator.
type Delegator struct {
	TxID            string         `json:"txID"`
	NodeID          string         `json:"nodeID"`
	StartTime       wire.UnixTime  `json:"startTime"`
	EndTime         wire.UnixTime  `json:"endTime"`
	Weight          wire.NanoAVAX  `json:"weight"`
	PotentialReward *wire.NanoAVAX `json:"potentialReward"`
	RewardOwner     *Owner         `json:"rewardOwner"`
}

// PlatformCurrentValidators calls platform.getCurrentValidators for the given node IDs, or all validators, in random order.
// An empty subnetID means the primary network. An unknown subnet has an empty set.
func (c *Client) PlatformCurrentValidators(ctx context.Context, subnetID string, nodeIDs ...string) ([]Validator, error) {
	answer, err := platform[struct {
		Validators []Validator `json:"validators"`
	}](ctx, c, "platform.getCurrentValidators", struct {
		SubnetID string   `json:"subnetID,omitempty"`
		NodeIDs  []string `json:"nodeIDs,omitempty"`
	}{subnetID, nodeIDs})
	if err != nil {
		return nil, err
	}
	const op = "platform.getCurrentValidators"
	if err := distinct(op, slices.Values(answer.Validators), func(v Validator) string { return v.NodeID + v.TxID + v.ValidationID }); err != nil {
		return nil, err
	}
	for _, v := range answer.Validators {
		if err := distinct(op, slices.Values(v.Delegators), func(d Delegator) string { return d.TxID }); err != nil {
			return nil, err
		}
	}
	return answer.Validators, nil
}

// Blockchain is a chain that was created on the P-Chain.
type Blockchain struct {
	ID       string `json:"id"`
	Name     string `json:"name"` // set by its creator; not unique and no alias
	SubnetID string `json:"subnetID"`
	VMID     string `json:"vmID"`
}

// PlatformBlockchains calls platform.getBlockchains: all chains but the P-Chain itself, in random order. It is deprecated
// since node version 1.9.12, and a release may remove it: see IsNotOffered.
func (c *Client) PlatformBlockchains(ctx context.Context) ([]Blockchain, error) {
	answer, err := platform[struct {
		Blockchains []Blockchain `json:"blockchains"`
	}](ctx, c, "platform.getBlockchains", nil)
	if err == nil {
		err = distinct("platform.getBlockchains", slices.Values(answer.Blockchains), func(b Blockchain) string { return b.ID })
	}
	return answer.Blockchains, err
}

// PlatformBlockchainStatus calls platform.getBlockchainStatus for a chain by alias or ID: Validating, Created, Preferred,
// Syncing or Unknown. Created means that the chain is not tracked or that its VM failed.
func (c *Client) PlatformBlockchainStatus(ctx context.Context, blockchainID string) (string, error) {
	answer, err := platform[struct {
		Status string `json:"status"`
	}](ctx, c, "platform.getBlockchainStatus", map[string]string{"blockchainID": blockchainID})
	return answer.Status, err
}

// PlatformTimestamp calls platform.getTimestamp: the time of the P-Chain.
func (c *Client) PlatformTimestamp(ctx context.Context) (time.Time, error) {
	answer, err := platform[struct {
		Timestamp wire.PastTime `json:"timestamp"`
	}](ctx, c, "platform.getTimestamp", nil)
	return answer.Timestamp.Time, err
}

// PlatformHeight calls platform.getHeight: the height of the last accepted block.
func (c *Client) PlatformHeight(ctx context.Context) (uint64, error) {
	answer, err := platform[struct {
		Height wire.Height `json:"height"`
	}](ctx, c, "platform.getHeight", nil)
	return uint64(answer.Height), err
}

// ValidatorFeeState is the fee of an L1 validator at the P-Chain's time Timestamp.
type ValidatorFeeState struct {
	Excess    wire.Uint64   `json:"excess"`
	Price     wire.NanoAVAX `json:"price"` // per second and validator
	Timestamp wire.PastTime `json:"timestamp"`
}

// PlatformValidatorFeeState calls platform.getValidatorFeeState, which is not documented: see IsNotOffered.
func (c *Client) PlatformValidatorFeeState(ctx context.Context) (ValidatorFeeState, error) {
	return platform[ValidatorFeeState](ctx, c, "platform.getValidatorFeeState", nil)
}

// PlatformBalance is the total balance of addresses, by asset ID, in the asset's smallest unit.
type PlatformBalance struct {
	Balances            map[string]wire.Uint64 `json:"balances"`
	Unlockeds           map[string]wire.Uint64 `json:"unlockeds"`
	LockedStakeables    map[string]wire.Uint64 `json:"lockedStakeables"`    // can be staked, but not spent
	LockedNotStakeables map[string]wire.Uint64 `json:"lockedNotStakeables"` // can be neither staked nor spent
	UTXOIDs             []UTXOID               `json:"utxoIDs"`

	// The same for AVAX only. These fields are older than the support for other assets.
	Balance            *wire.NanoAVAX `json:"balance"`
	Unlocked           *wire.NanoAVAX `json:"unlocked"`
	LockedStakeable    *wire.NanoAVAX `json:"lockedStakeable"`
	LockedNotStakeable *wire.NanoAVAX `json:"lockedNotStakeable"`
}

// PlatformBalance calls platform.getBalance for addresses such as P-avax1…, at least one.
//
// Deprecated: since node version 1.9.12. A release may remove it: see IsNotOffered.
func (c *Client) PlatformBalance(ctx context.Context, addresses ...string) (PlatformBalance, error) {
	return platform[PlatformBalance](ctx, c, "platform.getBalance", map[string][]string{"addresses": addresses})
}

// PlatformBlock calls platform.getBlock for a block ID. An unknown block is an error. An empty encoding means Hex.
func (c *Client) PlatformBlock(ctx context.Context, blockID string, as Encoding) (Encoded[Block], error) {
	return platform[Encoded[Block]](ctx, c, "platform.getBlock", blockByID{blockID, as})
}

// PlatformBlockByHeight calls platform.getBlockByHeight. An unknown block is an error. An empty encoding means Hex.
func (c *Client) PlatformBlockByHeight(ctx context.Context, height uint64, as Encoding) (Encoded[Block], error) {
	return platform[Encoded[Block]](ctx, c, "platform.getBlockByHeight", struct {
		Height   uint64   `json:"height"`
		Encoding Encoding `json:"encoding,omitempty"`
	}{height, as})
}

// Supply is an upper bound on the existing amount of a subnet's staking token. Burned tokens, including fees, are not
// subtracted.
type Supply struct {
	Supply wire.Uint64  `json:"supply"` // nAVAX on the primary network
	Height *wire.Height `json:"height"` // of the P-Chain
}

// PlatformCurrentSupply calls platform.getCurrentSupply. An empty subnetID means the primary network. A subnet without a
// staking token of its own, such as an L1, is an error.
func (c *Client) PlatformCurrentSupply(ctx context.Context, subnetID string) (Supply, error) {
	return platform[Supply](ctx, c, "platform.getCurrentSupply", struct {
		SubnetID string `json:"subnetID,omitempty"`
	}{subnetID})
}

// FeeState is the fee of a P-Chain transaction at the P-Chain's time Timestamp.
type FeeState struct {
	Capacity  wire.Uint64   `json:"capacity"` // gas that may be used now
	Excess    wire.Uint64   `json:"excess"`   // gas used above the target; it sets the price
	Price     wire.NanoAVAX `json:"price"`    // per unit of gas
	Timestamp wire.PastTime `json:"timestamp"`
}

// PlatformFeeState calls platform.getFeeState, which is not documented: see IsNotOffered.
func (c *Client) PlatformFeeState(ctx context.Context) (FeeState, error) {
	return platform[FeeState](ctx, c, "platform.getFeeState", nil)
}
