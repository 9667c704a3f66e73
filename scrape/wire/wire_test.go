package wire_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// read decodes one JSON value and returns it, or the error, as text.
func read[T any](in string) string {
	var v T
	if err := json.Unmarshal([]byte(in), &v); err != nil {
		text := err.Error()
		return "error: " + text[strings.LastIndex(text, `wire.`)+5:]
	}
	return fmt.Sprint(v)
}

func TestScalarsReadBothSpellings(t *testing.T) {
	for _, c := range []struct {
		read func(string) string
		in   string
		want string
	}{
		{read[wire.Uint64], `18446744073709551615`, `18446744073709551615`},
		{read[wire.Uint64], `"18446744073709551615"`, `18446744073709551615`},
		{read[wire.Uint64], `"0"`, `0`},
		{read[wire.Uint64], `"\u0031\u0032"`, `12`},
		{read[wire.Uint64], `18446744073709551616`, `error: Uint64: "18446744073709551616" does not fit 64 bits`},
		{read[wire.Uint64], `-1`, `error: Uint64: "-1" is not a whole number of 0 or more`},
		{read[wire.Uint64], `"-1"`, `error: Uint64: "-1" is not a whole number of 0 or more`},
		{read[wire.Uint64], `1.5`, `error: Uint64: "1.5" is not a whole number of 0 or more`},
		{read[wire.Uint64], `1e3`, `error: Uint64: "1e3" is not a whole number of 0 or more`},
		{read[wire.Uint64], `"0x10"`, `error: Uint64: "0x10" is not a whole number of 0 or more`},
		{read[wire.Uint64], `" 7"`, `error: Uint64: " 7" is not a whole number of 0 or more`},
		{read[wire.Uint64], `""`, `error: Uint64: an empty string`},
		{read[wire.Uint64], `null`, `error: Uint64: neither a number nor a string`},
		{read[wire.Uint64], `true`, `error: Uint64: neither a number nor a string`},
		{read[wire.Uint64], `{}`, `error: Uint64: neither a number nor a string`},
		{read[wire.Uint64], `"` + strings.Repeat("x", 99) + `"`, `error: Uint64: "` + strings.Repeat("x", 40) + `…" is not a whole number of 0 or more`},

		{read[wire.BigInt], `"0x3b9aca00"`, `1000000000`},
		{read[wire.BigInt], `"0x10000000000000000"`, `18446744073709551616`},
		{read[wire.BigInt], `18446744073709551616`, `18446744073709551616`},
		{read[wire.BigInt], `"0x` + strings.Repeat("f", 64) + `"`, `115792089237316195423570985008687907853269984665640564039457584007913129639935`},
		{read[wire.BigInt], `"0x` + strings.Repeat("f", 99) + `"`, `error: BigInt: "0x` + strings.Repeat("f", 38) + `…" is not a whole number below 2^256`},
		{read[wire.BigInt], `"16"`, `16`},
		{read[wire.BigInt], `"0x"`, `error: BigInt: "0x" is not a whole number below 2^256`},
		{read[wire.BigInt], `"0x-1"`, `error: BigInt: "0x-1" is not a whole number below 2^256`},
		{read[wire.BigInt], `-1`, `error: BigInt: "-1" is not a whole number below 2^256`},
		{read[wire.BigInt], `1.5`, `error: BigInt: "1.5" is not a whole number below 2^256`},
		{read[wire.BigInt], `null`, `error: BigInt: neither a number nor a string`},

		{read[wire.GoDuration], `"1m30.5s"`, `1m30.5s`},
		{read[wire.GoDuration], `"0s"`, `0s`},
		{read[wire.GoDuration], `"soon"`, `error: GoDuration: "soon" is not a duration such as 1m30s`},
		{read[wire.GoDuration], `""`, `error: GoDuration: an empty string`},

		{read[wire.HexUint64], `"0x1869f"`, `99999`},
		{read[wire.HexUint64], `"0xffffffffffffffff"`, `18446744073709551615`},
		{read[wire.HexUint64], `99999`, `99999`},
		{read[wire.HexUint64], `"0x10000000000000000"`, `error: HexUint64: "0x10000000000000000" does not fit 64 bits`},
		{read[wire.HexUint64], `"99999"`, `error: HexUint64: "99999" is not a hexadecimal quantity such as 0x1f`},
		{read[wire.HexUint64], `"0x"`, `error: HexUint64: "0x" is not a hexadecimal quantity such as 0x1f`},
		{read[wire.HexUint64], `"0x-1"`, `error: HexUint64: "0x-1" is not a hexadecimal quantity such as 0x1f`},

		{read[wire.NanoAVAX], `"2000000000000000"`, `2000000000000000`},

		{read[wire.Float], `1.98`, `1.98`},
		{read[wire.Float], `"42.42"`, `42.42`},
		{read[wire.Float], `-3e2`, `-300`},
		{read[wire.Float], `"NaN"`, `error: Float: "NaN" is not a number`},
		{read[wire.Float], `"Inf"`, `error: Float: "Inf" is not a number`},
		{read[wire.Float], `"0x1p4"`, `error: Float: "0x1p4" is not a number`},
		{read[wire.Float], `1e999`, `error: Float: "1e999" does not fit 64 bits`},
		{read[wire.Float], `" 1"`, `error: Float: " 1" is not a number`},

		{read[wire.Percent], `"99.2004"`, `99.2004`},
		{read[wire.Percent], `100`, `100`},
		{read[wire.Percent], `93.11065`, `93.11065`},
		{read[wire.Percent], `100.5`, `error: Percent: "100.5" is not a percent from 0 to 100`},
		{read[wire.Percent], `"-0.1"`, `error: Percent: "-0.1" is not a percent from 0 to 100`},
		{read[wire.Percent], `""`, `error: Percent: an empty string`},

		{read[wire.UnixTime], `1795197655`, `2026-11-20 18:00:55 +0000 UTC`},
		{read[wire.UnixTime], `"1795197655"`, `2026-11-20 18:00:55 +0000 UTC`},
		{read[wire.UnixTime], `253402300799`, `9999-12-31 23:59:59 +0000 UTC`},
		{read[wire.UnixTime], `253402300800`, `error: UnixTime: "253402300800" is after the year 9999`},
		{read[wire.UnixTime], `-1`, `error: UnixTime: "-1" is not a whole number of 0 or more`},

		{read[wire.Time], `"9999-12-01T00:00:00Z"`, `9999-12-01 00:00:00 +0000 UTC`},
		{read[wire.Time], `"0001-01-01T00:00:00Z"`, `0001-01-01 00:00:00 +0000 UTC`},
		{read[wire.Time], `"2026-11-20T20:09:25.5+02:00"`, `2026-11-20 18:09:25.5 +0000 UTC`},
		{read[wire.Time], `"2026-11-20"`, `error: Time: "2026-11-20" is not an RFC 3339 time such as 2006-01-02T15:04:05Z`},
		{read[wire.Time], `1795197655`, `error: Time: "1795197655" is not an RFC 3339 time such as 2006-01-02T15:04:05Z`},

		{read[wire.Seconds], `"600"`, `10m0s`},
		{read[wire.Seconds], `510`, `8m30s`},
		{read[wire.Seconds], `0.25`, `250ms`},
		{read[wire.Seconds], `9223372036`, `2562047h47m16s`},
		{read[wire.Seconds], `9223372037`, `error: Seconds: "9223372037" is longer than 292 years`},
		{read[wire.Seconds], `-1`, `error: Seconds: "-1" is negative`},
	} {
		if got := c.read(c.in); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestNullAndAbsentPointersStayNil(t *testing.T) {
	var v struct {
		Null   *wire.Uint64   `json:"null"`
		Absent *wire.UnixTime `json:"absent"`
		Zero   *wire.Uint64   `json:"zero"`
	}
	must.Do(t, json.Unmarshal([]byte(`{"null":null,"zero":"0"}`), &v))
	if v.Null != nil || v.Absent != nil || v.Zero == nil || *v.Zero != 0 {
		t.Errorf("got %+v", v)
	}
}

func TestUnitConversion(t *testing.T) {
	if got := wire.NanoAVAX(2000000000500000000).AVAX(); got != 2000000000.5 {
		t.Errorf("AVAX: got %v", got)
	}
	if got := wire.Percent(99.5).Ratio(); got != 0.995 {
		t.Errorf("Ratio: got %v", got)
	}
}

// spell writes a value as a number or as a string.
func spell(t *rapid.T, s string) []byte {
	if rapid.Bool().Draw(t, "string") {
		return strconv.AppendQuote(nil, s)
	}
	return []byte(s)
}

func decode[T any](t *rapid.T, in []byte) T {
	var v T
	if err := json.Unmarshal(in, &v); err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	return v
}

func TestValuesRoundTripInBothSpellings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.Uint64().Draw(t, "u")
		if got := decode[wire.Uint64](t, spell(t, strconv.FormatUint(u, 10))); uint64(got) != u {
			t.Fatalf("Uint64: got %d, want %d", got, u)
		}
		if got := decode[wire.HexUint64](t, fmt.Appendf(nil, `"%#x"`, u)); uint64(got) != u {
			t.Fatalf("HexUint64: got %d, want %d", got, u)
		}
		f := rapid.Float64().Filter(func(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }).Draw(t, "f")
		if got := decode[wire.Float](t, spell(t, strconv.FormatFloat(f, 'g', -1, 64))); float64(got) != f {
			t.Fatalf("Float: got %v, want %v", got, f)
		}
		p := rapid.Float64Range(0, 100).Draw(t, "p")
		if got := decode[wire.Percent](t, spell(t, strconv.FormatFloat(p, 'f', 4, 64))).Ratio(); math.Abs(got-p/100) > 1e-6 {
			t.Fatalf("Percent: got %v, want %v", got, p/100)
		}
		at := time.Unix(rapid.Int64Range(0, 253402300799).Draw(t, "at"), 0).UTC()
		if got := decode[wire.UnixTime](t, spell(t, strconv.FormatInt(at.Unix(), 10))); !got.Equal(at) {
			t.Fatalf("UnixTime: got %v, want %v", got, at)
		}
		if got := decode[wire.Time](t, fmt.Appendf(nil, "%q", at.Format(time.RFC3339))); !got.Equal(at) {
			t.Fatalf("Time: got %v, want %v", got, at)
		}
		s := rapid.Int64Range(0, math.MaxInt64/int64(time.Second)).Draw(t, "s")
		if got := decode[wire.Seconds](t, spell(t, strconv.FormatInt(s, 10))); got.Duration != time.Duration(s)*time.Second {
			t.Fatalf("Seconds: got %v, want %ds", got, s)
		}
	})
}

func FuzzScalarsRejectNonNumbers(f *testing.F) {
	for _, s := range []string{`1`, `"1"`, `"NaN"`, `-0`, `"0x1"`, `null`, `1e400`, `"9999-12-01T00:00:00Z"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if !jsontext.Value(in).IsValid() {
			return
		}
		var u wire.Uint64
		var x wire.Float
		var p wire.Percent
		var s wire.Seconds
		if json.Unmarshal(in, &u) != nil && u != 0 {
			t.Errorf("Uint64 %d from %q with an error", u, in)
		}
		if err := json.Unmarshal(in, &x); err == nil && (math.IsNaN(float64(x)) || math.IsInf(float64(x), 0)) {
			t.Errorf("Float: %q decoded to %v", in, x)
		}
		if err := json.Unmarshal(in, &p); err == nil && !(p >= 0 && p <= 100) {
			t.Errorf("Percent: %q decoded to %v", in, p)
		}
		if err := json.Unmarshal(in, &s); err == nil && s.Duration < 0 {
			t.Errorf("Seconds: %q decoded to %v", in, s)
		}
	})
}

func TestImpossibleHeightsAndTimesAreRejected(t *testing.T) {
	at := func(after time.Duration) (rfc, unix string) {
		then := time.Now().Add(after)
		return `"` + then.Format(time.RFC3339) + `"`, strconv.FormatInt(then.Unix(), 10)
	}
	soon, soonUnix := at(24 * time.Hour)
	far, farUnix := at(31 * 24 * time.Hour)
	for in, refused := range map[string]bool{
		read[wire.Height](`1099511627776`):                   false,
		read[wire.Height](`"1099511627777"`):                 true,
		read[wire.Height](`"0x10000000000"`):                 false,
		read[wire.Height](`"0xffffffffffffffff"`):            true,
		read[wire.PastTime](soon):                            false,
		read[wire.PastTime](far):                             true,
		read[wire.PastTime](`"0001-01-01T00:00:00Z"`):        false,
		read[wire.PastUnixTime](soonUnix):                    false,
		read[wire.PastUnixTime](farUnix):                     true,
		read[wire.PastUnixTime](`"253402300799"`) + " again": true,
	} {
		if strings.HasPrefix(in, "error: ") != refused {
			t.Errorf("%s: rejected must be %t", in, refused)
		}
	}
}

// Amounts are divided by a power of ten: a number of decimal places that no token can have would take memory and time without end.
func TestImpossibleDecimalsAreRejected(t *testing.T) {
	for text, want := range map[string]bool{`9`: true, `"18"`: true, `255`: true, `256`: false, `2000000`: false, `300000000`: false, `-1`: false, `1e9`: false} {
		if got := read[wire.Decimals](text); strings.HasPrefix(got, "error: ") == want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
