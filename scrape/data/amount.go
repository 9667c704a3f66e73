package data

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Amount is an amount in the smallest unit of its asset: an exact whole number from 0 to 2^256-1. In JSON it is a number, or a
// string of decimal digits.
type Amount struct{ *big.Int }

// longestAmount is the maximum number of digits; 256 bits have 78.
const longestAmount = 78

// UnmarshalJSONFrom reads the next value of d.
func (a *Amount) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	digits := string(value)
	switch value.Kind() {
	case jsontext.KindNumber:
	case jsontext.KindString:
		digits = digits[1 : len(digits)-1]
	default:
		return errors.New("neither a number nor a string")
	}
	if digits == "" || len(digits) > longestAmount || strings.Trim(digits, "0123456789") != "" {
		return fmt.Errorf("%s is not a whole number below 2^256", quote(digits))
	}
	a.Int, _ = new(big.Int).SetString(digits, 10)
	return nil
}

// Tokens returns the amount in whole tokens, to the nearest float64. A whole token is 10^decimals of the
// smallest unit.
func (a Amount) Tokens(decimals uint64) float64 {
	const maxDecimals = 255 // a token's decimals are one byte
	unit := new(big.Int).Exp(big.NewInt(10), new(big.Int).SetUint64(min(decimals, maxDecimals)), nil)
	f, _ := new(big.Rat).SetFrac(a.Int, unit).Float64()
	return f
}

// Money is an amount in a currency.
type Money struct {
	CurrencyCode string     `json:"currencyCode"` // lower case, such as usd
	Value        wire.Float `json:"value"`
}

// The types of X-Chain assets.
const (
	AssetSecp256k1 = "secp256k1"
	AssetNFT       = "nft"
)

// AssetAmount is an amount of an asset of the X-Chain or the P-Chain.
type AssetAmount struct {
	AssetID      string      `json:"assetId"`
	Name         string      `json:"name,omitzero"`
	Symbol       string      `json:"symbol,omitzero"`
	Denomination wire.Uint64 `json:"denomination"` // decimals
	Type         string      `json:"type,omitzero"`
	Amount       Amount      `json:"amount"`
}

// Party is the sender or the recipient of a transfer.
type Party struct {
	Address  string       `json:"address"`
	Name     string       `json:"name,omitzero"`
	Symbol   string       `json:"symbol,omitzero"`
	Decimals *wire.Uint64 `json:"decimals"`
	LogoURI  string       `json:"logoUri,omitzero"`
}
