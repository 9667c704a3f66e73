#!/bin/sh
# In eth-apis of Subnet-EVM's configuration, the entry "eth" is not the namespace eth_: it has three old methods of miners. Blocks, chain ID, balances and calls
# are in "internal-blockchain", fees in "internal-eth". A chain whose configuration lists "eth" alone answers -32601 for eth_blockNumber.
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
	"testing"

	"github.com/ava-labs/avalanchego/database/memdb"
	"github.com/ava-labs/avalanchego/graft/evm/utils/utilstest"
	"github.com/ava-labs/avalanchego/graft/subnet-evm/plugin/evm"
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

var methods = []string{
	"eth_blockNumber", "eth_chainId", "eth_getBlockByNumber", "eth_getChainConfig", "eth_feeConfig", "eth_gasPrice", "eth_syncing", "eth_getTransactionCount",
	"eth_etherbase", "txpool_status",
}

func Test(t *testing.T) {
	evm.RegisterAllLibEVMExtras()
	for _, entry := range []string{"", "eth", "internal-blockchain", "internal-eth", "internal-tx-pool"} {
		chain := utilstest.NewTestSnowContext(t, utilstest.SubnetEVMTestChainID)
		chain.NetworkUpgrades = upgradetest.GetConfig(upgradetest.Latest)
		chain.ValidatorState = &validatorstest.State{
			GetCurrentValidatorSetF: func(context.Context, ids.ID) (map[ids.ID]*validators.GetCurrentValidatorOutput, uint64, error) { return nil, 0, nil },
		}
		config := `{}`
		if entry != "" {
			config = fmt.Sprintf(`{"eth-apis":[%q]}`, entry)
		}
		vm := &evm.VM{}
		check(vm.Initialize(t.Context(), chain, memdb.New(), []byte(genesis), nil, []byte(config), nil, &enginetest.Sender{T: t}))
		check(vm.SetState(t.Context(), snow.Bootstrapping))
		check(vm.SetState(t.Context(), snow.NormalOp))
		handlers, err := vm.CreateHandlers(t.Context())
		check(err)
		var offered []string
		for _, method := range methods {
			params := map[string]string{"eth_getBlockByNumber": `["latest",false]`, "eth_getTransactionCount": `["0x0000000000000000000000000000000000000001","latest"]`}[method]
			if params == "" {
				params = "[]"
			}
			r := httptest.NewRequest("POST", "/rpc", strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			handlers["/rpc"].ServeHTTP(w, r)
			var answer struct{ Error struct{ Code int } }
			check(json.NewDecoder(w.Body).Decode(&answer))
			if answer.Error.Code != -32601 {
				offered = append(offered, method)
			}
		}
		fmt.Printf("eth-apis %q: %v\n", entry, offered)
		check(vm.Shutdown(context.Background()))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego@v1.14.2 github.com/ava-labs/avalanchego/graft/subnet-evm@v1.14.2 github.com/ava-labs/avalanchego/graft/evm@v1.14.2 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
{ echo "Subnet-EVM of AvalancheGo v1.14.2"; GOFLAGS=-mod=mod CGO_ENABLED=1 go test -count=1 -v . 2>err | grep ^eth-apis || cat err; } | tee got
cat >want <<'WANT'
Subnet-EVM of AvalancheGo v1.14.2
eth-apis "": [eth_blockNumber eth_chainId eth_getBlockByNumber eth_getChainConfig eth_feeConfig eth_gasPrice eth_syncing eth_getTransactionCount eth_etherbase]
eth-apis "eth": [eth_etherbase]
eth-apis "internal-blockchain": [eth_blockNumber eth_chainId eth_getBlockByNumber eth_getChainConfig eth_feeConfig]
eth-apis "internal-eth": [eth_gasPrice eth_syncing]
eth-apis "internal-tx-pool": [txpool_status]
WANT
cmp want got
