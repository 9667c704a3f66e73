package testworld

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/avax-exporter/avax-exporter/scrape/cb58"
)

// Wallet returns a valid address of the P-Chain, without its chain: 20 bytes that repeat one byte. The prefix is that of the network, such as
// avax.
func Wallet(prefix string, of byte) string {
	const digits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	var groups []byte // of five bits
	for bit := 0; bit < 160; bit += 5 {
		group := byte(0)
		for i := range 5 {
			group = group<<1 | of>>(7-(bit+i)%8)&1
		}
		groups = append(groups, group)
	}
	sum := uint32(1)
	add := func(group byte) {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ uint32(group)
		for i, factor := range []uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= factor
			}
		}
	}
	for _, c := range []byte(prefix) {
		add(c >> 5)
	}
	add(0)
	for _, c := range []byte(prefix) {
		add(c & 31)
	}
	var text strings.Builder
	for _, group := range groups {
		add(group)
		text.WriteByte(digits[group])
	}
	for range 6 {
		add(0)
	}
	for i := range 6 {
		text.WriteByte(digits[(sum^1)>>(5*(5-i))&31])
	}
	return prefix + "1" + text.String()
}

// CB58 returns a valid ID with a prefix, which depends on a number: of 20 bytes after NodeID-, else of 32 bytes.
func CB58(prefix string, of int) string {
	seed := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(of)))
	b := seed[:]
	if prefix != "" {
		b = seed[:20]
	}
	return prefix + cb58.Encode(b)
}
