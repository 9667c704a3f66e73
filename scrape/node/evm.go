package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Fees are the fees of a Subnet-EVM chain. The fields are floats, because the numbers have no upper bound.
type Fees struct {
	GasLimit                 wire.Amount `json:"gasLimit"`
	TargetBlockRate          wire.Amount `json:"targetBlockRate"` // seconds between blocks
	MinBaseFee               wire.Amount `json:"minBaseFee"`      // wei per gas
	TargetGas                wire.Amount `json:"targetGas"`
	BaseFeeChangeDenominator wire.Amount `json:"baseFeeChangeDenominator"`
	MinBlockGasCost          wire.Amount `json:"minBlockGasCost"`
	MaxBlockGasCost          wire.Amount `json:"maxBlockGasCost"`
	BlockGasCostStep         wire.Amount `json:"blockGasCostStep"`
}

// FeeConfig is the fee configuration of a Subnet-EVM chain at a block.
type FeeConfig struct {
	FeeConfig     Fees        `json:"feeConfig"`
	LastChangedAt wire.Uint64 `json:"lastChangedAt"` // block number; 0 until the first change
}

// EthFeeConfig calls eth_feeConfig at the latest block. Only Subnet-EVM chains offer the method: see IsNotOffered.
func (c *Client) EthFeeConfig(ctx context.Context, chain string) (FeeConfig, error) {
	return call(ctx, c, getFeeConfig, chain, nil)
}

// PoolStatus is the number of transactions in a node's pool.
type PoolStatus struct {
	Pending wire.HexUint64 `json:"pending"`
	Queued  wire.HexUint64 `json:"queued"` // wait for another transaction of their sender
}

// TxPoolStatus calls txpool_status. A Subnet-EVM chain offers it only if its configuration has the API internal-tx-pool: see IsNotOffered.
func (c *Client) TxPoolStatus(ctx context.Context, chain string) (PoolStatus, error) {
	return call(ctx, c, getPoolStatus, chain, nil)
}

// EthChainID calls eth_chainId: the number that identifies the chain to wallets and to the Data service.
func (c *Client) EthChainID(ctx context.Context, chain string) (uint64, error) {
	n, err := call(ctx, c, getChainID, chain, nil)
	return uint64(n), err
}

// WeiDecimals is the number of decimal places of the native token of each EVM chain.
const WeiDecimals = 18

// EthBalance calls eth_getBalance at the latest block: the balance of an address in whole native tokens.
func (c *Client) EthBalance(ctx context.Context, chain, address string) (float64, error) {
	wei, err := call(ctx, c, getBalance, chain, []any{address, "latest"})
	if err != nil {
		return 0, err
	}
	return wei.Tokens(WeiDecimals), nil
}

// EthBalanceAt calls eth_getBalance at the end of a block: the balance in wei. A node without the state of the block answers IsStateMissing.
func (c *Client) EthBalanceAt(ctx context.Context, chain, address string, number uint64) (wire.BigInt, error) {
	return call(ctx, c, getBalance, chain, []any{address, hexOf(number)})
}

// IsStateMissing reports whether a node does not have the state of an old block, as after pruning. The text is that of go-ethereum.
func IsStateMissing(err error) bool { return refused(err, "missing trie node") }

// IsNotExecuted reports whether a node has a block, but not its receipts and logs, as those before a state sync. The text is that of go-ethereum.
func IsNotExecuted(err error) bool { return refused(err, "receipts length mismatch") }

// counted is an object in a list of which only the length is used.
type counted struct{}

// EthLogs calls eth_getLogs without a filter of addresses and topics: the number of logs of these blocks.
func (c *Client) EthLogs(ctx context.Context, chain string, from, to uint64) (int, error) {
	all, err := call(ctx, c, getLogs, chain, []any{map[string]string{"fromBlock": hexOf(from), "toBlock": hexOf(to)}})
	return len(all), err
}

// EthLog is a log that a contract has written.
type EthLog struct {
	Address     string      `json:"address"` // of the contract
	BlockNumber wire.Height `json:"blockNumber"`
	BlockHash   string      `json:"blockHash"`
	Topics      []string    `json:"topics"`
	Data        string      `json:"data"`
	Removed     bool        `json:"removed,omitzero"` // the block is no longer part of the chain
}

var getContractLogs = scrape.As[[]EthLog](getLogs.Method)

const (
	topicSize = len("0x") + 64 // 32 bytes in hex digits
	maxTopics = 4              // of a log
)

// EthLogsOf calls eth_getLogs: the logs of a contract in these blocks whose first topic is one of topics, in order, with topics in lower case. What an
// endpoint adds to them is left out: anybody may write the same events into logs of another contract. Nodes answer an error if they have not accepted the
// last block. A node that synced its state lists no logs of the blocks before, and none at all if it does not have the first block, without an error.
func (c *Client) EthLogsOf(ctx context.Context, chain, contract string, topics []string, from, to uint64) (logs []EthLog, err error) {
	all, err := call(ctx, c, getContractLogs, chain, []any{map[string]any{
		"address": contract, "topics": [][]string{topics}, "fromBlock": hexOf(from), "toBlock": hexOf(to),
	}})
	for _, l := range all {
		of := make([]string, len(l.Topics)) // the answer is shared
		for i, topic := range l.Topics {
			of[i] = strings.ToLower(topic)
		}
		l.Topics = of
		wrong := slices.ContainsFunc(of, func(topic string) bool { return len(topic) != topicSize })
		if at := uint64(l.BlockNumber); !l.Removed && from <= at && at <= to && strings.EqualFold(l.Address, contract) && !wrong &&
			0 < len(of) && len(of) <= maxTopics && slices.Contains(topics, of[0]) {
			logs = append(logs, l)
		}
	}
	return logs, err
}

// EthBlockReceipts calls eth_getBlockReceipts: the number of receipts of a block, one for each transaction. An unknown block has none.
func (c *Client) EthBlockReceipts(ctx context.Context, chain string, number uint64) (int, error) {
	all, err := call(ctx, c, getBlockReceipts, chain, []any{hexOf(number)})
	return len(all), err
}

func hexOf(number uint64) string { return fmt.Sprintf("%#x", number) }

// EthBlock is the header of a block of an EVM chain, and its transactions.
type EthBlock struct {
	Lacking `json:"-"`

	Number                wire.Height     `json:"number"`
	Hash                  string          `json:"hash"`
	ParentHash            string          `json:"parentHash"`
	Timestamp             wire.HexUint64  `json:"timestamp"`             // Unix seconds
	TimestampMilliseconds *wire.HexUint64 `json:"timestampMilliseconds"` // Unix milliseconds, since Granite
	GasLimit              wire.HexUint64  `json:"gasLimit"`
	GasUsed               wire.HexUint64  `json:"gasUsed"`
	BaseFeePerGas         *wire.BigInt    `json:"baseFeePerGas"` // wei
	Transactions          wire.Count      `json:"transactions"`

	// Of the C-Chain since Helicon. The exponents decode to a value by MinGasPrice, GasTarget and MinBlockDelay.
	SettledHeight    *wire.HexUint64 `json:"settledHeight"` // newest block whose execution this block settles
	MinPriceExponent *wire.HexUint64 `json:"minPriceExponent"`
	TargetExponent   *wire.HexUint64 `json:"targetExponent"`
	MinDelayExcess   *wire.HexUint64 `json:"minDelayExcess"` // since Granite
}

// MinGasPrice returns the lowest base fee that the validators allow, in wei per gas (ACP-283), or nil.
func (b EthBlock) MinGasPrice() *float64 {
	return exponential(1, b.MinPriceExponent, 415_828_534_307_635_077)
}

// GasTarget returns the gas per second at which the base fee does not change (ACP-176), or nil.
func (b EthBlock) GasTarget() *float64 { return exponential(1_000_000, b.TargetExponent, 1<<25) }

// MinBlockDelay returns the shortest time between blocks in seconds (ACP-226), or nil.
func (b EthBlock) MinBlockDelay() *float64 { return exponential(0.001, b.MinDelayExcess, 1<<20) }

// exponential returns least × e^(excess/k), the form in which headers hold what validators vote on, or nil without an excess, or if the result is more than
// the 64 bits that a node has for it.
func exponential(least float64, excess *wire.HexUint64, k float64) *float64 {
	if excess == nil {
		return nil
	}
	value := least * math.Exp(float64(*excess)/k)
	if value > math.MaxUint64 {
		return nil
	}
	return &value
}

// Time is the time of the block, with the chain's precision.
func (b EthBlock) Time() time.Time {
	if b.TimestampMilliseconds != nil {
		return time.UnixMilli(int64(*b.TimestampMilliseconds)).UTC()
	}
	return time.Unix(int64(b.Timestamp), 0).UTC()
}

// errNoBlock is the error for an unknown block: an EVM chain returns null as the result.
var errNoBlock = errors.New("there is no such block")

// EthBlockByNumber calls eth_getBlockByNumber. A nil number means the latest block. A future block is an error with the
// outcome rejected or not_found.
func (c *Client) EthBlockByNumber(ctx context.Context, chain string, number *uint64) (EthBlock, error) {
	which := "latest"
	if number != nil {
		which = hexOf(*number)
	}
	block, err := call(ctx, c, getBlockByNumber, chain, []any{which, false})
	switch {
	case err != nil:
		return EthBlock{}, err
	case block == nil && number == nil: // every chain has a newest block
		return EthBlock{}, &scrape.Error{Op: getBlockByNumber.Name, Outcome: scrape.Malformed, Err: errors.New("null")}
	case block == nil:
		return EthBlock{}, &scrape.Error{Op: getBlockByNumber.Name, Outcome: scrape.NotFound, Err: errNoBlock}
	case block.Timestamp > wire.LastSecond || block.TimestampMilliseconds != nil && *block.TimestampMilliseconds > 1000*wire.LastSecond:
		err = errors.New("the time of the block is beyond the year 9999")
	default:
		err = wire.CheckPast(block.Time())
	}
	if err == nil && number == nil {
		answer := *block // calls may share it
		answer.Lacking = c.compare(getBlockByNumber.Method, chain, wire.Optional(answer))
		return answer, nil
	}
	if err != nil {
		return EthBlock{}, &scrape.Error{Op: getBlockByNumber.Name, Outcome: scrape.Malformed, Err: err}
	}
	return *block, nil
}

// Precompile is the configuration of a precompiled contract of a Subnet-EVM chain.
type Precompile struct {
	BlockTimestamp *wire.UnixTime `json:"blockTimestamp"` // time from which it applies
	Disable        bool           `json:"disable,omitzero"`
}

// ChainConfig is the configuration of an EVM chain, including its upgrades after genesis. The configuration of the C-Chain has
// no precompiles, and other names for the upgrades: durangoBlockTimestamp instead of durangoTimestamp.
type ChainConfig struct {
	ChainID            uint64
	Times              map[string]time.Time    // time of an upgrade, by member, such as etnaTimestamp or cancunTime
	Precompiles        map[string]Precompile   // of the genesis, by member, such as feeManagerConfig
	PrecompileUpgrades []map[string]Precompile // in order; nil if there are none
	StateUpgrades      []StateUpgrade          // in order; nil if there are none
	Canonical          string                  // the whole configuration as JSON with sorted members and no spaces: equal configurations have equal texts
}

// StateUpgrade is a change of balances, code or storage at a time. The rest of it is only in Text.
type StateUpgrade struct {
	BlockTimestamp *wire.UnixTime
	Text           string // as JSON with sorted members and no spaces
}

// UnmarshalJSONFrom decodes the time, if there is a valid one.
func (s *StateUpgrade) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	s.Text = string(text)
	var upgrade struct {
		At *wire.UnixTime `json:"blockTimestamp"`
	}
	in := wire.NewDecoder(strings.NewReader(s.Text))
	defer wire.Free(in)
	if wire.Decode(in, &upgrade) == nil {
		s.BlockTimestamp = upgrade.At
	}
	return nil
}

// EthChainConfig calls eth_getChainConfig.
func (c *Client) EthChainConfig(ctx context.Context, chain string) (ChainConfig, error) {
	return call(ctx, c, getChainConfig, chain, nil)
}

// Rules are the active rules of a Subnet-EVM chain at a time.
type Rules struct {
	EthRules       RuleSet                     `json:"ethRules"`       // such as IsCancun
	AvalancheRules RuleSet                     `json:"avalancheRules"` // such as IsEtna
	Precompiles    map[string]ActivePrecompile `json:"precompiles"`    // by name, such as feeManagerConfig
}

// ActivePrecompile holds the time at which a precompile became active.
type ActivePrecompile struct {
	Timestamp *wire.UnixTime `json:"timestamp"`
}

// RuleSet holds rules by name. Releases add rules.
type RuleSet map[string]bool

// UnmarshalJSONFrom stores every boolean member as a rule.
func (r *RuleSet) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*r = make(RuleSet)
	return wire.Members(d, func(name string) error {
		switch d.PeekKind() {
		case jsontext.KindTrue:
			(*r)[name] = true
		case jsontext.KindFalse:
			(*r)[name] = false
		}
		return d.SkipValue()
	})
}

// EthActiveRulesAt calls eth_getActiveRulesAt at the time of the latest block. Only Subnet-EVM chains offer the method: see
// IsNotOffered.
func (c *Client) EthActiveRulesAt(ctx context.Context, chain string) (Rules, error) {
	return call(ctx, c, getActiveRulesAt, chain, nil)
}

// UnmarshalJSONFrom assigns each member to a field by the suffix of its name. If the value does not fit this field, the member is
// only in Canonical. For example, a custom VM may have a precompile with other fields.
func (c *ChainConfig) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	text = text.Clone()
	// Keep numbers as text: as floats, integers above 2^53 would lose digits.
	if err := text.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return err
	}
	*c = ChainConfig{Times: map[string]time.Time{}, Precompiles: map[string]Precompile{}, Canonical: string(text)}
	hasID := false
	in := wire.NewDecoder(bytes.NewReader(text))
	defer wire.Free(in)
	err = wire.Members(in, func(name string) error {
		switch {
		case name == "chainId":
			hasID = true
			return wire.Decode(in, (*wire.Uint64)(&c.ChainID))
		case name == "upgrades":
			var upgrades *struct {
				Precompiles []map[string]Precompile `json:"precompileUpgrades,omitzero"`
				State       []StateUpgrade          `json:"stateUpgrades,omitzero"`
			}
			err := wire.Decode(in, &upgrades)
			if upgrades != nil {
				c.PrecompileUpgrades, c.StateUpgrades = upgrades.Precompiles, upgrades.State
			}
			return err
		case strings.HasSuffix(name, "Config") && name != "feeConfig":
			return tryMember(in, name, c.Precompiles)
		case strings.HasSuffix(name, "Time"), strings.HasSuffix(name, "Timestamp"):
			times := map[string]wire.UnixTime{}
			err := tryMember(in, name, times)
			for name, at := range times {
				c.Times[name] = at.Time
			}
			return err
		}
		return in.SkipValue()
	})
	if err == nil && !hasID {
		err = errors.New("chainId is missing")
	}
	return err
}

// tryMember stores the next value of d, if it can be decoded and is not null.
func tryMember[T any](d *jsontext.Decoder, name string, into map[string]T) error {
	text, err := d.ReadValue()
	if err != nil || text.Kind() == jsontext.KindNull {
		return err
	}
	var value T
	if wire.DecodeBytes(text, &value) == nil {
		into[name] = value
	}
	return nil
}
