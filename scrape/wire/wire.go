// Package wire decodes the answers of upstreams: scalars in their different spellings, and objects (see Decode).
//
// The same quantity is a JSON number in one answer and a string in another. A weight is "100" on the P-Chain and 100 on an
// L1; a percent is "99.2004" in one answer and 93.11065 in another. Each scalar type reads both spellings exactly. It rejects
// values that it cannot hold: null, an empty string, NaN, a fraction instead of a whole number, a value out of range. For a
// field that may be absent or null, use a pointer to such a type.
package wire

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/crypto/sha3"
)

// Uint64 is a whole number from 0 to 2^64-1, exact, written as a number or as a string of decimal digits.
type Uint64 uint64

func (v *Uint64) UnmarshalJSONFrom(d *jsontext.Decoder) error { return scan(d, (*uint64)(v), whole) }

// HexUint64 is an EVM quantity from 0 to 2^64-1: a string of hexadecimal digits after 0x, or a JSON number. A string of
// decimal digits is rejected as ambiguous.
type HexUint64 uint64

func (v *HexUint64) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '0' {
		return scan(d, (*uint64)(v), whole)
	}
	return scan(d, (*uint64)(v), func(s string) (uint64, error) {
		digits, ok := strings.CutPrefix(s, "0x")
		n, err := strconv.ParseUint(digits, 16, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || !ok {
			err = errors.New("is not a hexadecimal quantity such as 0x1f")
		}
		return n, err
	})
}

// BigInt is a whole number from 0 to 2^256-1, exact, written as a number, as a string of decimal digits, or as a string of
// hexadecimal digits after 0x.
type BigInt struct{ *big.Int }

func (v *BigInt) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return scan(d, &v.Int, func(s string) (*big.Int, error) {
		digits, base := s, 10
		if hex, ok := strings.CutPrefix(s, "0x"); ok {
			digits, base = hex, 16
		}
		const longest = 78 // decimal digits of 2^256
		n, ok := new(big.Int).SetString(digits, base)
		if !ok || strings.ContainsAny(digits, "+-_") || len(digits) > longest || n.BitLen() > 256 {
			return nil, errors.New("is not a whole number below 2^256")
		}
		return n, nil
	})
}

// Decimals is the number of decimal places of a token. It is one byte on every chain: a larger number is rejected, because amounts are divided by a power
// of ten.
type Decimals uint64

func (v *Decimals) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return scan(d, (*uint64)(v), func(s string) (uint64, error) {
		n, err := whole(s)
		if err == nil && n > math.MaxUint8 {
			err = errors.New("is not a number of decimal places from 0 to 255")
		}
		return n, err
	})
}

// Tokens returns an amount in whole tokens, to the nearest float64. A whole token is 10^decimals of the smallest unit.
func (v BigInt) Tokens(decimals Decimals) float64 {
	unit := new(big.Int).Exp(big.NewInt(10), new(big.Int).SetUint64(uint64(decimals)), nil)
	f, _ := new(big.Rat).SetFrac(v.Int, unit).Float64()
	return f
}

// Height is the height of a block, written like Uint64 or HexUint64. A height above maxHeight is rejected.
type Height uint64

// maxHeight is the height that a chain with a thousand blocks per second reaches in 34 years.
const maxHeight = 1 << 40

func (v *Height) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return scan(d, (*uint64)(v), func(s string) (n uint64, err error) {
		if hex, ok := strings.CutPrefix(s, "0x"); ok {
			n, err = strconv.ParseUint(hex, 16, 64)
		} else {
			n, err = whole(s)
		}
		if err == nil && n > maxHeight {
			err = errors.New("is not a height that a chain can have")
		}
		return n, err
	})
}

// NanoAVAX is an amount in nAVAX, the smallest unit of AVAX: 1 AVAX is 10^9 nAVAX. Add amounts in nAVAX, because these sums
// are exact. Convert only the result to AVAX.
type NanoAVAX uint64

func (v *NanoAVAX) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return (*Uint64)(v).UnmarshalJSONFrom(d)
}

// AVAX is the amount in AVAX, to the nearest float64.
func (v NanoAVAX) AVAX() float64 { return float64(v) / 1e9 }

// Float is a finite number, written as a number or as a string such as "0.5".
type Float float64

func (v *Float) UnmarshalJSONFrom(d *jsontext.Decoder) error { return scan(d, (*float64)(v), finite) }

// Amount is a finite number that is not negative, written like Float.
type Amount float64

func (v *Amount) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return scan(d, (*float64)(v), func(s string) (float64, error) {
		f, err := finite(s)
		if err == nil && f < 0 {
			err = errors.New("is negative")
		}
		return f, err
	})
}

// List is a list that is never null, because its length means something.
type List[T any] []T

func (l *List[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == jsontext.KindNull {
		return errors.Join(d.SkipValue(), unexpected(d, "null"))
	}
	var list []T
	err := Decode(d, &list)
	*l = list
	return err
}

// Percent is a share from 0 to 100, written as a number or as a string such as "99.2004".
type Percent float64

func (v *Percent) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return scan(d, (*float64)(v), func(s string) (float64, error) {
		f, err := finite(s)
		if err == nil && (f < 0 || f > 100) {
			err = errors.New("is not a percent from 0 to 100")
		}
		return f, err
	})
}

// Ratio returns the share from 0 to 1, rounded to nine decimals. No upstream writes more decimals. The rounding removes the
// error of the division by 100: "80.0109" becomes exactly 0.800109.
func (v Percent) Ratio() float64 { return math.Round(float64(v)*1e7) / 1e9 }

// UnixTime is a time in UTC up to the year 9999, written as whole Unix seconds in a number or a string.
type UnixTime struct{ time.Time }

func (v *UnixTime) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return scan(d, &v.Time, func(s string) (time.Time, error) {
		n, err := whole(s)
		if err == nil && n > LastSecond {
			err = errors.New("is after the year 9999")
		}
		return time.Unix(int64(min(n, LastSecond)), 0).UTC(), err
	})
}

// LastSecond is the end of the year 9999 in seconds since 1970.
const LastSecond = 253402300799

// Time is a time in UTC from the year 0001 to 9999, written in RFC 3339.
type Time struct{ time.Time }

func (v *Time) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return scan(d, &v.Time, func(s string) (time.Time, error) {
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			err = errors.New("is not an RFC 3339 time such as 2006-01-02T15:04:05Z")
		}
		return t.UTC(), err
	})
}

// PastTime is a Time in the past: see CheckPast.
type PastTime struct{ time.Time }

func (v *PastTime) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return errors.Join((*Time)(v).UnmarshalJSONFrom(d), CheckPast(v.Time))
}

// PastUnixTime is a UnixTime in the past: see CheckPast.
type PastUnixTime struct{ time.Time }

func (v *PastUnixTime) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return errors.Join((*UnixTime)(v).UnmarshalJSONFrom(d), CheckPast(v.Time))
}

// CheckPast returns an error if t is more than 30 days in the future. A smaller difference is accepted, because clocks can be
// wrong.
func CheckPast(t time.Time) error {
	const clocksDiffer = 30 * 24 * time.Hour
	if time.Until(t) > clocksDiffer {
		return fmt.Errorf("%s is in the future", t.Format(time.RFC3339))
	}
	return nil
}

// Seconds is a duration of 0 or more, written as seconds in a number or a string, precise to the nanosecond.
type Seconds struct{ time.Duration }

func (v *Seconds) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return scan(d, &v.Duration, func(s string) (time.Duration, error) {
		if n, err := strconv.ParseUint(s, 10, 64); err == nil && n <= math.MaxInt64/uint64(time.Second) {
			return time.Duration(n) * time.Second, nil
		}
		f, err := finite(s)
		switch {
		case err != nil:
		case f < 0:
			err = errors.New("is negative")
		case f >= math.MaxInt64/1e9:
			err = errors.New("is longer than 292 years")
		}
		return time.Duration(math.Round(f * 1e9)), err
	})
}

// GoDuration is a duration as Go writes it, such as 1m30.5s.
type GoDuration struct{ time.Duration }

func (v *GoDuration) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return scan(d, &v.Duration, func(s string) (time.Duration, error) {
		duration, err := time.ParseDuration(s)
		if err != nil {
			err = errors.New("is not a duration such as 1m30s")
		}
		return duration, err
	})
}

// Count is the number of elements of a list. The elements are not stored.
type Count int

func (v *Count) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*v = 0
	return Elements(d, func() error {
		*v++
		return d.SkipValue()
	})
}

// scan reads a number or a string, and parses its text. An error names the text before the error of parse.
func scan[T any](d *jsontext.Decoder, into *T, parse func(string) (T, error)) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	text := token.String()
	switch {
	case token.Kind() != '0' && token.Kind() != '"':
		err = errors.New("neither a number nor a string")
	case text == "":
		err = errors.New("an empty string")
	default:
		var value T
		switch value, err = parse(text); {
		case errors.Is(err, strconv.ErrRange):
			err = fmt.Errorf("%s does not fit 64 bits", quote(text))
		case err != nil:
			err = fmt.Errorf("%s %w", quote(text), err)
		default:
			*into = value // a number out of bounds is nowhere
		}
	}
	return err
}

func whole(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		err = errors.New("is not a whole number of 0 or more")
	}
	return n, err
}

// finite parses a JSON number. JSON has no NaN, no Inf and no hexadecimal numbers.
func finite(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if value := jsontext.Value(s); err != nil && !errors.Is(err, strconv.ErrRange) || value.Kind() != '0' || !value.IsValid() {
		err = errors.New("is not a number")
	}
	return f, err
}

// quote shortens a value from an upstream and puts it on one line.
func quote(s string) string {
	const maxLength = 40
	if len(s) > maxLength {
		s = s[:maxLength] + "…"
	}
	return strconv.Quote(s)
}

// Keccak256 returns the hash that EVM chains use, in hex digits.
func Keccak256(text string) string {
	hash := sha3.NewLegacyKeccak256()
	hash.Write([]byte(text))
	return hex.EncodeToString(hash.Sum(nil))
}
