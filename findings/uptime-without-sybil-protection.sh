#!/bin/sh
# A node of AvalancheGo without sybil protection, as developers start it, says that it validates with an uptime of 100 %, and is not in its own list of
# validators: info.uptime uses a set of which the node is the only member, platform.getCurrentValidators that of the genesis, to which it is not connected.
# It is healthy all the same. This builds and runs a whole node, which takes some minutes the first time.
set -eu
dir=$(mktemp -d) && trap 'kill $pid 2>/dev/null || true; wait; rm -rf "$dir"' EXIT && cd "$dir"
pid=
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ava-labs/avalanchego/api/health"
	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/vms/platformvm"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	var process struct{ URI string }
	for ; process.URI == "" && ctx.Err() == nil; time.Sleep(time.Second) {
		written, _ := os.ReadFile("data/process.json")
		_ = json.Unmarshal(written, &process)
	}
	if _, err := health.AwaitReady(ctx, health.NewClient(process.URI), time.Second, nil); err != nil {
		panic(err)
	}
	node := info.NewClient(process.URI)
	id, _, err := node.GetNodeID(ctx)
	check(err)
	uptime, err := node.Uptime(ctx)
	check(err)
	peers, err := node.Peers(ctx, nil)
	check(err)
	listed, err := platformvm.NewClient(process.URI).GetCurrentValidators(ctx, constants.PrimaryNetworkID, nil)
	check(err)
	own := 0
	for _, v := range listed {
		if v.NodeID == id {
			own++
		}
	}
	all, err := health.NewClient(process.URI).Health(ctx, nil)
	check(err)
	networking, err := json.Marshal(all.Checks["P"].Details)
	check(err)
	fmt.Printf("healthy %v, peers %d, uptime %.0f %%\n", all.Healthy, len(peers), float64(uptime.RewardingStakePercentage))
	fmt.Printf("validators %d, the node among them %d, P-Chain is connected to all: %v\n", len(listed), own, strings.Contains(string(networking), `"percentConnected":1`))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego/main@v1.14.2 >/dev/null 2>&1
GOFLAGS=-mod=mod CGO_ENABLED=1 go build -o node github.com/ava-labs/avalanchego/main
GOFLAGS=-mod=mod CGO_ENABLED=1 go build -o ask .
./node --network-id=local --sybil-protection-enabled=false --data-dir=data --http-port=0 --staking-port=0 --public-ip=127.0.0.1 --bootstrap-ips= --bootstrap-ids= \
	--staking-ephemeral-cert-enabled=true --staking-ephemeral-signer-enabled=true --fd-limit=4096 \
	--system-tracker-disk-required-available-space-percentage=0 --system-tracker-disk-warning-available-space-percentage=0 >log 2>&1 &
pid=$!
{ echo "avalanchego v1.14.2"; ./ask 2>err || cat err log; } | tee got
cat >want <<'WANT'
avalanchego v1.14.2
healthy true, peers 0, uptime 100 %
validators 5, the node among them 0, P-Chain is connected to all: true
WANT
cmp want got
