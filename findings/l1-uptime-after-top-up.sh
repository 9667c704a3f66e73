#!/bin/sh
# AvalancheGo's uptime tracker of L1s takes a validator that becomes active again for connected. Its uptime rises while its node is off, and falls by the
# same time when the node connects: the figure of uptimeSeconds in validators.getCurrentValidators is no counter.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ava-labs/avalanchego/database/memdb"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow/validators"
	"github.com/ava-labs/avalanchego/snow/validators/validatorstest"
	"github.com/ava-labs/avalanchego/utils/timer/mockable"
	"github.com/ava-labs/avalanchego/vms/evm/uptimetracker"
)

func main() {
	start := time.Unix(1_700_000_000, 0)
	subnet, validation, node := ids.GenerateTestID(), ids.GenerateTestID(), ids.GenerateTestNodeID()
	active, height := true, uint64(1)
	chain := &validatorstest.State{
		GetCurrentValidatorSetF: func(context.Context, ids.ID) (map[ids.ID]*validators.GetCurrentValidatorOutput, uint64, error) {
			return map[ids.ID]*validators.GetCurrentValidatorOutput{validation: {
				ValidationID: validation, NodeID: node, Weight: 1, StartTime: uint64(start.Unix()), IsActive: active, IsL1Validator: true,
			}}, height, nil
		},
	}
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	var clock mockable.Clock
	clock.Set(start)
	tracker, err := uptimetracker.New(chain, subnet, memdb.New(), &clock)
	check(err)
	becomes := func(is bool) {
		active, height = is, height+1
		check(tracker.Sync(context.Background()))
	}
	after := func(hours int, what string) {
		clock.Set(start.Add(time.Duration(hours) * time.Hour))
		up, now, err := tracker.GetUptime(validation)
		check(err)
		fmt.Printf("%2.0f h, %s: up for %.0f h\n", now.Sub(start).Hours(), what, up.Hours())
	}

	becomes(true)
	check(tracker.Connect(node))
	after(10, "active and connected")
	becomes(false)
	after(20, "inactive and connected")
	check(tracker.Disconnect(node))
	after(30, "inactive and disconnected")
	becomes(true)
	after(40, "active and disconnected")
	check(tracker.Connect(node))
	after(40, "connected at this moment")
	after(50, "active and connected")
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego@v1.15.0 >/dev/null 2>&1
{ echo "avalanchego v1.15.0"; GOFLAGS=-mod=mod CGO_ENABLED=1 go run . 2>err || cat err; } | tee got
cat >want <<'WANT'
avalanchego v1.15.0
10 h, active and connected: up for 10 h
20 h, inactive and connected: up for 10 h
30 h, inactive and disconnected: up for 10 h
40 h, active and disconnected: up for 20 h
40 h, connected at this moment: up for 10 h
50 h, active and connected: up for 20 h
WANT
cmp want got
