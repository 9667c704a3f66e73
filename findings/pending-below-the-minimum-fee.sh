#!/bin/sh
# Subnet-EVM counts a transaction as pending for ever that offers less than the minimum base fee, if it came before the fee was raised: txpool_status shows
# it, the next nonce counts it, and no block includes it. Pending transactions alone are no sign that a chain has halted.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
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
	ctx, start := context.Background(), uint64(0)
	admin, err := crypto.GenerateKey()
	check(err)
	user, err := crypto.GenerateKey()
	check(err)
	manager, sender := crypto.PubkeyToAddress(admin.PublicKey), crypto.PubkeyToAddress(user.PublicKey)
	rich := types.Account{Balance: new(big.Int).Mul(big.NewInt(params.Ether), big.NewInt(1000))}
	chain := simulated.NewBackend(types.GenesisAlloc{manager: rich, sender: rich}, func(_ *node.Config, c *ethconfig.Config) {
		params.GetExtra(c.Genesis.Config).GenesisPrecompiles = extras.Precompiles{
			feemanager.ConfigKey: feemanager.NewConfig(&start, []common.Address{manager}, nil, nil, nil),
		}
	})
	defer chain.Close()
	client := reflect.ValueOf(chain.Client()).FieldByName("Client").Interface().(interface{ Client() *rpc.Client }).Client()
	show := func(what string) {
		var pool struct{ Pending, Queued string }
		var fee, nonce, block string
		check(client.Call(&pool, "txpool_status"))
		check(client.Call(&fee, "eth_baseFee"))
		check(client.Call(&nonce, "eth_getTransactionCount", sender, "pending"))
		var head struct {
			Transactions []json.RawMessage
		}
		check(client.Call(&block, "eth_blockNumber"))
		check(client.Call(&head, "eth_getBlockByNumber", "latest", false))
		wei, _ := new(big.Int).SetString(fee[2:], 16)
		fmt.Printf("%s: base fee %v nAVAX, pending %s, next nonce of the sender %s, block %s with %d transactions\n",
			what, new(big.Int).Div(wei, big.NewInt(params.GWei)), pool.Pending, nonce, block, len(head.Transactions))
	}
	send := func(tx *types.DynamicFeeTx) {
		tx.ChainID = big.NewInt(1337)
		key := user
		if len(tx.Data) > 0 {
			key = admin
		}
		signed, err := types.SignNewTx(key, types.LatestSignerForChainID(tx.ChainID), tx)
		check(err)
		check(chain.Client().SendTransaction(ctx, signed))
	}
	nano := func(n int64) *big.Int { return big.NewInt(n * params.GWei) }
	// It offers 30 nAVAX, enough until now, and does not fit into the block that raises the minimum to 100.
	send(&types.DynamicFeeTx{GasFeeCap: nano(30), GasTipCap: big.NewInt(1), Gas: 7_900_000, To: &manager})
	show("before")
	fees := params.DefaultFeeConfig
	fees.MinBaseFee = nano(100)
	raise, err := feemanager.PackSetFeeConfig(fees)
	check(err)
	send(&types.DynamicFeeTx{GasFeeCap: nano(200), GasTipCap: big.NewInt(2), Gas: 1_000_000, To: &feemanager.ContractAddress, Data: raise})
	chain.Commit(true)
	show("raised")
	for range 100 {
		chain.Commit(true)
	}
	show("100 blocks later")
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
before: base fee 25 nAVAX, pending 0x1, next nonce of the sender 0x1, block 0x0 with 0 transactions
raised: base fee 100 nAVAX, pending 0x1, next nonce of the sender 0x1, block 0x1 with 1 transactions
100 blocks later: base fee 100 nAVAX, pending 0x1, next nonce of the sender 0x1, block 0x65 with 0 transactions
WANT
cmp want got
