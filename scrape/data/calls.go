package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Block is a block of an EVM chain.
type Block struct {
	ChainID                string        `json:"chainId,omitzero"`
	BlockNumber            wire.Height   `json:"blockNumber"`
	BlockHash              string        `json:"blockHash"`
	BlockTimestamp         wire.UnixTime `json:"blockTimestamp"`
	FeesSpent              wire.BigInt   `json:"feesSpent"`              // in wei
	CumulativeTransactions wire.Uint64   `json:"cumulativeTransactions"` // of the chain, up to this block
}

// Block requests a block by number or hash. If the service does not know the block, or has not indexed it yet, the error has
// the outcome not_found.
func (c *Client) Block(ctx context.Context, chainID, id string) (Block, error) {
	return get(ctx, c, GetBlock, Args{"chainId": chainID, "blockId": id})
}

// Money is an amount in a currency.
type Money struct {
	CurrencyCode string     `json:"currencyCode"` // lower case, such as usd
	Value        wire.Float `json:"value"`
}

// In returns the amount. It returns an error if the service answered in another currency than requested, or if the amount cannot be one. An empty
// currency means USD.
func (m Money) In(currency string) (float64, error) {
	const most = 1e15 // more than all AVAX in any currency
	switch asked := cmp.Or(currency, USD); {
	case !strings.EqualFold(m.CurrencyCode, asked):
		return 0, fmt.Errorf("requested in %s, but the answer is in %s", asked, quote(m.CurrencyCode))
	case !(m.Value >= 0 && m.Value <= most):
		return 0, fmt.Errorf("%v %s is no price", float64(m.Value), asked)
	}
	return float64(m.Value), nil
}

// NativeTokenBalance is the balance of an address in its chain's native token.
type NativeTokenBalance struct {
	ChainID      string        `json:"chainId"`
	Symbol       string        `json:"symbol"`
	Decimals     wire.Decimals `json:"decimals"`
	Balance      wire.BigInt   `json:"balance"`      // in wei
	BalanceValue *Money        `json:"balanceValue"` // of the balance; nil if unknown
}

// Tokens returns the balance in whole tokens, to the nearest float64.
func (b NativeTokenBalance) Tokens() float64 { return b.Balance.Tokens(b.Decimals) }

// NativeBalance requests a balance and its value in a currency. An empty currency means USD.
func (c *Client) NativeBalance(ctx context.Context, chainID, address, currency string) (NativeTokenBalance, error) {
	return get(ctx, c, GetNativeBalance, Args{"chainId": chainID, "address": address, "currency": currency})
}

// The types of tokens.
const (
	ERC721  = "ERC-721"
	ERC1155 = "ERC-1155"
)

// Collectible is an NFT (ERC-721), or the balance of an address in a multi-token contract (ERC-1155).
type Collectible struct {
	Address  string       `json:"address"` // of the contract
	TokenID  string       `json:"tokenId"`
	ERCType  string       `json:"ercType"` // ERC721 or ERC1155
	ChainID  string       `json:"chainId,omitzero"`
	Metadata *NFTMetadata `json:"metadata"`
}

// NFTMetadata is the state of the service's copy of the metadata at an NFT's token URI.
type NFTMetadata struct {
	IndexStatus                  string         `json:"indexStatus"` // such as INDEXED or UNREACHABLE_TOKEN_URI, in upper or lower case
	MetadataLastUpdatedTimestamp *wire.UnixTime `json:"metadataLastUpdatedTimestamp"`
}

// Indexed reports whether the service has a valid copy of the metadata.
func (m *NFTMetadata) Indexed() bool { return m != nil && strings.EqualFold(m.IndexStatus, "INDEXED") }

// Collectibles yields the ERC-721 and ERC-1155 tokens of an address. An empty contract means all contracts.
func (c *Client) Collectibles(ctx context.Context, chainID, address, contract string) iter.Seq2[Collectible, error] {
	return walk(ctx, c, ListCollectibles, Args{"chainId": chainID, "address": address, "contractAddress": contract},
		func(t Collectible) string { return strings.ToLower(t.Address) + " " + t.TokenID })
}

// Reindex makes the service index the metadata of an NFT again, some time later. The service allows this once an hour for each
// token. The request is sent at most once.
func (c *Client) Reindex(ctx context.Context, chainID, address, tokenID string) error {
	_, err := get(ctx, c, PostReindex, Args{"chainId": chainID, "address": address, "tokenId": tokenID})
	return err
}

// Contract is a deployed contract.
type Contract struct {
	Address string `json:"address"`
}

// Deployments yields the contracts that an address deployed.
func (c *Client) Deployments(ctx context.Context, chainID, address string) iter.Seq2[Contract, error] {
	return walk(ctx, c, ListDeployments, Args{"chainId": chainID, "address": address},
		func(c Contract) string { return strings.ToLower(c.Address) })
}

// Party is the sender or the recipient of a transfer.
type Party struct {
	Address string `json:"address"`
}

// ERC721Transfer is the transfer of an NFT.
type ERC721Transfer struct {
	TxHash      string      `json:"txHash"`
	LogIndex    wire.Uint64 `json:"logIndex"`
	BlockNumber wire.Height `json:"blockNumber"`
	From        Party       `json:"from"`
	To          Party       `json:"to"`
}

// ID returns the identity of a transfer on its chain.
func (t ERC721Transfer) ID() string { return fmt.Sprint(t.TxHash, " ", t.LogIndex) }

// ERC721Transfers requests one page of the NFT transfers of an address in blocks from startBlock.
func (c *Client) ERC721Transfers(ctx context.Context, chainID, address string, startBlock int64, token string) (Page[ERC721Transfer], error) {
	return getPage(ctx, c, ListERC721Transfers, Args{"chainId": chainID, "address": address, "startBlock": startBlock}, 0, token)
}

// InternalTransaction is a call by a contract. The service lists only creations, and calls that transfer a value.
type InternalTransaction struct {
	TxHash         string      `json:"txHash"`
	BlockNumber    wire.Height `json:"blockNumber"`
	From           Party       `json:"from"`
	To             Party       `json:"to"`
	InternalTxType string      `json:"internalTxType"` // such as CALL or CREATE2
	Value          wire.BigInt `json:"value"`          // in wei of the chain's token
	IsReverted     bool        `json:"isReverted"`
	GasUsed        wire.BigInt `json:"gasUsed"`
	GasLimit       wire.BigInt `json:"gasLimit"`
}

// ID returns the identity of an internal transaction on its chain, as far as the service provides one. A transaction can contain
// identical calls.
func (t InternalTransaction) ID() string {
	return fmt.Sprint(t.TxHash, " ", t.From.Address, " ", t.To.Address, " ", t.InternalTxType, " ", t.Value, " ", t.IsReverted, " ", t.GasUsed, " ", t.GasLimit)
}

// InternalTransactions requests one page of the internal transactions of an address in blocks from startBlock and before endBlock, unless it is
// 0.
func (c *Client) InternalTransactions(ctx context.Context, chainID, address string, startBlock, endBlock int64, token string) (Page[InternalTransaction],
	error) {
	args := Args{"chainId": chainID, "address": address, "startBlock": startBlock}
	if endBlock > 0 {
		args["endBlock"] = endBlock
	}
	return getPage(ctx, c, ListInternals, args, 0, token)
}

// The aliases of chains in a path.
const (
	PChain = "p-chain"
	XChain = "x-chain"
)

// AssetTransaction is a transaction of the X-Chain.
type AssetTransaction struct {
	TxHash    string        `json:"txHash"`
	Timestamp wire.UnixTime `json:"timestamp"`
	TxType    string        `json:"txType"`
}

// AssetTransactions requests one page of the X-Chain transactions of an asset after start, in Unix seconds.
func (c *Client) AssetTransactions(ctx context.Context, network, assetID string, start int64, token string) (Page[AssetTransaction], error) {
	args := Args{"network": network, "blockchainId": XChain, "assetId": assetID, "startTimestamp": max(0, start)}
	page, err := getPage(ctx, c, ListAssetTransactions, args, 0, token)
	if err == nil && page.Network != "" && (page.Network == Mainnet) != (network == Mainnet) {
		err = &scrape.Error{Op: ListAssetTransactions.Op(), Outcome: scrape.Malformed,
			Err: fmt.Errorf("requested %s, the answer is about %s", network, quote(page.Network))}
	}
	return page, err
}

// Blockchain is a chain of the primary network, a subnet or an L1.
type Blockchain struct {
	BlockchainID   string      `json:"blockchainId"`
	SubnetID       string      `json:"subnetId"`
	BlockchainName string      `json:"blockchainName"`
	EVMChainID     wire.Uint64 `json:"evmChainId,omitzero"` // 0 if it is no EVM chain
}

// Blockchains yields all blockchains of a network.
func (c *Client) Blockchains(ctx context.Context, network string) iter.Seq2[Blockchain, error] {
	return walk(ctx, c, ListBlockchains, Args{"network": network}, func(b Blockchain) string { return b.BlockchainID })
}

// Probe requests one blockchain of a network, to find out whether the service answers.
func (c *Client) Probe(ctx context.Context, network string) error {
	_, err := getPage(ctx, c, ListBlockchains, Args{"network": network}, 1, "")
	return err
}

// Subnet is a subnet or L1.
type Subnet struct {
	SubnetID                  string     `json:"subnetId"`
	IsL1                      bool       `json:"isL1"`
	L1ValidatorManagerDetails *L1Manager `json:"l1ValidatorManagerDetails"`
	SubnetOwnershipInfo       *Ownership `json:"subnetOwnershipInfo"`
}

// L1Manager is the contract that manages the validators of an L1.
type L1Manager struct {
	BlockchainID    string `json:"blockchainId"`
	ContractAddress string `json:"contractAddress"`
}

// Ownership is the right to change a subnet. Threshold is the number of Addresses that must sign.
type Ownership struct {
	Addresses []string    `json:"addresses"`
	Threshold wire.Uint64 `json:"threshold"`
}

// Subnet requests a subnet.
func (c *Client) Subnet(ctx context.Context, network, subnetID string) (Subnet, error) {
	return get(ctx, c, GetSubnet, Args{"network": network, "subnetId": subnetID})
}

// AggregatedSignatures returns the signed message, in hex, that a transaction of the P-Chain or the X-Chain sends to an L1.
func (c *Client) AggregatedSignatures(ctx context.Context, network, txHash string) (string, error) {
	return get(ctx, c, GetAggregatedSignatures, Args{"network": network, "txHash": txHash})
}

// The types of rewards.
const (
	RewardValidator    = "VALIDATOR"
	RewardDelegator    = "DELEGATOR"
	RewardValidatorFee = "VALIDATOR_FEE"
)

// Reward is a staking reward that was paid to a validator or delegator.
type Reward struct {
	Addresses      []string      `json:"addresses,omitzero"` // that own the reward
	TxHash         string        `json:"txHash,omitzero"`    // transaction that staked
	AmountStaked   wire.NanoAVAX `json:"amountStaked,omitzero"`
	NodeID         string        `json:"nodeId"`
	RewardTxHash   string        `json:"rewardTxHash"`            // transaction that paid
	RewardType     string        `json:"rewardType"`              // such as RewardValidator
	StartTimestamp wire.UnixTime `json:"startTimestamp,omitzero"` // block that has the staking transaction
	EndTimestamp   wire.UnixTime `json:"endTimestamp"`            // of the stake, which is also the time of payment
	UTXOID         string        `json:"utxoId"`
	OutputIndex    wire.Uint64   `json:"outputIndex"`
	Reward         PaidAsset     `json:"reward"`
}

// ID returns the identity of a reward: the unspent output that paid it. One transaction can pay several.
func (r Reward) ID() string {
	if r.UTXOID != "" {
		return r.UTXOID
	}
	return fmt.Sprint(r.RewardTxHash, " ", r.OutputIndex)
}

// PendingReward is the estimated reward of a validation or delegation that has not ended.
type PendingReward struct {
	Addresses       []string      `json:"addresses"` // that will own the reward
	TxHash          string        `json:"txHash"`    // transaction that staked
	AmountStaked    wire.NanoAVAX `json:"amountStaked"`
	NodeID          string        `json:"nodeId"`
	EndTimestamp    wire.UnixTime `json:"endTimestamp"`
	RewardType      string        `json:"rewardType"` // such as RewardDelegator
	EstimatedReward PaidAsset     `json:"estimatedReward"`
}

// ID returns the identity of a pending reward.
func (r PendingReward) ID() string { return r.TxHash + " " + r.RewardType }

// PendingRewards requests the pending rewards of P-Chain addresses or of nodes, at most MaxAddresses, in one list.
func (c *Client) PendingRewards(ctx context.Context, network string, addresses, nodeIDs []string) iter.Seq2[PendingReward, error] {
	return walk(ctx, c, ListPendingRewards, Args{"network": network, "addresses": addresses, "nodeIds": nodeIDs}, PendingReward.ID)
}

// MaxAddresses is the maximum number of addresses or node IDs of one request. The service documents none; a URL of 100 addresses has 5 kB.
const MaxAddresses = 100

// PaidAsset is an amount of an asset and the price of the asset.
type PaidAsset struct {
	AssetID         string        `json:"assetId"`
	Symbol          string        `json:"symbol,omitzero"`
	Denomination    wire.Decimals `json:"denomination"`    // decimals
	Amount          wire.BigInt   `json:"amount"`          // in the smallest unit
	HistoricalPrice *Money        `json:"historicalPrice"` // of a whole token at the time of payment; nil for about a day after the payment, or if unknown
}

// IsAVAX reports whether the asset is AVAX.
func (p PaidAsset) IsAVAX() bool { return p.Symbol == "AVAX" && p.Denomination == 9 }

// RewardPage requests one page of the rewards of a node, newest first. An empty currency means USD.
func (c *Client) RewardPage(ctx context.Context, network, nodeID, currency string, pageSize int, token string) (Page[Reward], error) {
	return getPage(ctx, c, ListRewards, Args{"network": network, "nodeIds": nodeID, "sortOrder": Descending, "currency": currency}, pageSize, token)
}

// L1Validator is a validator of an L1. A removed validator has no weight, an inactive one no balance.
type L1Validator struct {
	ValidationID     string        `json:"validationId"`
	NodeID           string        `json:"nodeId"`
	SubnetID         string        `json:"subnetId"`
	RemainingBalance wire.NanoAVAX `json:"remainingBalance"`

	RemainingBalanceOwner Owner `json:"remainingBalanceOwner,omitzero"` // gets the balance if the validator is removed
}

// Owner has the addresses of an owner.
type Owner struct {
	Addresses []string `json:"addresses,omitzero"`
}

// ID identifies the validator.
func (v L1Validator) ID() string { return v.ValidationID }

// IndexedUntil requests the newest transactions of the P-Chain, and returns the time of the newest one: the service has indexed the chain up
// to it at least. It is the zero time if the service lists none.
func (c *Client) IndexedUntil(ctx context.Context, network string) (newest time.Time, err error) {
	page, err := getPage(ctx, c, ListTransactions, Args{"network": network, "blockchainId": PChain, "sortOrder": Descending}, 0, "")
	for _, tx := range page.Items {
		if tx.Err == nil && tx.Value.BlockTimestamp.After(newest) {
			newest = tx.Value.BlockTimestamp.Time
		}
	}
	return newest, err
}

// Transaction is a transaction of the P-Chain. It may change the balances of L1 validators.
type Transaction struct {
	TxHash         string            `json:"txHash"`
	TxType         string            `json:"txType,omitzero"` // such as ExportTx
	BlockTimestamp wire.UnixTime     `json:"blockTimestamp"`
	BlockNumber    wire.Uint64       `json:"blockNumber,omitzero"`
	NodeID         string            `json:"nodeId,omitzero"` // of a transaction about one validator
	Validators     []L1BalanceChange `json:"l1ValidatorDetails,omitzero"`

	Consumed []Output    `json:"consumedUtxos,omitzero"`
	Emitted  []Output    `json:"emittedUtxos,omitzero"`
	Burned   []PaidAsset `json:"amountBurned,omitzero"`                   // the fee; it is not documented whether it includes Locked
	Locked   []PaidAsset `json:"amountL1ValidatorBalanceBurned,omitzero"` // added to balances of L1 validators
}

// Output is an output that a transaction consumed or created.
type Output struct {
	Addresses []string  `json:"addresses,omitzero"` // owners
	Asset     PaidAsset `json:"asset,omitzero"`
}

// ID identifies the transaction.
func (t Transaction) ID() string { return t.TxHash }

var errUnclearFee = errors.New("it is unclear which part of the burned amount is the fee")

// Fee returns the fee in nAVAX; 0 if the answer has none.
func (t Transaction) Fee() (*big.Int, error) {
	sum := func(assets []PaidAsset) *big.Int {
		total := new(big.Int)
		for _, a := range assets {
			if a.IsAVAX() && a.Amount.Int != nil {
				total.Add(total, a.Amount.Int)
			}
		}
		return total
	}
	assets := func(outputs []Output) (all []PaidAsset) {
		for _, o := range outputs {
			all = append(all, o.Asset)
		}
		return all
	}
	burned, locked := sum(t.Burned), sum(t.Locked)
	if burned.Sign() == 0 || locked.Sign() == 0 {
		return burned, nil
	}
	spent := new(big.Int).Sub(sum(assets(t.Consumed)), sum(assets(t.Emitted)))
	switch {
	case spent.Cmp(new(big.Int).Add(burned, locked)) == 0:
		return burned, nil
	case spent.Cmp(burned) == 0 && burned.Cmp(locked) >= 0:
		return burned.Sub(burned, locked), nil
	}
	return nil, errUnclearFee
}

// L1BalanceChange is the state of an L1 validator after a transaction.
type L1BalanceChange struct {
	L1Validator
	BalanceChange wire.Float `json:"balanceChange,omitzero"` // nAVAX, whole; below 0 if the transaction returned the balance to its owner
}

// Rewards requests the rewards that nodes paid to P-Chain addresses, at most MaxAddresses of each, in one list.
func (c *Client) Rewards(ctx context.Context, network string, addresses, nodeIDs []string) iter.Seq2[Reward, error] {
	return walk(ctx, c, ListRewards, Args{"network": network, "addresses": addresses, "nodeIds": nodeIDs, "sortOrder": Descending}, Reward.ID)
}

// The states of an interchain message.
const (
	ICMPending                   = "pending"                      // sent, not delivered yet
	ICMDelivered                 = "delivered"                    // the service indexed both transactions
	ICMDeliveredSourceNotIndexed = "delivered_source_not_indexed" // delivered from a chain that the service does not index
)

// ICMMessage is a message from one chain to another.
type ICMMessage struct {
	MessageID               string          `json:"messageId"`
	Status                  string          `json:"status"` // such as ICMPending
	SourceBlockchainID      string          `json:"sourceBlockchainId"`
	DestinationBlockchainID string          `json:"destinationBlockchainId"`
	MessageExecuted         bool            `json:"messageExecuted"`
	ReceiptDelivered        bool            `json:"receiptDelivered"`
	SourceTransaction       *ICMTransaction `json:"sourceTransaction"`      // nil for ICMDeliveredSourceNotIndexed
	DestinationTransaction  *ICMTransaction `json:"destinationTransaction"` // nil for ICMPending
}

// ICMTransaction is the transaction that sent or delivered a message.
type ICMTransaction struct {
	Timestamp        wire.UnixTime `json:"timestamp"`
	DelivererAddress string        `json:"delivererAddress,omitzero"` // only of a delivery, and empty if unknown
}

// ICMMessages requests one page of the messages of an EVM address, newest first.
func (c *Client) ICMMessages(ctx context.Context, network, address, token string) (Page[ICMMessage], error) {
	return getPage(ctx, c, ListICMMessages, Args{"address": address, "network": network}, 0, token)
}

// ICMMessage requests a message.
func (c *Client) ICMMessage(ctx context.Context, id string) (ICMMessage, error) {
	return get(ctx, c, GetICMMessage, Args{"messageId": id})
}
