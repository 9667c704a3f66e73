package collectors_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// announced are the addresses that nodes of the network with seed 1 announce.
var announced = map[string]string{"alpha": "198.18.0.1:9651", "foxtrot": "198.18.0.6:9651"}

// dialer opens connections to these addresses.
type dialer struct {
	open   []string
	hangs  bool
	called []string
	others []net.Conn // the other ends
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d.called = append(d.called, network+" "+address)
	if d.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if !slices.Contains(d.open, address) {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	d.others = append(d.others, far)
	return near, nil
}

func stakingPorts(t *testing.T, w world) string {
	t.Helper()
	return collect(t.Context(), t, specOf(t, "staking_port"), w.ups)
}

// One connection per node and run, to the address that the node announces. Nothing is sent, and the connection is closed at once.
func TestStakingPortIsOpenedOnceAndClosed(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		d := &dialer{open: []string{announced["alpha"]}}
		w.ups.Dial = d.dial
		got := stakingPorts(t, w)
		for _, want := range []string{`avax_node_staking_port_open{node="alpha"} 1`, `avax_node_staking_port_open{node="foxtrot"} 0`} {
			if !strings.Contains(got, want) {
				t.Errorf("no %s in\n%s", want, got)
			}
		}
		if want := []string{"tcp " + announced["alpha"], "tcp " + announced["foxtrot"]}; !slices.Equal(d.called, want) {
			t.Errorf("called %q, want %q", d.called, want)
		}
		if n, err := d.others[0].Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("read %d bytes, %v: want a closed connection", n, err)
		}
	})
}

// A firewall that drops packets takes five seconds.
func TestStakingPortThatDoesNotAnswerIsClosed(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		w.ups.Dial = (&dialer{hangs: true}).dial
		began := time.Now()
		if got := stakingPorts(t, w); !strings.Contains(got, `avax_node_staking_port_open{node="alpha"} 0`) || time.Since(began) != 5*time.Second {
			t.Errorf("after %v:\n%s", time.Since(began), got)
		}
	})
}

// The exporter connects to no address that peers cannot use, and does not guess one.
func TestStakingPortOfUnusableAddressIsNotOpened(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		d := &dialer{}
		w.ups.Dial = d.dial
		for ip, want := range map[string]bool{"127.0.0.1:9651": true, "0.0.0.0:9651": true, "169.254.169.254:80": true, "[::1]:9651": true, "192.0.2.1:0": true,
			"host.example:9651": false, "": false} {
			w.replies("info.getNodeIP", `{"ip": "`+ip+`"}`)
			spec := specOf(t, "staking_port")
			out := metric.NewBatch(spec.Families)
			err := spec.Bind(w.ups)[0].Collect(t.Context(), out)
			time.Sleep(2 * time.Hour) // the answer is no longer shared
			if (err == nil) != want {
				t.Errorf("%q: %v", ip, err)
			}
		}
		if len(d.called) > 0 {
			t.Errorf("called %q", d.called)
		}
	})
}
