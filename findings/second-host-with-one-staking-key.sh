#!/bin/sh
# Two hosts of AvalancheGo with the same staking key, as after a move to a new host: each peer keeps the connection that came first. So the second host has no
# connection at all to peers that the first one is connected to, and nothing that it says tells why. When the first one stops, the second one is connected at once.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"crypto"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/message"
	"github.com/ava-labs/avalanchego/network"
	"github.com/ava-labs/avalanchego/network/dialer"
	"github.com/ava-labs/avalanchego/network/peer"
	"github.com/ava-labs/avalanchego/snow/validators"
	"github.com/ava-labs/avalanchego/staking"
	"github.com/ava-labs/avalanchego/utils"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/logging"
	"github.com/ava-labs/avalanchego/version"
	"github.com/prometheus/client_golang/prometheus"
)

const networkID = 12345

type router struct{ connected chan ids.NodeID }

func (router) HandleInbound(context.Context, *message.InboundMessage) {}
func (r router) Connected(id ids.NodeID, _ *version.Application, subnet ids.ID) {
	if subnet == constants.PrimaryNetworkID {
		r.connected <- id
	}
}
func (router) Disconnected(ids.NodeID) {}

type node struct {
	network.Network
	id        ids.NodeID
	address   netip.AddrPort
	connected chan ids.NodeID
}

func start(vdrs validators.Manager, key *tls.Certificate) *node {
	registry := prometheus.NewRegistry()
	config := must(network.NewTestNetworkConfig(registry, networkID, vdrs, nil))
	if key == nil {
		key = must(staking.NewTLSCert())
		check(vdrs.AddStaker(constants.PrimaryNetworkID, ids.NodeIDFromCert(must(staking.ParseCertificate(key.Certificate[0]))), nil, ids.GenerateTestID(), 1))
	}
	config.TLSConfig, config.TLSKey = peer.TLSConfig(*key, nil), key.PrivateKey.(crypto.Signer)
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	address := netip.MustParseAddrPort(listener.Addr().String())
	config.MyNodeID = ids.NodeIDFromCert(must(staking.ParseCertificate(config.TLSConfig.Certificates[0].Certificate[0])))
	config.MyIPPort = utils.NewAtomic(address)
	config.HealthConfig.MinConnectedPeers = 1
	config.NoIngressValidatorConnectionGracePeriod = time.Hour
	config.Beacons = vdrs
	messages := must(message.NewCreator(prometheus.NewRegistry(), config.CompressionType, 10*time.Second))
	n := &node{id: config.MyNodeID, address: address, connected: make(chan ids.NodeID, 9)}
	n.Network = must(network.NewNetwork(config, time.Time{}, messages, registry, logging.NoLog{}, listener,
		dialer.NewDialer("tcp", config.DialerConfig, logging.NoLog{}), router{n.connected}))
	go n.Dispatch()
	return n
}

func main() {
	vdrs := validators.NewManager()
	key := must(staking.NewTLSCert())
	check(vdrs.AddStaker(constants.PrimaryNetworkID, ids.NodeIDFromCert(must(staking.ParseCertificate(key.Certificate[0]))), nil, ids.GenerateTestID(), 1))
	other, old := start(vdrs, nil), start(vdrs, key)
	old.ManuallyTrack(other.id, other.address)
	<-other.connected
	<-old.connected
	fresh := start(vdrs, key) // a second machine with the same staking key
	fresh.ManuallyTrack(other.id, other.address)
	report := func(what string) {
		_, err := fresh.HealthCheck(context.Background())
		fmt.Printf("%s: peers of the old host %d, of the new host %d, which says: %v\n", what, len(old.PeerInfo(nil)), len(fresh.PeerInfo(nil)), err)
	}
	time.Sleep(15 * time.Second) // many attempts to connect
	report("both hosts run")
	old.StartClose()
	<-fresh.connected
	report("the old host stopped")
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego@v1.14.2 >/dev/null 2>&1
{ echo "avalanchego v1.14.2"; GOFLAGS=-mod=mod CGO_ENABLED=1 go run . 2>err || cat err; } | tee got
cat >want <<'WANT'
avalanchego v1.14.2
both hosts run: peers of the old host 1, of the new host 0, which says: network layer is unhealthy reason: not connected to a minimum of 1 peer(s) only 0, no messages received from network
the old host stopped: peers of the old host 0, of the new host 1, which says: <nil>
WANT
cmp want got
