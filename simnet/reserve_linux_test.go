package simnet_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// If another program got the port of a stopped upstream, it would answer in its place.
func TestReservedPortIsGivenToNoOther(t *testing.T) {
	const many = 300
	reserved := map[string]bool{}
	for range many {
		address, release, err := simnet.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		reserved[address] = true
	}
	if len(reserved) != many {
		t.Errorf("%d different addresses of %d", len(reserved), many)
	}
	for address := range reserved {
		if conn, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("connection without a listener: %v, %v", conn, err)
		}
		for range 2 { // a restart
			l := must.Get(net.Listen("tcp", address))(t)
			if other, err := net.Listen("tcp", address); err == nil {
				t.Errorf("two listeners on %v", other.Addr())
			}
			_ = l.Close()
		}
	}
	for range 10 * many { // with free ports instead, about thirty of these would be among the reserved addresses
		l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		if reserved[l.Addr().String()] {
			t.Errorf("%v is not reserved", l.Addr())
		}
		_ = l.Close()
	}
}
