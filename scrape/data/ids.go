package data

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/avax-exporter/avax-exporter/scrape/cb58"
)

// Addresses and IDs contain checksums. A check where they are written finds a wrong digit, which the service would answer with an empty list.

var (
	primaryAddress = regexp.MustCompile(`^([PX]-)?([a-z]+)1([qpzry9x8gf2tvdw0s3jn54khce6mua7l]{38})$`)
	errChecksum    = errors.New("a letter or digit is wrong: copy it again")
)

const bech32Digits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// CheckAddress returns an error if s is no address of the P-Chain or the X-Chain, with or without its chain: bech32 of 20 bytes.
func CheckAddress(s string) error {
	parts := primaryAddress.FindStringSubmatch(s)
	if parts == nil {
		return fmt.Errorf("%s: write an address of the P- or X-Chain such as P-avax1… or avax1…", quote(s))
	}
	sum := uint32(1)
	add := func(digit uint32) {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ digit
		for i, factor := range []uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= factor
			}
		}
	}
	for _, c := range parts[2] {
		add(uint32(c) >> 5)
	}
	add(0)
	for _, c := range parts[2] {
		add(uint32(c) & 31)
	}
	for _, c := range parts[3] {
		add(uint32(strings.IndexRune(bech32Digits, c)))
	}
	if sum != 1 {
		return fmt.Errorf("%s: %w", quote(s), errChecksum)
	}
	return nil
}

// AddressNetwork returns the network of an address, by its prefix. It is empty for other networks than Mainnet and Fuji.
func AddressNetwork(address string) string {
	if parts := primaryAddress.FindStringSubmatch(address); parts != nil {
		return map[string]string{"avax": Mainnet, "fuji": Fuji}[parts[2]]
	}
	return ""
}

// BareAddress returns an address without its chain, as the service lists it.
func BareAddress(address string) string {
	return strings.TrimPrefix(strings.TrimPrefix(address, "P-"), "X-")
}

// CheckID returns an error if s is no ID of a transaction, chain, subnet, asset or validation: cb58 of 32 bytes.
func CheckID(s string) error {
	return checkCB58(s, s, 32, "write an ID of about fifty letters and digits")
}

// CheckNodeID returns an error if s is no node ID.
func CheckNodeID(s string) error {
	const write = "write a node ID: NodeID- and about 33 letters and digits"
	digits, ok := strings.CutPrefix(s, "NodeID-")
	if !ok {
		return fmt.Errorf("%s: %s", quote(s), write)
	}
	return checkCB58(s, digits, 20, write)
}

// checkCB58 checks the checksum and the number of bytes.
func checkCB58(s, digits string, size int, write string) error {
	if len(digits) > 3*size { // to decode a long text takes quadratic time
		return fmt.Errorf("%s: %s", quote(s), write)
	}
	switch id, err := cb58.Decode(digits); {
	case err == nil && len(id) == size:
		return nil
	case errors.Is(err, cb58.ErrDigit):
		return fmt.Errorf("%s: %s", quote(s), write)
	case errors.Is(err, cb58.ErrChecksum) && len(digits) >= size:
		return fmt.Errorf("%s: %w", quote(s), errChecksum)
	default: // of another length
		return fmt.Errorf("%s: %w; %s", quote(s), errChecksum, write)
	}
}

// CheckDigits returns an error if s has the form of an address or ID, and its checksum shows that a letter or digit is wrong.
func CheckDigits(s string) error {
	switch {
	case primaryAddress.MatchString(s):
		return CheckAddress(s)
	case strings.HasPrefix(s, "NodeID-"):
		return CheckNodeID(s)
	case idForm.MatchString(s):
		return CheckID(s)
	}
	return CheckEVMAddress(s)
}

var idForm = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{36,60}$`)
