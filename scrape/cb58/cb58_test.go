package cb58_test

import (
	"errors"
	"testing"

	"github.com/avax-exporter/avax-exporter/scrape/cb58"
)

func TestRealIDsRoundTrip(t *testing.T) {
	for text, size := range map[string]int{
		"11111111111111111111111111111111LpoYY":              32,
		"2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtof": 32,
		"111111111111111111116DBWJs":                         20,
		"7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg":                  20,
	} {
		id, err := cb58.Decode(text)
		if err != nil || len(id) != size || cb58.Encode(id) != text {
			t.Errorf("%s: %d bytes, %v, again %s", text, len(id), err, cb58.Encode(id))
		}
	}
}

func TestWrongIDsAreErrors(t *testing.T) {
	for text, want := range map[string]error{
		"": cb58.ErrDigit, "nope": cb58.ErrShort, "0OIl": cb58.ErrDigit,
		"2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtog": cb58.ErrChecksum,
	} {
		if id, err := cb58.Decode(text); !errors.Is(err, want) {
			t.Errorf("%q: %x, %v, want %v", text, id, err, want)
		}
	}
}
