#!/bin/sh
# AvalancheGo counts who dialed. A validator that is connected to all other validators, but dialed all of them itself, says that it is unhealthy: "primary
# network validator has no inbound connections" (from 10 minutes after its start on). In a small network that is the node that started last.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/message"
	"github.com/ava-labs/avalanchego/network"
	"github.com/ava-labs/avalanchego/network/dialer"
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

func start(vdrs validators.Manager) *node {
	registry := prometheus.NewRegistry()
	config := must(network.NewTestNetworkConfig(registry, networkID, vdrs, nil))
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	address := netip.MustParseAddrPort(listener.Addr().String())
	config.MyNodeID = ids.NodeIDFromCert(must(staking.ParseCertificate(config.TLSConfig.Certificates[0].Certificate[0])))
	config.MyIPPort = utils.NewAtomic(address)
	config.HealthConfig.MinConnectedPeers = 1
	config.NoIngressValidatorConnectionGracePeriod = time.Millisecond // a node: 10 minutes
	config.Beacons = vdrs
	check(vdrs.AddStaker(constants.PrimaryNetworkID, config.MyNodeID, nil, ids.GenerateTestID(), 1))
	messages := must(message.NewCreator(prometheus.NewRegistry(), config.CompressionType, 10*time.Second))
	n := &node{id: config.MyNodeID, address: address, connected: make(chan ids.NodeID, 9)}
	n.Network = must(network.NewNetwork(config, time.Time{}, messages, registry, logging.NoLog{}, listener,
		dialer.NewDialer("tcp", config.DialerConfig, logging.NoLog{}), router{n.connected}))
	go n.Dispatch()
	return n
}

func main() {
	vdrs := validators.NewManager()
	first, second, last := start(vdrs), start(vdrs), start(vdrs)
	second.ManuallyTrack(first.id, first.address)
	<-first.connected
	last.ManuallyTrack(first.id, first.address)
	last.ManuallyTrack(second.id, second.address)
	for range 2 {
		<-last.connected
		<-second.connected
	}
	<-first.connected
	for i, n := range []*node{first, second, last} {
		_, err := n.HealthCheck(context.Background())
		fmt.Printf("validator %d: connected to %d of 2 others, health check: %v\n", i+1, len(n.PeerInfo(nil)), err)
	}
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
validator 1: connected to 2 of 2 others, health check: <nil>
validator 2: connected to 2 of 2 others, health check: <nil>
validator 3: connected to 2 of 2 others, health check: network layer is unhealthy reason: primary network validator has no inbound connections
WANT
cmp want got
