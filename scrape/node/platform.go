package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Owner lists the addresses that may spend or decide after Locktime. Threshold is the number of Addresses that must sign.
type Owner struct {
	Locktime  wire.Uint64       `json:"locktime"` // Unix seconds; 0 for none
	Threshold wire.Uint64       `json:"threshold"`
	Addresses wire.List[string] `json:"addresses"`
}

// Validator is a member of the current validator set. It has one of three forms. Its subnet determines which fields are set:
//
//   - primary network: TxID, EndTime, rewards, fee, uptime, delegations; an auto-renewed validator also has NextPeriod;
//   - permissioned subnet: only TxID and EndTime;
//   - L1: ValidationID, owners, Balance; no EndTime.
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
	DelegationFee          *wire.Percent  `json:"delegationFee"`
	Uptime                 *wire.Percent  `json:"uptime"`    // as the answering node observed it; always 100 for the answering node itself
	Connected              *bool          `json:"connected"` // to the answering node
	DelegatorCount         *wire.Uint64   `json:"delegatorCount"`
	DelegatorWeight        *wire.NanoAVAX `json:"delegatorWeight"`
	Delegators             []Delegation   `json:"delegators,omitzero"` // only if the call names one node ID

	ValidationRewardOwner *Owner `json:"validationRewardOwner"`
	DelegationRewardOwner *Owner `json:"delegationRewardOwner"`

	NextPeriod               *wire.Seconds `json:"nextPeriod"`
	AutoCompoundRewardShares *wire.Uint64  `json:"autoCompoundRewardShares"` // in millionths
	ValidatorAuthority       *Owner        `json:"validatorAuthority"`       // may change the two above

	// Rewards that an auto-renewed validator has staked again. AvalancheGo 1.15.0 does not report them.
	RestakedValidationRewards *wire.NanoAVAX `json:"restakedValidationRewards"`
	RestakedDelegateeRewards  *wire.NanoAVAX `json:"restakedDelegateeRewards"`

	ValidationID          string         `json:"validationID,omitzero"` // empty except on an L1
	RemainingBalanceOwner *Owner         `json:"remainingBalanceOwner"`
	DeactivationOwner     *Owner         `json:"deactivationOwner"`
	Balance               *wire.NanoAVAX `json:"balance"` // 0: inactive; changes only when the P-Chain accepts a block
}

// Delegation is stake that an address delegated to a validator of the primary network.
type Delegation struct {
	TxID            string        `json:"txID"`
	EndTime         wire.UnixTime `json:"endTime"`
	Weight          wire.NanoAVAX `json:"weight"`
	RewardOwner     Owner         `json:"rewardOwner"`
	PotentialReward wire.NanoAVAX `json:"potentialReward"` // before the validator's fee
}

func (v Validator) id() string { return v.NodeID + v.TxID + v.ValidationID }

// incomplete returns an error if the entry lacks a field of its form.
func (v Validator) incomplete() error {
	primary := map[string]bool{
		"potentialReward": v.PotentialReward != nil, "accruedDelegateeReward": v.AccruedDelegateeReward != nil, "delegationFee": v.DelegationFee != nil,
		"uptime": v.Uptime != nil, "connected": v.Connected != nil, "delegatorCount": v.DelegatorCount != nil, "delegatorWeight": v.DelegatorWeight != nil,
		"validationRewardOwner": v.ValidationRewardOwner != nil, "delegationRewardOwner": v.DelegationRewardOwner != nil,
	}
	l1 := map[string]bool{
		"validationID": v.ValidationID != "", "balance": v.Balance != nil, "remainingBalanceOwner": v.RemainingBalanceOwner != nil,
		"deactivationOwner": v.DeactivationOwner != nil,
	}
	for _, form := range []map[string]bool{primary, l1} {
		var missing []string
		for name, has := range form {
			if !has {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 && len(missing) < len(form) {
			slices.Sort(missing)
			return fmt.Errorf("%s of validator %s is missing", strings.Join(missing, ", "), v.NodeID)
		}
	}
	if (v.TxID == "") != (v.EndTime == nil) {
		return fmt.Errorf("txID or endTime of validator %s is missing", v.NodeID)
	}
	return nil
}

// PlatformCurrentValidators calls platform.getCurrentValidators for the given node IDs, or all validators, in random order.
// An empty subnetID means the primary network. An unknown subnet has an empty set.
func (c *Client) PlatformCurrentValidators(ctx context.Context, subnetID string, nodeIDs ...string) ([]Validator, error) {
	return call(ctx, c, getCurrentValidators, "", validatorQuery{subnetID, nodeIDs})
}

type validatorQuery struct {
	SubnetID string   `json:"subnetID,omitempty"`
	NodeIDs  []string `json:"nodeIDs,omitempty"`
}

// Subnet is a subnet's owner, and the contract that manages the validators if the subnet is an L1.
type Subnet struct {
	ControlKeys    wire.List[string] `json:"controlKeys"` // addresses such as P-avax1…
	Threshold      wire.Uint64       `json:"threshold"`   // number of ControlKeys that must sign
	ConversionID   string            `json:"conversionID"`
	ManagerChainID string            `json:"managerChainID"`
	ManagerAddress *string           `json:"managerAddress"` // lower case; nil before the conversion to an L1
}

// IsL1 reports whether the subnet was converted to an L1.
func (s Subnet) IsL1() bool { return s.ConversionID != PrimaryNetworkID }

// PlatformSubnet calls platform.getSubnet. An unknown subnet is an error.
func (c *Client) PlatformSubnet(ctx context.Context, subnetID string) (Subnet, error) {
	return call(ctx, c, getSubnet, "", validatorQuery{SubnetID: subnetID})
}

// Blockchain is a chain that was created on the P-Chain.
type Blockchain struct {
	ID       string `json:"id"`
	Name     string `json:"name"` // set by its creator; not unique and no alias
	SubnetID string `json:"subnetID"`
	VMID     string `json:"vmID"`
}

func (b Blockchain) id() string { return b.ID }

// PlatformBlockchains calls platform.getBlockchains: all chains but the P-Chain itself, in random order. It is deprecated
// since node version 1.9.12, and a release may remove it: see IsNotOffered.
func (c *Client) PlatformBlockchains(ctx context.Context) ([]Blockchain, error) {
	return call(ctx, c, getBlockchains, "", nil)
}

// createChainTx is a transaction. Only one that created a chain has these members.
type createChainTx struct {
	Tx struct {
		UnsignedTx struct {
			SubnetID       string `json:"subnetID,omitzero"`
			ChainName      string `json:"chainName,omitzero"`
			BlockchainName string `json:"blockchainName,omitzero"` // of a later release
			VMID           string `json:"vmID,omitzero"`
		} `json:"unsignedTx"`
	} `json:"tx"`
}

// PlatformBlockchain returns the chain with this ID, and whether there is one. It calls platform.getBlockchains. If the node does not serve that
// deprecated method, it calls platform.getTx for the transaction that created the chain, which has the ID of the chain.
func (c *Client) PlatformBlockchain(ctx context.Context, id string) (b Blockchain, exists bool, err error) {
	all, err := c.PlatformBlockchains(ctx)
	if err == nil {
		i := slices.IndexFunc(all, func(b Blockchain) bool { return b.ID == id })
		if i < 0 {
			return b, false, nil
		}
		return all[i], true, nil
	}
	if !IsNotServed(err) {
		return b, false, err
	}
	answer, txErr := call(ctx, c, getPlatformTx, "", map[string]string{"txID": id, "encoding": "json"})
	switch made := answer.Tx.UnsignedTx; {
	case scrape.OutcomeOf(txErr) == scrape.Rejected: // no such transaction, or not an ID
		return b, false, nil
	case IsNotServed(txErr):
		return b, false, err
	case txErr != nil:
		return b, false, txErr
	case made.SubnetID == "" || made.VMID == "": // another transaction
		return b, false, nil
	default:
		return Blockchain{ID: id, Name: cmp.Or(made.ChainName, made.BlockchainName), SubnetID: made.SubnetID, VMID: made.VMID}, true, nil
	}
}

// PlatformBlockchainStatus calls platform.getBlockchainStatus for a chain by alias or ID: Validating, Created, Preferred,
// Syncing or Unknown. Created means that the chain is not tracked or that its VM failed.
func (c *Client) PlatformBlockchainStatus(ctx context.Context, blockchainID string) (string, error) {
	return call(ctx, c, getBlockchainStatus, "", map[string]string{"blockchainID": blockchainID})
}

// PlatformTimestamp calls platform.getTimestamp: the time of the P-Chain.
func (c *Client) PlatformTimestamp(ctx context.Context) (time.Time, error) {
	at, err := call(ctx, c, getTimestamp, "", nil)
	return at.Time, err
}

// PlatformHeight calls platform.getHeight: the height of the last accepted block.
func (c *Client) PlatformHeight(ctx context.Context) (uint64, error) {
	height, err := call(ctx, c, getPlatformHeight, "", nil)
	return uint64(height), err
}

// ValidatorFeeState is the fee of an L1 validator at the P-Chain's time Timestamp.
type ValidatorFeeState struct {
	Excess    wire.Uint64   `json:"excess"`
	Price     wire.NanoAVAX `json:"price"` // per second and validator
	Timestamp wire.PastTime `json:"timestamp"`
}

// PlatformValidatorFeeState calls platform.getValidatorFeeState, which is not documented: see IsNotOffered.
func (c *Client) PlatformValidatorFeeState(ctx context.Context) (ValidatorFeeState, error) {
	return call(ctx, c, getValidatorFeeState, "", nil)
}

// PlatformBalance is the total balance of addresses in AVAX.
type PlatformBalance struct {
	Unlocked           wire.NanoAVAX `json:"unlocked"`
	LockedStakeable    wire.NanoAVAX `json:"lockedStakeable"`    // can be staked, but not spent
	LockedNotStakeable wire.NanoAVAX `json:"lockedNotStakeable"` // can be neither staked nor spent
	UTXOs              wire.Count    `json:"utxoIDs"`
}

// PlatformBalance calls platform.getBalance for an address such as P-avax1…. If the node does not serve that deprecated method, it adds up the
// unspent outputs of the address.
func (c *Client) PlatformBalance(ctx context.Context, address string) (PlatformBalance, error) {
	answer, err := call(ctx, c, getPlatformBalance, "", map[string][]string{"addresses": {address}})
	if !IsNotServed(err) {
		return answer, err
	}
	avax, assetErr := call(scrape.MaxAge(ctx, 10*time.Minute), c, getStakingAssetID, "", nil)
	if IsNotServed(assetErr) {
		return answer, err
	} else if assetErr != nil {
		return answer, assetErr
	}
	all, listErr := c.unspent(ctx, getPlatformUTXOs, "", address)
	if IsNotServed(listErr) {
		return answer, err
	} else if listErr != nil {
		return answer, listErr
	}
	var unlocked, stakeable, notStakeable wire.NanoAVAX
	now := uint64(time.Now().Unix())
	for _, o := range all {
		switch {
		case o.asset != avax:
		case o.locktime > now:
			notStakeable += wire.NanoAVAX(o.amount)
		case o.stakeableUntil > now:
			stakeable += wire.NanoAVAX(o.amount)
		default:
			unlocked += wire.NanoAVAX(o.amount)
		}
	}
	return PlatformBalance{unlocked, stakeable, notStakeable, wire.Count(len(all))}, nil
}

// RewardUTXO is an output that paid a reward. One transaction can pay several.
type RewardUTXO struct {
	Amount uint64 // nAVAX
}

// UnmarshalJSON decodes an output.
func (u *RewardUTXO) UnmarshalJSON(text []byte) error {
	o, err := parseOutput(strings.Trim(string(text), `"`))
	if err == nil && !o.transfer {
		err = errors.New("not an amount")
	}
	if err != nil {
		return fmt.Errorf("reward output: %w", err)
	}
	u.Amount = o.amount
	return nil
}

// PlatformRewardUTXOs calls platform.getRewardUTXOs: the outputs that paid the rewards of a period. The transaction is the one that
// staked, or for an auto-renewed validator the one that paid. The list is empty if nothing was paid, and for an unknown transaction.
func (c *Client) PlatformRewardUTXOs(ctx context.Context, txID string) ([]RewardUTXO, error) {
	return call(ctx, c, getRewardUTXOs, "", map[string]string{"txID": txID, "encoding": "hex"})
}

// Supply is an upper bound on the existing amount of a subnet's staking token. Burned tokens, including fees, are not
// subtracted.
type Supply struct {
	Supply wire.Uint64 `json:"supply"` // nAVAX on the primary network
}

// PlatformCurrentSupply calls platform.getCurrentSupply. An empty subnetID means the primary network. A subnet without a
// staking token of its own, such as an L1, is an error.
func (c *Client) PlatformCurrentSupply(ctx context.Context, subnetID string) (Supply, error) {
	return call(ctx, c, getCurrentSupply, "", validatorQuery{SubnetID: subnetID})
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
	return call(ctx, c, getFeeState, "", nil)
}
