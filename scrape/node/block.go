package node

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Blocks and transactions of the X-Chain and the P-Chain. The services avm and platform use the same form.

// Encoding is the text form of a block or transaction.
type Encoding string

// The encodings. A node's default is Hex.
const (
	Hex  Encoding = "hex"
	JSON Encoding = "json"
)

// Encoded is a block or transaction in one of its encodings.
type Encoded[T any] struct {
	Encoding Encoding
	Hex      string // 0x, the bytes and a checksum of four bytes; empty unless the encoding is Hex
	JSON     *T     // nil unless the encoding is JSON
}

// UnmarshalWire decodes the member block or tx in the encoding that the member encoding names.
func (e *Encoded[T]) UnmarshalWire(d *wire.Decoder) error {
	var answer struct {
		Block    jsontext.Value `json:"block,omitzero"`
		Tx       jsontext.Value `json:"tx,omitzero"`
		Encoding Encoding       `json:"encoding"`
	}
	if err := wire.Decode(d, &answer); err != nil {
		return err
	}
	content := answer.Block
	if content == nil {
		content = answer.Tx
	}
	if content == nil {
		return errors.New("the members block and tx are missing")
	}
	e.Encoding = answer.Encoding
	in := d.Sub(content)
	switch answer.Encoding {
	case Hex:
		return wire.Decode(in, &e.Hex)
	case JSON:
		e.JSON = new(T)
		return wire.Decode(in, e.JSON)
	}
	return errors.New("encoding is neither hex nor json")
}

// Block is an accepted block of the X-Chain or the P-Chain.
type Block struct {
	ID         string             `json:"id"`
	ParentID   string             `json:"parentID"`
	Height     wire.Height        `json:"height"`
	Time       *wire.PastUnixTime `json:"time"`                // nil in the P-Chain's genesis and in its blocks before Banff
	MerkleRoot string             `json:"merkleRoot,omitzero"` // X-Chain only
	Txs        []Tx               `json:"txs,omitzero"`
	Tx         *Tx                `json:"tx"` // of a P-Chain block that proposes a transaction
}

// Tx is a transaction of the X-Chain or the P-Chain.
type Tx struct {
	ID          string       `json:"id"`
	UnsignedTx  UnsignedTx   `json:"unsignedTx"`
	Credentials []Credential `json:"credentials,omitzero"` // one per input
}

// UnsignedTx has the fields that both chains share. Some transaction types have none of them.
type UnsignedTx struct {
	NetworkID    *wire.Uint64 `json:"networkID"`
	BlockchainID string       `json:"blockchainID,omitzero"`
	Outputs      []TxOutput   `json:"outputs,omitzero"`
	Inputs       []TxInput    `json:"inputs,omitzero"`
	Memo         string       `json:"memo,omitzero"` // hex after 0x

	DestinationChain string     `json:"destinationChain,omitzero"` // of an export: blockchain ID
	ExportedOutputs  []TxOutput `json:"exportedOutputs,omitzero"`
	SourceChain      string     `json:"sourceChain,omitzero"` // of an import: blockchain ID
	ImportedInputs   []TxInput  `json:"importedInputs,omitzero"`
}

// TxOutput is an amount that a transaction creates.
type TxOutput struct {
	AssetID string `json:"assetID"`
	FxID    string `json:"fxID,omitzero"`
	Output  Output `json:"output"`
}

// Output is an amount and its owners. The amount can be spent after Locktime. Threshold is the number of Addresses that must
// sign.
type Output struct {
	Addresses []string     `json:"addresses,omitzero"`
	Amount    *wire.Uint64 `json:"amount"`    // in the asset's smallest unit; nil for outputs without an amount, such as an NFT
	Locktime  *wire.Uint64 `json:"locktime"`  // Unix seconds; 0 for none
	Threshold *wire.Uint64 `json:"threshold"` // number of addresses that must sign
	Output    *Output      `json:"output"`    // set in an output that can be staked before its locktime, but not spent
}

// TxInput is an output that a transaction spends.
type TxInput struct {
	TxID        string      `json:"txID"` // transaction that created the output
	OutputIndex wire.Uint64 `json:"outputIndex"`
	AssetID     string      `json:"assetID"`
	FxID        string      `json:"fxID,omitzero"`
	Input       Input       `json:"input"`
}

// Input is an amount that is spent, and its signers.
type Input struct {
	Amount           *wire.Uint64  `json:"amount"`
	SignatureIndices []wire.Uint64 `json:"signatureIndices,omitzero"` // positions in the list of the output's addresses
	Input            *Input        `json:"input"`                     // set in an input that spends locked funds that can be staked
}

// Credential holds the signatures of one input. The X-Chain puts the signatures into an inner object.
type Credential struct {
	FxID       string      `json:"fxID,omitzero"`
	Signatures []string    `json:"signatures,omitzero"` // hex after 0x
	Credential *Credential `json:"credential"`
}

// UTXOID identifies an unspent output.
type UTXOID struct {
	TxID        string      `json:"txID"`
	OutputIndex wire.Uint64 `json:"outputIndex"`
}

// blockByID holds the parameters of the methods that return a block by its ID.
type blockByID struct {
	BlockID  string   `json:"blockID"`
	Encoding Encoding `json:"encoding,omitempty"`
}
