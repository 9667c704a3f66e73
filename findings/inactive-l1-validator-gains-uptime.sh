#!/bin/sh
# AvalancheGo's uptime tracker of L1s does not count the time in which a validator has no balance, until the observing node restarts: which validators
# are inactive is remembered, but no longer excluded. So two nodes that restarted at different times report different uptimes of one validator.
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
	stays, restarts := memdb.New(), memdb.New()
	var trackers [2]*uptimetracker.UptimeTracker
	open := func(i int, db *memdb.Database) {
		tracker, err := uptimetracker.New(chain, subnet, db, &clock)
		check(err)
		trackers[i] = tracker
		check(tracker.Sync(context.Background()))
		check(tracker.Connect(node))
	}
	after := func(hours int, what string) {
		clock.Set(start.Add(time.Duration(hours) * time.Hour))
		fmt.Printf("%d h, %s:", hours, what)
		for _, tracker := range trackers {
			up, _, err := tracker.GetUptime(validation)
			check(err)
			fmt.Printf(" %.0f h", up.Hours())
		}
		fmt.Println()
	}

	open(0, stays)
	open(1, restarts)
	after(10, "active")
	active, height = false, 2
	for _, tracker := range trackers {
		check(tracker.Sync(context.Background()))
	}
	after(20, "inactive for 10 h")
	check(trackers[1].Shutdown())
	open(1, restarts)
	after(30, "inactive for 20 h, the second observer restarted 10 h ago")
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego@v1.15.0 >/dev/null 2>&1
{ echo "avalanchego v1.15.0"; GOFLAGS=-mod=mod CGO_ENABLED=1 go run . 2>err || cat err; } | tee got
cat >want <<'WANT'
avalanchego v1.15.0
10 h, active: 10 h 10 h
20 h, inactive for 10 h: 10 h 10 h
30 h, inactive for 20 h, the second observer restarted 10 h ago: 10 h 20 h
WANT
cmp want got
