package simnet

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// primaryNetworkID is the ID of the primary network and of the P-Chain. It also means "none".
const primaryNetworkID = "11111111111111111111111111111111LpoYY"

const base58Digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// cb58 encodes bytes in Avalanche's base 58, with a checksum of four bytes.
func cb58(b []byte) string {
	sum := sha256.Sum256(b)
	b = append(bytes.Clone(b), sum[28:]...)
	x, base, digit := new(big.Int).SetBytes(b), big.NewInt(58), new(big.Int)
	var out []byte
	for x.Sign() > 0 {
		x.DivMod(x, base, digit)
		out = append(out, base58Digits[digit.Int64()])
	}
	for _, c := range b {
		if c != 0 {
			break
		}
		out = append(out, '1')
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return string(out)
}

// parseCB58 decodes s. Its errors equal a node's.
func parseCB58(s string, size int) ([]byte, error) {
	x, base := new(big.Int), big.NewInt(58)
	for _, r := range s {
		d := strings.IndexRune(base58Digits, r)
		if d < 0 {
			return nil, errors.New("base58 decoding error")
		}
		x.Add(x.Mul(x, base), big.NewInt(int64(d)))
	}
	zeros := len(s) - len(strings.TrimLeft(s, "1"))
	b := append(make([]byte, zeros), x.Bytes()...)
	if len(b) < 4 {
		return nil, errors.New("input string is smaller than the checksum size")
	}
	b, check := b[:len(b)-4], b[len(b)-4:]
	if sum := sha256.Sum256(b); !bytes.Equal(check, sum[28:]) {
		return nil, errors.New("invalid input checksum")
	}
	if len(b) != size {
		return nil, fmt.Errorf("invalid hash length: expected %d bytes but got %d", size, len(b))
	}
	return b, nil
}

// digest returns bytes that depend only on the seed and the label.
func (t *truth) digest(label ...any) [32]byte {
	return sha256.Sum256(fmt.Appendln(binary.BigEndian.AppendUint64(nil, t.seed), label...))
}

func (t *truth) newID(label ...any) string {
	d := t.digest(label...)
	return cb58(d[:])
}

func (t *truth) newNodeID(label ...any) string {
	d := t.digest(label...)
	return "NodeID-" + cb58(d[:20])
}

// hex returns size bytes in hexadecimal, with the prefix 0x.
func (t *truth) hex(size int, label ...any) string {
	var b []byte
	for i := 0; len(b) < size; i++ {
		d := t.digest(append(label, "#", i)...)
		b = append(b, d[:]...)
	}
	return "0x" + hex.EncodeToString(b[:size])
}

// chance returns a number in [0, 1) that depends only on the seed and the label.
func (t *truth) chance(label ...any) float64 {
	d := t.digest(label...)
	return float64(binary.BigEndian.Uint64(d[:])>>11) / (1 << 53)
}

// The types of parameters. A value that does not parse fails the whole call.
type (
	idParam     string
	nodeIDParam string
	uintParam   uint64 // number or string
)

func (p *idParam) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	_, err := parseCB58(s, 32)
	*p = idParam(s)
	return err
}

func (p *nodeIDParam) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	id, ok := strings.CutPrefix(s, "NodeID-")
	if !ok {
		return errors.New("ID does not begin with NodeID-")
	}
	_, err := parseCB58(id, 20)
	*p = nodeIDParam(s)
	return err
}

func (p *uintParam) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	return json.Unmarshal(bytes.Trim(b, `"`), (*uint64)(p))
}
