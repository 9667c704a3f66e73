package data

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Genesis is the genesis data of a chain as its creator wrote it. It may be large.
type Genesis struct {
	Raw jsontext.Value // an object, or a string that may contain one
}

// UnmarshalWire reads the next value of d of any type.
func (g *Genesis) UnmarshalWire(d *wire.Decoder) (err error) {
	g.Raw, err = d.ReadRaw()
	return err
}

// memoryPerByte is the maximum memory of a decoded genesis, in bytes for each byte of its text. An account with 60 bytes of
// text takes 400 bytes.
const memoryPerByte = 16

// EVM decodes the genesis of an EVM chain. The genesis of another VM is an error.
func (g *Genesis) EVM() (EVMGenesis, error) {
	raw := g.Raw
	if raw.Kind() == jsontext.KindString {
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return EVMGenesis{}, err
		}
		raw = text
	}
	var genesis EVMGenesis
	d := wire.NewDecoder(bytes.NewReader(raw), 4<<10+memoryPerByte*len(raw))
	if d.PeekKind() != jsontext.KindBeginObject {
		return EVMGenesis{}, errors.New("not the genesis of an EVM chain: not a JSON object")
	}
	if err := wire.Decode(d, &genesis); err != nil {
		return EVMGenesis{}, err
	}
	if genesis.Config == nil {
		return EVMGenesis{}, errors.New("not the genesis of an EVM chain: config is missing")
	}
	return genesis, nil
}

// EVMGenesis is the genesis block of an EVM chain and its initial rules.
type EVMGenesis struct {
	Config        *EVMConfig                `json:"config"`
	Alloc         map[string]GenesisAccount `json:"alloc,omitzero"` // by address
	AirdropHash   string                    `json:"airdropHash,omitzero"`
	AirdropAmount *wire.HexInt              `json:"airdropAmount"`
	BaseFeePerGas *wire.HexInt              `json:"baseFeePerGas"`
	BlobGasUsed   *wire.HexInt              `json:"blobGasUsed"`
	ExcessBlobGas *wire.HexInt              `json:"excessBlobGas"`
	Coinbase      string                    `json:"coinbase,omitzero"`
	Difficulty    *wire.HexInt              `json:"difficulty"`
	ExtraData     string                    `json:"extraData,omitzero"`
	GasLimit      *wire.HexInt              `json:"gasLimit"`
	GasUsed       *wire.HexInt              `json:"gasUsed"`
	MixHash       string                    `json:"mixHash,omitzero"`
	Nonce         *wire.HexInt              `json:"nonce"`
	Number        *wire.HexInt              `json:"number"`
	ParentHash    string                    `json:"parentHash,omitzero"`
	Timestamp     *wire.HexInt              `json:"timestamp"` // Unix seconds
}

// GenesisAccount is the initial state of an address.
type GenesisAccount struct {
	Balance *wire.HexInt      `json:"balance"`
	Code    string            `json:"code,omitzero"`
	Storage map[string]string `json:"storage,omitzero"`
}

// EVMConfig holds the upgrades of an EVM chain, each with the block or Unix time from which it applies.
type EVMConfig struct {
	ChainID             *wire.Uint64 `json:"chainId"`
	HomesteadBlock      *wire.Uint64 `json:"homesteadBlock"`
	EIP150Block         *wire.Uint64 `json:"eip150Block"`
	EIP150Hash          string       `json:"eip150Hash,omitzero"`
	EIP155Block         *wire.Uint64 `json:"eip155Block"`
	EIP158Block         *wire.Uint64 `json:"eip158Block"`
	ByzantiumBlock      *wire.Uint64 `json:"byzantiumBlock"`
	ConstantinopleBlock *wire.Uint64 `json:"constantinopleBlock"`
	PetersburgBlock     *wire.Uint64 `json:"petersburgBlock"`
	IstanbulBlock       *wire.Uint64 `json:"istanbulBlock"`
	MuirGlacierBlock    *wire.Uint64 `json:"muirGlacierBlock"`
	BerlinBlock         *wire.Uint64 `json:"berlinBlock"`
	LondonBlock         *wire.Uint64 `json:"londonBlock"`
	SubnetEVMTimestamp  *wire.Uint64 `json:"subnetEVMTimestamp"`
	AllowFeeRecipients  *bool        `json:"allowFeeRecipients"`
	FeeConfig           *FeeConfig   `json:"feeConfig"`
	WarpConfig          *WarpConfig  `json:"warpConfig"`

	TxAllowListConfig               *AllowList `json:"txAllowListConfig"`
	ContractDeployerAllowListConfig *AllowList `json:"contractDeployerAllowListConfig"`
	ContractNativeMinterConfig      *AllowList `json:"contractNativeMinterConfig"`
	FeeManagerConfig                *AllowList `json:"feeManagerConfig"`
	RewardManagerConfig             *AllowList `json:"rewardManagerConfig"`
}

// FeeConfig is the initial fee configuration of an EVM chain, in wei per gas, gas and seconds.
type FeeConfig struct {
	GasLimit                 *Amount `json:"gasLimit"`
	TargetBlockRate          *Amount `json:"targetBlockRate"`
	MinBaseFee               *Amount `json:"minBaseFee"`
	TargetGas                *Amount `json:"targetGas"`
	BaseFeeChangeDenominator *Amount `json:"baseFeeChangeDenominator"`
	MinBlockGasCost          *Amount `json:"minBlockGasCost"`
	MaxBlockGasCost          *Amount `json:"maxBlockGasCost"`
	BlockGasCostStep         *Amount `json:"blockGasCostStep"`
}

// WarpConfig configures the verification of messages from other chains.
type WarpConfig struct {
	BlockTimestamp               *wire.Uint64 `json:"blockTimestamp"`
	QuorumNumerator              *wire.Uint64 `json:"quorumNumerator"`
	RequirePrimaryNetworkSigners *bool        `json:"requirePrimaryNetworkSigners"`
}

// AllowList lists the addresses that may use a precompiled contract, and the Unix time from which the list applies.
type AllowList struct {
	BlockTimestamp   *wire.Uint64 `json:"blockTimestamp"`
	AdminAddresses   []string     `json:"adminAddresses,omitzero"`
	ManagerAddresses []string     `json:"managerAddresses,omitzero"`
	EnabledAddresses []string     `json:"enabledAddresses,omitzero"`
}
