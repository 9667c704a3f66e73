package node

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

func evm[T any](ctx context.Context, c *Client, chain, method string, params ...any) (T, error) {
	if params == nil {
		params = []any{}
	}
	return scrape.RPC[T](ctx, c.u, at(evmPath, chain), method, params)
}

// Fees are the fees of a Subnet-EVM chain. The fields are floats, because the numbers have no upper bound.
type Fees struct {
	GasLimit                 wire.Float `json:"gasLimit"`
	TargetBlockRate          wire.Float `json:"targetBlockRate"` // seconds between blocks
	MinBaseFee               wire.Float `json:"minBaseFee"`      // wei per gas
	TargetGas                wire.Float `json:"targetGas"`
	BaseFeeChangeDenominator wire.Float `json:"baseFeeChangeDenominator"`
	MinBlockGasCost          wire.Float `json:"minBlockGasCost"`
	MaxBlockGasCost          wire.Float `json:"maxBlockGasCost"`
	BlockGasCostStep         wire.Float `json:"blockGasCostStep"`
}

// FeeConfig is the fee configuration of a Subnet-EVM chain at a block.
type FeeConfig struct {
	FeeConfig     Fees        `json:"feeConfig"`
	LastChangedAt wire.Uint64 `json:"lastChangedAt"` // block number; 0 until the first change
}

// EthFeeConfig calls eth_feeConfig at a block number. A nil block means the latest block. Only Subnet-EVM chains offer the
// method: see IsNotOffered.
func (c *Client) EthFeeConfig(ctx context.Context, chain string, block *uint64) (FeeConfig, error) {
	if block == nil {
		return evm[FeeConfig](ctx, c, chain, "eth_feeConfig")
	}
	return evm[FeeConfig](ctx, c, chain, "eth_feeConfig", fmt.Sprintf("%#x", *block))
}

// EthChainID calls eth_chainId: the number that identifies the chain to wallets and to the Data service.
func (c *Client) EthChainID(ctx context.Context, chain string) (uint64, error) {
	n, err := evm[wire.HexUint64](ctx, c, chain, "eth_chainId")
	return uint64(n), err
}

// EthBlockNumber calls eth_blockNumber: the height of the newest block.
func (c *Client) EthBlockNumber(ctx context.Context, chain string) (uint64, error) {
	n, err := evm[wire.HexHeight](ctx, c, chain, "eth_blockNumber")
	return uint64(n), err
}

// EthBaseFee calls eth_baseFee: wei per gas in the newest block.
func (c *Client) EthBaseFee(ctx context.Context, chain string) (*big.Int, error) {
	n, err := evm[wire.HexInt](ctx, c, chain, "eth_baseFee")
	return n.Int, err
}

// EthBlock is the header of a block of an EVM chain, and its transactions.
type EthBlock struct {
	Number                wire.HexHeight  `json:"number"`
	Hash                  string          `json:"hash"`
	ParentHash            string          `json:"parentHash"`
	Timestamp             wire.HexUint64  `json:"timestamp"`             // Unix seconds
	TimestampMilliseconds *wire.HexUint64 `json:"timestampMilliseconds"` // Unix milliseconds, since Granite
	GasLimit              wire.HexUint64  `json:"gasLimit"`
	GasUsed               wire.HexUint64  `json:"gasUsed"`
	BaseFeePerGas         *wire.HexInt    `json:"baseFeePerGas"` // wei
	Transactions          []EthTxHash     `json:"transactions"`
}

// EthTxHash is the hash of a transaction.
type EthTxHash string

// UnmarshalWire decodes a hash. If the call requested whole transactions, it takes the hash from the transaction.
func (h *EthTxHash) UnmarshalWire(d *wire.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginObject {
		return wire.Decode(d, (*string)(h))
	}
	var tx struct {
		Hash string `json:"hash"`
	}
	err := wire.Decode(d, &tx)
	*h = EthTxHash(tx.Hash)
	return err
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

// maxSeconds is the end of the year 9999, in Unix seconds.
const maxSeconds = 253402300799

func ethBlock(ctx context.Context, c *Client, chain, method, which string) (EthBlock, error) {
	block, err := evm[*EthBlock](ctx, c, chain, method, which, false)
	if err == nil && block == nil {
		err = &scrape.Error{Op: method, Outcome: scrape.NotFound, Err: errNoBlock}
	}
	if err != nil {
		return EthBlock{}, err
	}
	if block.Timestamp > maxSeconds || block.TimestampMilliseconds != nil && *block.TimestampMilliseconds > 1000*maxSeconds {
		err = errors.New("the time of the block is beyond the year 9999")
	} else {
		err = wire.CheckPast(block.Time())
	}
	if err != nil {
		return EthBlock{}, &scrape.Error{Op: method, Outcome: scrape.Malformed, Err: err}
	}
	return *block, nil
}

// EthBlockByNumber calls eth_getBlockByNumber. A nil number means the latest block. A future block is an error with the
// outcome rejected or not_found.
func (c *Client) EthBlockByNumber(ctx context.Context, chain string, number *uint64) (EthBlock, error) {
	which := "latest"
	if number != nil {
		which = fmt.Sprintf("%#x", *number)
	}
	return ethBlock(ctx, c, chain, "eth_getBlockByNumber", which)
}

// EthBlockByHash calls eth_getBlockByHash. An unknown block is an error with the outcome not_found.
func (c *Client) EthBlockByHash(ctx context.Context, chain, hash string) (EthBlock, error) {
	return ethBlock(ctx, c, chain, "eth_getBlockByHash", hash)
}

// Precompile is the configuration of a precompiled contract of a Subnet-EVM chain. Its fields depend on its kind.
type Precompile struct {
	BlockTimestamp               *wire.UnixTime `json:"blockTimestamp"` // time from which it applies
	Disable                      bool           `json:"disable,omitzero"`
	AdminAddresses               []string       `json:"adminAddresses,omitzero"`
	ManagerAddresses             []string       `json:"managerAddresses,omitzero"`
	EnabledAddresses             []string       `json:"enabledAddresses,omitzero"`
	QuorumNumerator              *wire.Uint64   `json:"quorumNumerator"`                       // warpConfig: percent of the weight that must sign; 0 for the default
	RequirePrimaryNetworkSigners bool           `json:"requirePrimaryNetworkSigners,omitzero"` // warpConfig
}

// ChainConfig is the configuration of an EVM chain, including its upgrades after genesis. The configuration of the C-Chain has
// no fees and no precompiles, and other names for the upgrades: durangoBlockTimestamp instead of durangoTimestamp.
type ChainConfig struct {
	ChainID            uint64
	Fees               *Fees                   // of the genesis; EthFeeConfig returns the current fees
	AllowFeeRecipients *bool                   // of the genesis
	Blocks             map[string]uint64       // block number of an upgrade, by member, such as londonBlock
	Times              map[string]time.Time    // time of an upgrade, by member, such as etnaTimestamp or cancunTime
	Precompiles        map[string]Precompile   // of the genesis, by member, such as feeManagerConfig
	PrecompileUpgrades []map[string]Precompile // in order; nil if there are none
	Canonical          string                  // the whole configuration as JSON with sorted members and no spaces: equal configurations have equal texts
}

// EthChainConfig calls eth_getChainConfig.
func (c *Client) EthChainConfig(ctx context.Context, chain string) (ChainConfig, error) {
	return evm[ChainConfig](ctx, c, chain, "eth_getChainConfig")
}

// EthActivePrecompilesAt calls eth_getActivePrecompilesAt: the precompiles that are active at a time, by name, such as
// feeManagerConfig. A nil time means the time of the latest block. Only Subnet-EVM chains offer the method: see IsNotOffered.
//
// Deprecated: EthActiveRulesAt returns the active precompiles with the time of their activation.
func (c *Client) EthActivePrecompilesAt(ctx context.Context, chain string, at *time.Time) (map[string]Precompile, error) {
	return evm[map[string]Precompile](ctx, c, chain, "eth_getActivePrecompilesAt", instant(at)...)
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

// UnmarshalWire stores every boolean member as a rule.
func (r *RuleSet) UnmarshalWire(d *wire.Decoder) error {
	var members map[string]jsontext.Value
	if err := wire.Decode(d, &members); err != nil {
		return err
	}
	*r = make(RuleSet)
	for name, value := range members {
		switch value.Kind() {
		case jsontext.KindTrue:
			(*r)[name] = true
		case jsontext.KindFalse:
			(*r)[name] = false
		}
	}
	return nil
}

// EthActiveRulesAt calls eth_getActiveRulesAt at a time. A nil time means the time of the latest block. Only Subnet-EVM chains
// offer the method: see IsNotOffered.
func (c *Client) EthActiveRulesAt(ctx context.Context, chain string, at *time.Time) (Rules, error) {
	return evm[Rules](ctx, c, chain, "eth_getActiveRulesAt", instant(at)...)
}

// instant is the optional parameter of two methods: Unix seconds as a number.
func instant(at *time.Time) []any {
	if at == nil {
		return nil
	}
	return []any{at.Unix()}
}

// UnmarshalWire assigns each member to a field by the suffix of its name. If the value does not fit this field, the member is
// only in Canonical. For example, a custom VM may have a precompile with other fields.
func (c *ChainConfig) UnmarshalWire(d *wire.Decoder) error {
	text, err := d.ReadRaw()
	if err != nil {
		return err
	}
	// Keep numbers as text: as floats, integers above 2^53 would lose digits.
	if err := text.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return err
	}
	c.Canonical = string(text)
	var members map[string]jsontext.Value
	if err := wire.Decode(d.Sub(text), &members); err != nil {
		return err
	}
	c.Blocks, c.Times, c.Precompiles = map[string]uint64{}, map[string]time.Time{}, map[string]Precompile{}
	for name, value := range members {
		err := c.read(d, name, value)
		if errors.Is(err, wire.ErrMemory) {
			return err
		}
		if err != nil {
			if meaning := (*json.SemanticError)(nil); errors.As(err, &meaning) && meaning.Err != nil {
				err = meaning.Err // omits the name of the Go type
			}
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if _, ok := members["chainId"]; !ok {
		return errors.New("chainId is missing")
	}
	return nil
}

func (c *ChainConfig) read(d *wire.Decoder, name string, value jsontext.Value) error {
	in := d.Sub(value)
	switch kind := value.Kind(); {
	case name == "chainId":
		return wire.Decode(in, (*wire.Uint64)(&c.ChainID))
	case name == "feeConfig":
		return wire.Decode(in, &c.Fees)
	case name == "allowFeeRecipients":
		return wire.Decode(in, &c.AllowFeeRecipients)
	case name == "upgrades":
		var upgrades struct {
			Precompiles []map[string]Precompile `json:"precompileUpgrades,omitzero"`
		}
		err := wire.Decode(in, &upgrades)
		c.PrecompileUpgrades = upgrades.Precompiles
		return err
	case kind == jsontext.KindNull:
	case strings.HasSuffix(name, "Config"):
		var p Precompile
		err := wire.Decode(in, &p)
		if errors.Is(err, wire.ErrMemory) {
			return err
		}
		if err == nil {
			c.Precompiles[name] = p
		}
	case strings.HasSuffix(name, "Block"):
		var n wire.Uint64
		if wire.Decode(in, &n) == nil {
			c.Blocks[name] = uint64(n)
		}
	case strings.HasSuffix(name, "Time"), strings.HasSuffix(name, "Timestamp"):
		var at wire.UnixTime
		if wire.Decode(in, &at) == nil {
			c.Times[name] = at.Time
		}
	}
	return nil
}
