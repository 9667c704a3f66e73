package node

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/avax-exporter/avax-exporter/scrape/cb58"
)

// output is an unspent output of the P- or X-Chain.
type output struct {
	asset    string
	transfer bool // has an amount and owners, unlike an output for an NFT
	amount   uint64

	stakeableUntil uint64 // Unix seconds until which it can be staked but not spent; 0 for none
	locktime       uint64 // Unix seconds until which it can be neither staked nor spent; 0 for none
	owners         uint32
}

// The types of outputs, in the codecs of the P- and X-Chain.
const (
	typeTransfer  = 7
	typeStakeable = 22 // of the P-Chain
)

// parseOutput decodes an output: version, transaction, index, asset, the type of the output, and for an amount: amount, locktime, threshold, number
// of owners and owners. An output that can be staked before it is unlocked has a time and the type of the inner output before that.
func parseOutput(text string) (o output, err error) {
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		return o, fmt.Errorf("output: %w", err)
	}
	if len(raw) < 2+32+4+32+4 {
		return o, fmt.Errorf("output of %d bytes is too short", len(raw))
	}
	o.asset = cb58.Encode(raw[38:70])
	kind, raw := binary.BigEndian.Uint32(raw[70:]), raw[74:]
	if kind == typeStakeable && len(raw) >= 12 {
		o.stakeableUntil = binary.BigEndian.Uint64(raw)
		kind, raw = binary.BigEndian.Uint32(raw[8:]), raw[12:]
	}
	if kind != typeTransfer {
		return o, nil
	}
	if len(raw) < 8 {
		return o, errors.New("output is too short for an amount")
	}
	o.transfer, o.amount = true, binary.BigEndian.Uint64(raw)
	if raw = raw[8:]; len(raw) >= 16 {
		o.locktime, o.owners = binary.BigEndian.Uint64(raw), binary.BigEndian.Uint32(raw[12:])
	}
	return o, nil
}
