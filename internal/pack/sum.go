package pack

import "hash/crc32"

// The CRC-32 of two concatenated texts is computed from the CRC-32 of each text: the CRC of the first, shifted by the length of the
// second, plus the CRC of the second. A CRC is a polynomial over GF(2) modulo the polynomial of crc32.IEEE, with the highest power
// in the lowest bit. A shift by one bit is a multiplication by x. See crc32_combine of zlib.

// times multiplies two polynomials.
func times(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			product ^= b
		}
		if b&1 != 0 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return product
}

// powers holds x^8, x^16, x^32, …: the factors for shifts by 1, 2, 4, … bytes.
var powers = func() (p [63]uint32) {
	power := uint32(1) << 30 // x
	for range 3 {
		power = times(power, power)
	}
	for i := range p {
		p[i] = power
		power = times(power, power)
	}
	return p
}()

// shiftBy returns the factor for a shift by n bytes.
func shiftBy(n int) uint32 {
	shift := uint32(1) << 31 // 1
	for i := 0; n > 0; i, n = i+1, n>>1 {
		if n&1 != 0 {
			shift = times(powers[i], shift)
		}
	}
	return shift
}
