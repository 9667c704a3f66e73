package simnet

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func TestCB58DecodesRealIDs(t *testing.T) {
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
			t.Errorf("%s round-trips as %s", s, back)
		}
	}
	if b, err := parseCB58(primaryNetworkID, 32); err != nil || !bytes.Equal(b, make([]byte, 32)) {
		t.Errorf("primary network %x, %v, want 32 zeros", b, err)
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

func TestMessageIsSignedByItsSourceSubnet(t *testing.T) {
	net := New(Options{})
	l1 := net.mustChain("examplel1")
	id := must.Get(parseCB58(l1.id, 32))(t)
	message := append([]byte{0, 0, 0, 0, 5, 57}, id...)
	if s := net.sourceSubnet(append(message, 1, 2, 3)); s != l1.subnet {
		t.Errorf("message from examplel1 signed by %s", s.id)
	}
	if s := net.sourceSubnet(message[:37]); s != net.primary {
		t.Errorf("truncated message signed by %s", s.id)
	}
	subnet := must.Get(parseCB58(l1.subnet.id, 32))(t)
	if s := net.subnetNamed(fmt.Sprintf("0x%X", subnet)); s != l1.subnet {
		t.Errorf("not found by its ID in hexadecimal")
	}
}

func TestPastBlocksHaveTheSamePeriod(t *testing.T) {
	origin := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	h := heads{{100, origin, 2 * time.Second}}
	for back, want := range map[time.Duration]head{
		0:               {100, origin},
		time.Second:     {99, origin.Add(-2 * time.Second)},
		3 * time.Second: {98, origin.Add(-4 * time.Second)},
		time.Hour:       {0, origin.Add(-200 * time.Second)},
	} {
		if got := h.at(origin.Add(-back)); got != want || h.timeOf(got.height) != want.time {
			t.Errorf("%v earlier: %v at %v, want %v", back, got, h.timeOf(got.height), want)
		}
	}
	if quiet := (heads{{7, origin, 0}}); quiet.at(origin.Add(-time.Hour)) != (head{7, origin}) {
		t.Errorf("stopped chain: %v", quiet.at(origin.Add(-time.Hour)))
	}
}
