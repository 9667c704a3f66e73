#!/bin/sh
# AvalancheGo keeps the L1 validators whose balance has run out as one validator without a name and key: platform.getValidatorsAt lists all their weight at
# NodeID-111111111111111111116DBWJs, platform.sampleValidators may name it, platform.getTotalStake counts it, and a node whose own balance has run out is no
# validator to itself (platform.getBlockchainStatus: Syncing). Only platform.getCurrentValidators still has the node's ID.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main_test.go <<'GO'
package main

import (
	"fmt"
	"testing"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow/validators"
	"github.com/ava-labs/avalanchego/utils/crypto/bls"
	"github.com/ava-labs/avalanchego/utils/crypto/bls/signer/localsigner"
	"github.com/ava-labs/avalanchego/vms/platformvm/state"
	"github.com/ava-labs/avalanchego/vms/platformvm/state/statetest"
)

func Test(t *testing.T) {
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	sets, subnet := validators.NewManager(), ids.GenerateTestID()
	s := statetest.New(t, statetest.Config{Validators: sets})
	put := func(weight, balance uint64) ids.NodeID {
		key, err := localsigner.New()
		check(err)
		v := state.L1Validator{
			ValidationID: ids.GenerateTestID(), SubnetID: subnet, NodeID: ids.GenerateTestNodeID(), Weight: weight, EndAccumulatedFee: balance,
			PublicKey: bls.PublicKeyToUncompressedBytes(key.PublicKey()),
		}
		check(s.PutL1Validator(v))
		return v.NodeID
	}
	names := map[ids.NodeID]string{put(50, 1): "a, with a balance", put(30, 0): "b, without", put(20, 0): "c, without"}
	s.SetHeight(1)
	check(s.Commit())

	set := sets.GetMap(subnet)
	for _, id := range sets.GetValidatorIDs(subnet) {
		name, ok := names[id]
		if !ok {
			name = id.String()
		}
		fmt.Println(name+": weight", set[id].Weight, "has a key:", set[id].PublicKey != nil)
	}
	total, err := sets.TotalWeight(subnet)
	check(err)
	fmt.Println("total:", total)
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego@v1.14.2 >/dev/null 2>&1
{ echo "avalanchego v1.14.2"; GOFLAGS=-mod=mod CGO_ENABLED=1 go test -v . >out 2>&1 || cat out; grep -E 'weight|total' out | LC_ALL=C sort; } | tee got
cat >want <<'WANT'
avalanchego v1.14.2
NodeID-111111111111111111116DBWJs: weight 50 has a key: false
a, with a balance: weight 50 has a key: true
total: 100
WANT
cmp want got
