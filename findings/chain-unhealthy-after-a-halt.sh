#!/bin/sh
# The health check of a chain in AvalancheGo 1.14.2 fails after one block that waited long, until further blocks are accepted: its average acceptance time
# changes only with a block. An L1 that halted for ten minutes and is idle afterwards stays unhealthy on each of its nodes, for hours or days. 1.15.0 has no
# such limit.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main_test.go <<'GO'
package main

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow/consensus/snowball"
	"github.com/ava-labs/avalanchego/snow/consensus/snowman"
	"github.com/ava-labs/avalanchego/snow/consensus/snowman/snowmantest"
	"github.com/ava-labs/avalanchego/snow/snowtest"
	"github.com/ava-labs/avalanchego/utils/bag"
)

func TestHalt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		consensus := &snowman.Topological{Factory: snowball.SnowflakeFactory}
		last := snowmantest.Genesis
		err := consensus.Initialize(snowtest.ConsensusContext(snowtest.Context(t, snowtest.CChainID)), snowball.Parameters{
			K: 1, AlphaPreference: 1, AlphaConfidence: 1, Beta: 1, ConcurrentRepolls: 1, OptimalProcessing: 1, MaxOutstandingItems: 9, MaxItemProcessingTime: 30 * time.Second,
		}, last.ID(), last.Height(), last.Timestamp())
		if err != nil {
			t.Fatal(err)
		}
		blocks := func(n int, waits time.Duration) {
			for range n {
				last = snowmantest.BuildChild(last)
				last.TimestampV = time.Now()
				if err := consensus.Add(last); err != nil {
					t.Fatal(err)
				}
				time.Sleep(waits)
				if err := consensus.RecordPoll(t.Context(), bag.Of[ids.ID](last.ID())); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
			}
		}
		ask := func(when string) {
			_, err := consensus.HealthCheck(t.Context())
			fmt.Printf("%s: %v\n", when, err)
		}
		blocks(120, time.Second)
		ask("a block each 11 s for 22 min")
		blocks(1, 10*time.Minute)
		ask("one block waited for 10 min")
		time.Sleep(24 * time.Hour)
		ask("idle for a day")
		blocks(120, time.Second)
		blocks(1, 10*time.Minute)
		for n := 1; ; n++ {
			blocks(1, time.Second)
			if _, err := consensus.HealthCheck(t.Context()); err == nil {
				fmt.Println("after another halt, further blocks until it passes:", n)
				return
			}
		}
	})
}
GO
go mod init finding >/dev/null 2>&1
for version in v1.14.2 v1.15.0; do
	go get github.com/ava-labs/avalanchego@$version >/dev/null 2>&1
	go mod tidy >/dev/null 2>&1
	echo "avalanchego $version"
	GOFLAGS=-mod=mod CGO_ENABLED=1 go test -count=1 . -v 2>&1 | grep -v '^=== \|^--- \|^PASS\|^ok'
done | tee got
cat >want <<'WANT'
avalanchego v1.14.2
a block each 11 s for 22 min: <nil>
one block waited for 10 min: acceptance time too high: 59.305552923s > 15s
idle for a day: acceptance time too high: 59.305552923s > 15s
after another halt, further blocks until it passes: 24
avalanchego v1.15.0
a block each 11 s for 22 min: <nil>
one block waited for 10 min: <nil>
idle for a day: <nil>
after another halt, further blocks until it passes: 1
WANT
cmp want got
