package simnet

import (
	"bytes"
	"strings"
	"testing"
)

func TestCB58ReadsRealIDs(t *testing.T) {
	for s, size := range map[string]int{
		primaryNetworkID: 32,
		subnetEVM:        32,
		"2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtof": 32,
		"111111111111111111116DBWJs":                         20,
		"7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg":                  20,
	} {
		b, err := parseCB58(s, size)
		if err != nil {
			t.Errorf("%s: %v", s, err)
		}
		if back := cb58(b); back != s {
			t.Errorf("%s came back as %s", s, back)
		}
	}
	if b, err := parseCB58(primaryNetworkID, 32); err != nil || !bytes.Equal(b, make([]byte, 32)) {
		t.Errorf("the primary network is 32 zeros, got %x, %v", b, err)
	}
	for s, want := range map[string]string{
		"nope": "smaller than the checksum size",
		"2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtog": "invalid input checksum",
		"0OIl":                       "base58 decoding error",
		"111111111111111111116DBWJs": "expected 32 bytes but got 20",
	} {
		if _, err := parseCB58(s, 32); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", s, err, want)
		}
	}
}
