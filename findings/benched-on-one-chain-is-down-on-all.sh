#!/bin/sh
# To AvalancheGo, a validator that is benched on one chain is disconnected from all chains: the P-Chain stops counting its uptime, although the connection is
# there and info.peers lists the validator. So a validator that does not answer about one chain, as with partial-sync-primary-network, loses its reward.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main_test.go <<'GO'
package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/message"
	"github.com/ava-labs/avalanchego/snow"
	"github.com/ava-labs/avalanchego/snow/networking/benchlist"
	"github.com/ava-labs/avalanchego/snow/networking/handler"
	"github.com/ava-labs/avalanchego/snow/networking/router"
	"github.com/ava-labs/avalanchego/snow/networking/timeout"
	"github.com/ava-labs/avalanchego/snow/snowtest"
	"github.com/ava-labs/avalanchego/snow/uptime"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/logging"
	"github.com/ava-labs/avalanchego/utils/set"
	"github.com/ava-labs/avalanchego/utils/timer"
	"github.com/ava-labs/avalanchego/utils/timer/mockable"
	"github.com/ava-labs/avalanchego/version"
	"github.com/prometheus/client_golang/prometheus"
)

// chain passes what the router tells the P-Chain to its uptime manager.
type chain struct {
	handler.Handler
	ctx    *snow.ConsensusContext
	uptime uptime.Manager
}

func (c chain) Context() *snow.ConsensusContext { return c.ctx }
func (c chain) SetOnStopped(func())             {}

func (c chain) Push(_ context.Context, m handler.Message) {
	if c.uptime == nil {
		return
	}
	var err error
	switch m.Op {
	case message.ConnectedOp:
		err = c.uptime.Connect(m.NodeID)
	case message.DisconnectedOp:
		err = c.uptime.Disconnect(m.NodeID)
	}
	check(err)
}

func Test(t *testing.T) {
	clock := &mockable.Clock{}
	now := time.Unix(1_700_000_000, 0)
	clock.Set(now)
	validator := ids.GenerateTestNodeID()
	state := uptime.NewTestState()
	state.AddNode(validator, now)
	manager := uptime.NewManager(state, clock)
	check(manager.StartTracking([]ids.NodeID{validator}))
	timeouts, err := timeout.NewManager(&timer.AdaptiveTimeoutConfig{
		InitialTimeout: time.Second, MinimumTimeout: time.Second, MaximumTimeout: 10 * time.Second, TimeoutCoefficient: 1.25, TimeoutHalflife: time.Minute,
	}, benchlist.NewNoBenchlist(), prometheus.NewRegistry(), prometheus.NewRegistry())
	check(err)
	r := &router.ChainRouter{}
	check(r.Initialize(ids.EmptyNodeID, logging.NoLog{}, timeouts, time.Second, nil, true, set.Set[ids.ID]{}, nil, router.HealthConfig{}, prometheus.NewRegistry()))
	var x ids.ID
	for _, p := range []bool{true, false} {
		ctx := snowtest.ConsensusContext(snowtest.Context(t, ids.GenerateTestID()))
		ctx.SubnetID = constants.PrimaryNetworkID
		c := chain{ctx: ctx}
		if p {
			c.uptime = manager
		} else {
			x = ctx.ChainID
		}
		r.AddChain(t.Context(), c)
	}
	show := func(what string) {
		now = now.Add(time.Hour)
		clock.Set(now)
		up, err := manager.CalculateUptimePercent(validator)
		check(err)
		fmt.Printf("%s: uptime %.0f %%\n", what, 100*up)
	}
	r.Connected(validator, version.Current, constants.PrimaryNetworkID)
	show("an hour connected")
	r.Benched(x, validator)
	show("an hour benched on X")
	r.Unbenched(x, validator)
	show("an hour later")
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego@v1.15.0 >/dev/null 2>&1
{ echo "avalanchego v1.15.0"; GOFLAGS=-mod=mod CGO_ENABLED=1 go test -count=1 -v . 2>err | grep hour || cat err; } | tee got
cat >want <<'WANT'
avalanchego v1.15.0
an hour connected: uptime 100 %
an hour benched on X: uptime 50 %
an hour later: uptime 67 %
WANT
cmp want got
