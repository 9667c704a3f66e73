// Package wire decodes the answers of upstreams: scalars in their different spellings, and objects (see Decode).
//
// The same quantity is a JSON number in one answer and a string in another. A weight is "100" on the P-Chain and 100 on an
// L1; a percent is "99.2004" in one answer and 93.11065 in another. Each scalar type reads both spellings exactly. It rejects
// values that it cannot hold: null, an empty string, NaN, a fraction instead of a whole number, a value out of range. For a
// field that may be absent or null, use a pointer to such a type.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Uint64 is a whole number from 0 to 2^64-1, exact, written as a number or as a string of decimal digits.
type Uint64 uint64

// UnmarshalJSONFrom reads the next value of d.
func (v *Uint64) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	s, err := scalar(d)
	if err != nil {
		return err
	}
	n, err := whole(s)
	*v = Uint64(n)
	return err
}

// Int64 is a whole number from -2^63 to 2^63-1, exact, written as a number or as a string of decimal digits.
type Int64 int64

// UnmarshalJSONFrom reads the next value of d.
func (v *Int64) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	s, err := scalar(d)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s does not fit 64 bits", quote(s))
	}
	if err != nil || strings.HasPrefix(s, "+") {
		return fmt.Errorf("%s is not a whole number", quote(s))
	}
	*v = Int64(n)
	return nil
}

// HexUint64 is an EVM quantity from 0 to 2^64-1: a string of hexadecimal digits after 0x, or a JSON number. A string of
// decimal digits is rejected as ambiguous.
type HexUint64 uint64

// UnmarshalJSONFrom reads the next value of d.
func (v *HexUint64) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	number := d.PeekKind() == '0'
	s, err := scalar(d)
	if err != nil {
		return err
	}
	if number {
		n, err := whole(s)
		*v = HexUint64(n)
		return err
	}
	digits, ok := strings.CutPrefix(s, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s does not fit 64 bits", quote(s))
	}
	if err != nil || !ok {
		return fmt.Errorf("%s is not a hexadecimal quantity such as 0x1f", quote(s))
	}
	*v = HexUint64(n)
	return nil
}

// HexInt is an EVM quantity from 0 without an upper bound, exact, written like HexUint64.
type HexInt struct{ *big.Int }

// UnmarshalJSONFrom reads the next value of d.
func (v *HexInt) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	number := d.PeekKind() == '0'
	s, err := scalar(d)
	if err != nil {
		return err
	}
	digits, base := s, 10
	if !number {
		hex, ok := strings.CutPrefix(s, "0x")
		if digits, base = hex, 16; !ok {
			digits = ""
		}
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok || strings.ContainsAny(digits, "+-_") || len(digits) > longestInt {
		return fmt.Errorf("%s is not a hexadecimal quantity such as 0x1f", quote(s))
	}
	v.Int = n
	return nil
}

// longestInt is the maximum number of digits of a HexInt; 256 bits have 78 decimal digits.
const longestInt = 78

// Height is the height of a block, written like Uint64. A height above maxHeight is rejected.
type Height uint64

// maxHeight is the height that a chain with a thousand blocks per second reaches in 34 years.
const maxHeight = 1 << 40

// UnmarshalJSONFrom reads the next value of d.
func (v *Height) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if err := (*Uint64)(v).UnmarshalJSONFrom(d); err != nil {
		return err
	}
	return checkHeight(uint64(*v))
}

// HexHeight is a Height written like HexUint64.
type HexHeight uint64

// UnmarshalJSONFrom reads the next value of d.
func (v *HexHeight) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if err := (*HexUint64)(v).UnmarshalJSONFrom(d); err != nil {
		return err
	}
	return checkHeight(uint64(*v))
}

func checkHeight(n uint64) error {
	if n > maxHeight {
		return fmt.Errorf("%d is not a height that a chain can have", n)
	}
	return nil
}

// NanoAVAX is an amount in nAVAX, the smallest unit of AVAX: 1 AVAX is 10^9 nAVAX. Add amounts in nAVAX, because these sums
// are exact. Convert only the result to AVAX.
type NanoAVAX uint64

// UnmarshalJSONFrom reads the next value of d.
func (v *NanoAVAX) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return (*Uint64)(v).UnmarshalJSONFrom(d)
}

// AVAX is the amount in AVAX, to the nearest float64.
func (v NanoAVAX) AVAX() float64 { return float64(v) / 1e9 }

// Float is a finite number, written as a number or as a string such as "0.5".
type Float float64

// UnmarshalJSONFrom reads the next value of d.
func (v *Float) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	s, err := scalar(d)
	if err != nil {
		return err
	}
	f, err := finite(s)
	*v = Float(f)
	return err
}

// Percent is a share from 0 to 100, written as a number or as a string such as "99.2004".
type Percent float64

// UnmarshalJSONFrom reads the next value of d.
func (v *Percent) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	s, err := scalar(d)
	if err != nil {
		return err
	}
	f, err := finite(s)
	if err != nil {
		return err
	}
	if f < 0 || f > 100 {
		return fmt.Errorf("%s is not a percent from 0 to 100", quote(s))
	}
	*v = Percent(f)
	return nil
}

// Ratio returns the share from 0 to 1, rounded to nine decimals. No upstream writes more decimals. The rounding removes the
// error of the division by 100: "80.0109" becomes exactly 0.800109.
func (v Percent) Ratio() float64 { return math.Round(float64(v)*1e7) / 1e9 }

// UnixTime is a time in UTC, written as whole Unix seconds in a number or a string.
type UnixTime struct{ time.Time }

// UnmarshalJSONFrom reads the next value of d.
func (v *UnixTime) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	s, err := scalar(d)
	if err != nil {
		return err
	}
	n, err := whole(s)
	if err != nil {
		return err
	}
	if n > lastSecond {
		return fmt.Errorf("%s Unix seconds are after the year 9999", quote(s))
	}
	v.Time = time.Unix(int64(n), 0).UTC()
	return nil
}

// lastSecond is the end of the year 9999 in seconds since 1970.
const lastSecond = 253402300799

// Time is a time in UTC from the year 0001 to 9999, written in RFC 3339.
type Time struct{ time.Time }

// UnmarshalJSONFrom reads the next value of d.
func (v *Time) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '0' {
		return errors.New("a number is not an RFC 3339 time such as 2006-01-02T15:04:05Z")
	}
	s, err := scalar(d)
	if err != nil {
		return err
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return fmt.Errorf("%s is not an RFC 3339 time such as 2006-01-02T15:04:05Z", quote(s))
	}
	v.Time = t.UTC()
	return nil
}

// PastTime is a Time in the past. A time more than 30 days in the future is rejected. A smaller difference is accepted, because
// clocks can be wrong.
type PastTime struct{ time.Time }

// UnmarshalJSONFrom reads the next value of d.
func (v *PastTime) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if err := (*Time)(v).UnmarshalJSONFrom(d); err != nil {
		return err
	}
	return CheckPast(v.Time)
}

// PastUnixTime is a UnixTime in the past. It is checked like PastTime.
type PastUnixTime struct{ time.Time }

// UnmarshalJSONFrom reads the next value of d.
func (v *PastUnixTime) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if err := (*UnixTime)(v).UnmarshalJSONFrom(d); err != nil {
		return err
	}
	return CheckPast(v.Time)
}

// CheckPast returns an error if t is more than 30 days in the future.
func CheckPast(t time.Time) error {
	const clocksDiffer = 30 * 24 * time.Hour
	if time.Until(t) > clocksDiffer {
		return fmt.Errorf("%s is in the future", t.Format(time.RFC3339))
	}
	return nil
}

// Seconds is a duration of 0 or more, written as seconds in a number or a string, precise to the nanosecond.
type Seconds struct{ time.Duration }

// UnmarshalJSONFrom reads the next value of d.
func (v *Seconds) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	s, err := scalar(d)
	if err != nil {
		return err
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil && n <= math.MaxInt64/uint64(time.Second) {
		v.Duration = time.Duration(n) * time.Second
		return nil
	}
	f, err := finite(s)
	if err != nil {
		return err
	}
	if f < 0 {
		return fmt.Errorf("%s seconds is negative", quote(s))
	}
	if f >= math.MaxInt64/1e9 {
		return fmt.Errorf("%s seconds is longer than 292 years", quote(s))
	}
	v.Duration = time.Duration(math.Round(f * 1e9))
	return nil
}

// GoDuration is a duration as Go writes it, such as 1m30.5s.
type GoDuration struct{ time.Duration }

// UnmarshalJSONFrom reads the next value of d.
func (v *GoDuration) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	s, err := scalar(d)
	if err != nil {
		return err
	}
	if v.Duration, err = time.ParseDuration(s); err != nil {
		return fmt.Errorf("%s is not a duration such as 1m30s", quote(s))
	}
	return nil
}

// scalar reads a number or a string and returns its text.
func scalar(d *jsontext.Decoder) (string, error) {
	value, err := d.ReadValue()
	if err != nil {
		return "", err
	}
	switch value.Kind() {
	case '0':
		return string(value), nil
	case '"':
		if bare := value[1 : len(value)-1]; len(bare) > 0 && bytes.IndexByte(bare, '\\') < 0 {
			return string(bare), nil
		}
		text, err := jsontext.AppendUnquote(nil, value)
		if err == nil && len(text) == 0 {
			err = errors.New("an empty string")
		}
		return string(text), err
	default:
		return "", errors.New("neither a number nor a string")
	}
}

func whole(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s does not fit 64 bits", quote(s))
	case strings.HasPrefix(s, "-"):
		return 0, fmt.Errorf("%s is negative", quote(s))
	default:
		return 0, fmt.Errorf("%s is not a whole number", quote(s))
	}
}

// finite parses a JSON number. JSON has no NaN, no Inf and no hexadecimal numbers.
func finite(s string) (float64, error) {
	if value := jsontext.Value(s); value.Kind() != '0' || !value.IsValid() {
		return 0, fmt.Errorf("%s is not a number", quote(s))
	}
	f, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s does not fit a float64", quote(s))
	}
	if err != nil {
		return 0, fmt.Errorf("%s is not a number", quote(s))
	}
	return f, nil
}

// quote shortens a value from an upstream and puts it on one line.
func quote(s string) string {
	const maxLength = 40
	if len(s) > maxLength {
		s = s[:maxLength] + "…"
	}
	return strconv.Quote(s)
}
