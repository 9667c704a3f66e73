#!/bin/sh
# While a node of AvalancheGo shuts down, its EVM chains answer every call with HTTP 200 and no body: the RPC server is stopped first, and the HTTP server
# goes on until all chains have ended. With a VM that no longer answers, that took a minute.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/ava-labs/avalanchego/graft/evm/rpc"
)

type eth struct{}

func (eth) BlockNumber() string { return "0x1" }

func main() {
	server := rpc.NewServer(0)
	if err := server.RegisterName("eth", eth{}); err != nil {
		panic(err)
	}
	ask := func(what string) {
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		fmt.Printf("%s: HTTP %d, content type %q, body %q\n", what, w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	ask("running")
	server.Stop()
	ask("stopped")
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego@v1.14.2 github.com/ava-labs/avalanchego/graft/evm@v1.14.2 >/dev/null 2>&1
{ echo "RPC server of AvalancheGo v1.14.2"; GOFLAGS=-mod=mod CGO_ENABLED=1 go run . 2>err || cat err; } | tee got
cat >want <<'WANT'
RPC server of AvalancheGo v1.14.2
running: HTTP 200, content type "application/json", body "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0x1\"}\n"
stopped: HTTP 200, content type "application/json", body ""
WANT
cmp want got
