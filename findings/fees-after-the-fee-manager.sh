#!/bin/sh
# Subnet-EVM, a precompile upgrade that ends the fee manager: the fees that were set through it do not stay. Those of the genesis are valid again, and
# lastChangedAt of eth_feeConfig is 0, as if nobody had ever changed a fee.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"math/big"
	"reflect"

	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/crypto"
	"github.com/ava-labs/subnet-evm/eth/ethconfig"
	"github.com/ava-labs/subnet-evm/ethclient/simulated"
	"github.com/ava-labs/subnet-evm/node"
	"github.com/ava-labs/subnet-evm/params"
	"github.com/ava-labs/subnet-evm/params/extras"
	"github.com/ava-labs/subnet-evm/precompile/contracts/feemanager"
	_ "github.com/ava-labs/subnet-evm/precompile/registry"
	"github.com/ava-labs/subnet-evm/rpc"
)

func main() {
	start, end := uint64(0), uint64(60) // the backend makes a block each ten seconds
	key, err := crypto.GenerateKey()
	check(err)
	admin := crypto.PubkeyToAddress(key.PublicKey)
	rich := types.Account{Balance: new(big.Int).Mul(big.NewInt(params.Ether), big.NewInt(1000))}
	chain := simulated.NewBackend(types.GenesisAlloc{admin: rich}, func(_ *node.Config, c *ethconfig.Config) {
		extra := params.GetExtra(c.Genesis.Config)
		extra.GenesisPrecompiles = extras.Precompiles{feemanager.ConfigKey: feemanager.NewConfig(&start, []common.Address{admin}, nil, nil, nil)}
		extra.PrecompileUpgrades = []extras.PrecompileUpgrade{{Config: feemanager.NewDisableConfig(&end)}}
	})
	defer chain.Close()
	client := reflect.ValueOf(chain.Client()).FieldByName("Client").Interface().(interface{ Client() *rpc.Client }).Client()
	show := func(what string) {
		var answer struct {
			FeeConfig     struct{ GasLimit, MinBaseFee uint64 }
			LastChangedAt uint64
		}
		check(client.Call(&answer, "eth_feeConfig"))
		fmt.Printf("%s: gas limit %d, minimum base fee %d nAVAX, last changed in block %d\n",
			what, answer.FeeConfig.GasLimit, answer.FeeConfig.MinBaseFee/params.GWei, answer.LastChangedAt)
	}
	show("genesis")
	fees := params.DefaultFeeConfig
	fees.GasLimit, fees.MinBaseFee = big.NewInt(20_000_000), big.NewInt(100*params.GWei)
	data, err := feemanager.PackSetFeeConfig(fees)
	check(err)
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(1337)), &types.DynamicFeeTx{
		ChainID: big.NewInt(1337), GasFeeCap: big.NewInt(200 * params.GWei), GasTipCap: big.NewInt(1), Gas: 1_000_000, To: &feemanager.ContractAddress, Data: data,
	})
	check(err)
	check(chain.Client().SendTransaction(context.Background(), tx))
	chain.Commit(true)
	show("set by the admin")
	for range 8 {
		chain.Commit(true)
	}
	show("fee manager ended")
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
genesis: gas limit 8000000, minimum base fee 25 nAVAX, last changed in block 0
set by the admin: gas limit 20000000, minimum base fee 100 nAVAX, last changed in block 1
fee manager ended: gas limit 8000000, minimum base fee 25 nAVAX, last changed in block 0
WANT
cmp want got
