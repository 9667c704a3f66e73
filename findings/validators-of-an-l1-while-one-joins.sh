#!/bin/sh
# Subnet-EVM's validators.getCurrentValidators answers for no validator at all while it does not know the uptime of a single one. It learns of new
# validators once a minute, so each registration of a validator makes the call fail for up to a minute.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main_test.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/database/memdb"
	"github.com/ava-labs/avalanchego/graft/subnet-evm/plugin/evm"
	"github.com/ava-labs/avalanchego/graft/evm/utils/utilstest"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow"
	"github.com/ava-labs/avalanchego/snow/engine/enginetest"
	"github.com/ava-labs/avalanchego/snow/validators"
	"github.com/ava-labs/avalanchego/snow/validators/validatorstest"
	"github.com/ava-labs/avalanchego/upgrade/upgradetest"
)

const genesis = `{"config":{"chainId":99999,"feeConfig":{"gasLimit":15000000,"targetBlockRate":2,"minBaseFee":25000000000,"targetGas":15000000,
"baseFeeChangeDenominator":36,"minBlockGasCost":0,"maxBlockGasCost":1000000,"blockGasCostStep":200000}},"alloc":{},"nonce":"0x0","timestamp":"0x0",
"gasLimit":"0xe4e1c0","difficulty":"0x0","number":"0x0","gasUsed":"0x0"}`

func Test(t *testing.T) {
	evm.RegisterAllLibEVMExtras()
	var joined atomic.Bool
	known, fresh := ids.GenerateTestID(), ids.GenerateTestID()
	nodes := map[ids.ID]ids.NodeID{known: ids.GenerateTestNodeID(), fresh: ids.GenerateTestNodeID()}
	chain := utilstest.NewTestSnowContext(t, utilstest.SubnetEVMTestChainID)
	chain.NetworkUpgrades = upgradetest.GetConfig(upgradetest.Latest)
	chain.ValidatorState = &validatorstest.State{
		GetCurrentValidatorSetF: func(context.Context, ids.ID) (map[ids.ID]*validators.GetCurrentValidatorOutput, uint64, error) {
			set := map[ids.ID]*validators.GetCurrentValidatorOutput{}
			for _, id := range []ids.ID{known, fresh} {
				if id == known || joined.Load() {
					set[id] = &validators.GetCurrentValidatorOutput{ValidationID: id, NodeID: nodes[id], Weight: 1, StartTime: 1, IsActive: true, IsL1Validator: true}
				}
			}
			return set, uint64(len(set)), nil
		},
	}
	vm := &evm.VM{}
	check(vm.Initialize(t.Context(), chain, memdb.New(), []byte(genesis), nil, nil, nil, &enginetest.Sender{T: t}))
	check(vm.SetState(t.Context(), snow.Bootstrapping))
	check(vm.SetState(t.Context(), snow.NormalOp))
	handlers, err := vm.CreateHandlers(t.Context())
	check(err)
	ask := func() string {
		r := httptest.NewRequest("POST", "/validators", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"validators.getCurrentValidators","params":{}}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handlers["/validators"].ServeHTTP(w, r)
		var answer struct {
			Result struct{ Validators []any }
			Error  struct{ Message string }
		}
		check(json.NewDecoder(w.Body).Decode(&answer))
		text := strings.NewReplacer(known.String(), "KNOWN", fresh.String(), "FRESH").Replace(answer.Error.Message)
		return fmt.Sprintf("%d validators, error %q", len(answer.Result.Validators), text)
	}
	fmt.Println("one validator:", ask())
	joined.Store(true)
	fmt.Println("one joins:", ask())
	for range 90 {
		if time.Sleep(time.Second); !strings.Contains(ask(), "not found") {
			break
		}
	}
	fmt.Println("a minute later:", ask())
	check(vm.Shutdown(context.Background()))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego@v1.14.2 github.com/ava-labs/avalanchego/graft/subnet-evm@v1.14.2 github.com/ava-labs/avalanchego/graft/evm@v1.14.2 >/dev/null 2>&1
{ echo "Subnet-EVM of AvalancheGo v1.14.2"; GOFLAGS=-mod=mod CGO_ENABLED=1 go test -run Test -v . 2>err | grep validators, || cat err; } | tee got
cat >want <<'WANT'
Subnet-EVM of AvalancheGo v1.14.2
one validator: 1 validators, error ""
one joins: 0 validators, error "failed to get uptime for validation ID FRESH: validationID not found: FRESH"
a minute later: 2 validators, error ""
WANT
cmp want got
