#!/bin/sh
# AvalancheGo's flag --fd-limit does not reach its VM plugins: Subnet-EVM always asks for 32,768 open files, and ends where the process may have fewer. A node
# with a lower --fd-limit runs, and none of its L1s does. The node's error does not name the limit; only the chain's own log does.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/ava-labs/avalanchego/api/metrics"
	"github.com/ava-labs/avalanchego/utils/logging"
	"github.com/ava-labs/avalanchego/utils/ulimit"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm/runtime"
)


func main() {
	const limit = 8192 // --fd-limit of the node
	fmt.Printf("the node sets a limit of %d open files: error %v\n", limit, ulimit.Set(limit, logging.NoLog{}))
	log := &written{}
	vm := rpcchainvm.NewFactory(os.Args[1], nil, runtime.NewManager(), metrics.NewPrefixGatherer())
	_, err := vm.New(logging.NewLogger("chain", logging.NewWrappedCore(logging.Info, log, logging.Plain.ConsoleEncoder())))
	fmt.Println("the node starts the plugin: error", err)
	for _, line := range strings.Split(log.String(), "\n") {
		if said, _, found := strings.Cut(line, "["); found && said != "" {
			fmt.Println("log of the chain:", said)
		}
	}
}

type written struct{ strings.Builder }

func (*written) Close() error { return nil }
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego@v1.14.2 github.com/ava-labs/avalanchego/graft/subnet-evm@v1.14.2 >/dev/null 2>&1
export GOFLAGS=-mod=mod CGO_ENABLED=1
go build -o plugin github.com/ava-labs/avalanchego/graft/subnet-evm/plugin
go build -o node .
{ ./plugin --version; ulimit -n 16384; ./node ./plugin 2>err || cat err; } | tee got
cat >want <<'WANT'
Subnet-EVM/v1.14.2 [rpcchainvm=45]
the node sets a limit of 8192 open files: error <nil>
the node starts the plugin: error handshake failed: vm process not found
log of the chain: failed to set fd limit correctly due to: error fd-limit: (32768) greater than max: (16384)
WANT
cmp want got
