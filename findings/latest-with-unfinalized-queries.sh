#!/bin/sh
# Subnet-EVM with allow-unfinalized-queries calls a block "latest" that the network has not accepted: without a quorum, eth_blockNumber and the time of the
# newest block go on for a while, and what they gave may never be. The tags "finalized" and "safe" mean the accepted block in both settings.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"reflect"
	"time"

	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/subnet-evm/eth/ethconfig"
	"github.com/ava-labs/subnet-evm/ethclient/simulated"
	"github.com/ava-labs/subnet-evm/node"
	"github.com/ava-labs/subnet-evm/rpc"
)

func main() {
	for _, unfinalized := range []bool{false, true} {
		chain := simulated.NewBackend(types.GenesisAlloc{}, func(_ *node.Config, c *ethconfig.Config) { c.AllowUnfinalizedQueries = unfinalized })
		client := reflect.ValueOf(chain.Client()).FieldByName("Client").Interface().(interface{ Client() *rpc.Client }).Client()
		chain.Commit(true)
		for range 3 {
			check(chain.AdjustTime(time.Duration(10))) // a block that is not accepted
		}
		numbers := map[string]string{}
		for _, tag := range []string{"latest", "finalized", "safe"} {
			var head struct{ Number string }
			check(client.Call(&head, "eth_getBlockByNumber", tag, false))
			numbers[tag] = head.Number
		}
		var number string
		check(client.Call(&number, "eth_blockNumber"))
		fmt.Printf("allow-unfinalized-queries %v, accepted block 1: eth_blockNumber %s, by tag %v\n", unfinalized, number, numbers)
		check(chain.Close())
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/subnet-evm@v0.7.9 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
{ echo "subnet-evm v0.7.9"; GOFLAGS=-mod=mod CGO_ENABLED=1 go run . 2>err || cat err; } | tee got
cat >want <<'WANT'
subnet-evm v0.7.9
allow-unfinalized-queries false, accepted block 1: eth_blockNumber 0x1, by tag map[finalized:0x1 latest:0x1 safe:0x1]
allow-unfinalized-queries true, accepted block 1: eth_blockNumber 0x4, by tag map[finalized:0x1 latest:0x4 safe:0x1]
WANT
cmp want got
