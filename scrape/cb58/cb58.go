// Package cb58 reads and writes IDs as Avalanche does: base 58 of the bytes and the last four bytes of their SHA-256.
package cb58

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"github.com/mr-tron/base58"
)

// The errors of Decode.
var (
	ErrDigit    = errors.New("base58 decoding error")
	ErrShort    = errors.New("input string is smaller than the checksum size")
	ErrChecksum = errors.New("invalid input checksum")
)

const checksum = 4

// Encode returns the text of an ID.
func Encode(id []byte) string { return base58.Encode(append(bytes.Clone(id), sum(id)...)) }

// Decode returns the bytes of an ID, without their checksum.
func Decode(text string) ([]byte, error) {
	b, err := base58.Decode(text)
	if err != nil {
		return nil, ErrDigit
	}
	if len(b) < checksum {
		return nil, ErrShort
	}
	id, check := b[:len(b)-checksum], b[len(b)-checksum:]
	if !bytes.Equal(check, sum(id)) {
		return nil, ErrChecksum
	}
	return id, nil
}

func sum(id []byte) []byte {
	whole := sha256.Sum256(id)
	return whole[len(whole)-checksum:]
}
