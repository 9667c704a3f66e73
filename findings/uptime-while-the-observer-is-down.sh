#!/bin/sh
# AvalancheGo's uptime manager counts the time in which the observing node itself was down as uptime of every validator. A validator that was never
# connected has 100 % right after the observer's start. While the observer runs, only connected time counts.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"time"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow/uptime"
	"github.com/ava-labs/avalanchego/utils/timer/mockable"
)

func main() {
	start := time.Unix(1_700_000_000, 0)
	var clock mockable.Clock
	state := uptime.NewTestState()
	met, never := ids.BuildTestNodeID([]byte{1}), ids.BuildTestNodeID([]byte{2})
	all := []ids.NodeID{met, never}
	for _, id := range all {
		state.AddNode(id, start)
	}
	var observer uptime.Manager
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	show := func(hours int, what string) {
		fmt.Printf("%d h, %s:", hours, what)
		for _, id := range all {
			share, err := observer.CalculateUptimePercent(id)
			check(err)
			fmt.Printf(" %.1f %%", 100*share)
		}
		fmt.Println()
	}
	at := func(hours int) { clock.Set(start.Add(time.Duration(hours) * time.Hour)) }

	at(0)
	observer = uptime.NewManager(state, &clock)
	check(observer.StartTracking(all))
	check(observer.Connect(met))
	at(10)
	show(10, "one connected, one never")
	check(observer.StopTracking(all))

	at(90) // nobody was connected for 80 hours
	observer = uptime.NewManager(state, &clock)
	check(observer.StartTracking(all))
	show(90, "after 80 h without the observer")
	at(100)
	show(100, "10 h later, nobody connected")
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego/snow/uptime@v1.15.0 >/dev/null 2>&1
{ echo "avalanchego v1.15.0"; GOFLAGS=-mod=mod CGO_ENABLED=0 go run . 2>err || cat err; } | tee got
cat >want <<'WANT'
avalanchego v1.15.0
10 h, one connected, one never: 100.0 % 0.0 %
90 h, after 80 h without the observer: 100.0 % 88.9 %
100 h, 10 h later, nobody connected: 90.0 % 80.0 %
WANT
cmp want got
