#!/bin/sh
# A node of the C-Chain that synced its state has the last 256 blocks before, without their receipts. eth_getBlockReceipts says so. eth_getLogs does not: it
# lists none of their logs, without an error. If the first block of the range is older, it lists none at all, not even those of blocks after the sync. So a
# reader of events that asks a node whose data were deleted in the meantime takes lost events for events that never were.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main_test.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ava-labs/avalanchego/graft/coreth/consensus/dummy"
	"github.com/ava-labs/avalanchego/graft/coreth/core"
	"github.com/ava-labs/avalanchego/graft/coreth/plugin/evm"
	"github.com/ava-labs/avalanchego/graft/coreth/plugin/evm/extension"
	"github.com/ava-labs/avalanchego/graft/coreth/plugin/evm/vmtest"
	"github.com/ava-labs/avalanchego/graft/evm/message"
	"github.com/ava-labs/avalanchego/utils/timer/mockable"
	"github.com/ava-labs/avalanchego/vms/evm/predicate"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
	"github.com/ava-labs/libevm/core/types"
)

// Blocks 1 to 288 of the first node have one log each. The second node syncs the state of the last, and fetches 256 blocks.
func Test(t *testing.T) {
	evm.RegisterAllLibEVMExtras()
	var first extension.InnerVM
	writer := func(vm extension.InnerVM, nonce uint64) *types.Transaction {
		writesALog := common.FromHex("60006000a0") // while the contract is created
		tx := types.NewContractCreation(nonce, new(big.Int), 100_000, vmtest.InitialBaseFee, writesALog)
		return must(types.SignTx(tx, types.NewEIP155Signer(vm.Ethereum().BlockChain().Config().ChainID), vmtest.TestKeys[0].ToECDSA()))
	}
	vmtest.StateSyncFromScratchExceedParentTest(t, &vmtest.SyncTestSetup{
		NewVM: func() (extension.InnerVM, dummy.ConsensusCallbacks) {
			vm, config := &evm.VM{}, &extension.Config{SyncSummaryProvider: message.NewBlockSyncSummaryProvider(message.CorethCodec), Clock: &mockable.Clock{}}
			check(vm.SetExtensionConfig(config))
			return vm, config.ConsensusCallbacks
		},
		AfterInit: func(_ *testing.T, _ vmtest.SyncTestParams, node vmtest.SyncVMSetup, isServer bool) {
			if isServer {
				first = node.VM
			}
		},
		GenFn: func(_ int, vm extension.InnerVM, block *core.BlockGen) {
			block.AppendExtra(must((&predicate.BlockResults{}).Bytes()))
			block.AddTx(writer(vm, block.TxNonce(vmtest.TestEthAddrs[0])))
		},
		ExtraSyncerVMTest: func(t *testing.T, node vmtest.SyncVMSetup) {
			ask := func(vm extension.InnerVM, result any, method, params string) (refusal string) {
				answer := httptest.NewRecorder()
				r := httptest.NewRequest("POST", "/", strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":[%s]}`, method, params)))
				r.Header.Set("Content-Type", "application/json")
				must(vm.CreateHandlers(t.Context()))["/rpc"].ServeHTTP(answer, r)
				of := struct {
					Result any
					Error  struct{ Message string }
				}{Result: result}
				check(json.Unmarshal(answer.Body.Bytes(), &of))
				return of.Error.Message
			}
			ask(node.VM, new(string), "eth_sendRawTransaction", fmt.Sprintf("%q", hexutil.Encode(must(writer(node.VM, 288).MarshalBinary()))))
			block := must(node.VM.BuildBlock(t.Context()))
			check(block.Verify(t.Context()))
			check(block.Accept(t.Context()))
			node.VM.Ethereum().BlockChain().DrainAcceptorQueue()
			fmt.Printf("block %d, after the sync, has a log\n", block.Height())
			for _, at := range []int{31, 33} {
				var is *struct{ Transactions []string }
				var receipts []struct{}
				refused := ask(node.VM, &is, "eth_getBlockByNumber", fmt.Sprintf(`"%#x",false`, at))
				fmt.Printf("block %d: exists %v, error %q", at, is != nil, refused)
				refused = ask(node.VM, &receipts, "eth_getBlockReceipts", fmt.Sprintf(`"%#x"`, at))
				fmt.Printf(", receipts %d, error %q\n", len(receipts), refused)
			}
			for _, from := range []int{31, 33} {
				var of [2][]struct{}
				query := fmt.Sprintf(`{"fromBlock":"%#x","toBlock":"latest"}`, from)
				refused := [2]string{ask(first, &of[0], "eth_getLogs", query), ask(node.VM, &of[1], "eth_getLogs", query)}
				fmt.Printf("logs since block %d: of the first node %d, error %q, ", from, len(of[0]), refused[0])
				fmt.Printf("of the one that synced %d, error %q\n", len(of[1]), refused[1])
			}
		},
	})
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego@v1.14.2 github.com/ava-labs/avalanchego/graft/coreth@v1.14.2 >/dev/null 2>&1
go get github.com/ava-labs/avalanchego/graft/evm@v1.14.2 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
{ echo "Coreth of AvalancheGo v1.14.2"; GOFLAGS=-mod=mod CGO_ENABLED=1 go test -count=1 -v -run Test/hash . 2>err | grep ^block\\\|^logs || cat err; } | tee got
cat >want <<'WANT'
Coreth of AvalancheGo v1.14.2
block 309, after the sync, has a log
block 31: exists false, error "", receipts 0, error ""
block 33: exists true, error "", receipts 0, error "receipts length mismatch: 1 vs 0"
logs since block 31: of the first node 258, error "", of the one that synced 0, error ""
logs since block 33: of the first node 256, error "", of the one that synced 1, error ""
WANT
cmp want got
