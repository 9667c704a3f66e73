#!/bin/sh
# Subnet-EVM, after a burst of transactions: the newest block keeps its high base fee for as long as no block follows, while the fee that the next block
# asks for falls back to the minimum. eth_baseFee and eth_gasPrice give that one; baseFeePerGas of the block says what was.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"reflect"

	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/crypto"
	"github.com/ava-labs/subnet-evm/eth/ethconfig"
	"github.com/ava-labs/subnet-evm/ethclient/simulated"
	"github.com/ava-labs/subnet-evm/node"
	"github.com/ava-labs/subnet-evm/params"
	"github.com/ava-labs/subnet-evm/rpc"
)

func main() {
	key, err := crypto.GenerateKey()
	check(err)
	sender := crypto.PubkeyToAddress(key.PublicKey)
	rich := types.Account{Balance: new(big.Int).Mul(big.NewInt(params.Ether), big.NewInt(1000))}
	chain := simulated.NewBackend(types.GenesisAlloc{sender: rich}, func(_ *node.Config, c *ethconfig.Config) {
		fees := params.DefaultFeeConfig
		fees.TargetGas = big.NewInt(500_000) // in ten seconds
		params.GetExtra(c.Genesis.Config).FeeConfig = fees
	})
	defer chain.Close()
	client := reflect.ValueOf(chain.Client()).FieldByName("Client").Interface().(interface{ Client() *rpc.Client }).Client()
	nano := func(hex string) *big.Int {
		wei, _ := new(big.Int).SetString(hex[2:], 16)
		return wei.Div(wei, big.NewInt(params.GWei))
	}
	for nonce := range uint64(30) {
		tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(1337)), &types.DynamicFeeTx{
			ChainID: big.NewInt(1337), Nonce: nonce, GasFeeCap: big.NewInt(1000 * params.GWei), GasTipCap: big.NewInt(1), Gas: 1_000_000, To: &sender,
			Data: bytes.Repeat([]byte{1}, 50_000),
		})
		check(err)
		check(chain.Client().SendTransaction(context.Background(), tx))
		check(chain.AdjustTime(2)) // a block after two seconds
	}
	chain.Commit(true)
	var head struct{ Number, BaseFeePerGas string }
	var next, price string
	check(client.Call(&head, "eth_getBlockByNumber", "latest", false))
	check(client.Call(&next, "eth_baseFee"))
	check(client.Call(&price, "eth_gasPrice"))
	fmt.Printf("block %s, and none for years since: baseFeePerGas %v nAVAX, eth_baseFee %v, eth_gasPrice %v\n", head.Number, nano(head.BaseFeePerGas), nano(next), nano(price))
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
block 0x1f, and none for years since: baseFeePerGas 1178 nAVAX, eth_baseFee 25, eth_gasPrice 25
WANT
cmp want got
