#!/bin/sh
# AvalancheGo's /ext/health turns from 200 to 503 for the whole node when a check is added while it runs, as when a tracked subnet gets a chain: the check
# counts as failed until its first run, up to 30 s later.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/ava-labs/avalanchego/api/health"
	"github.com/ava-labs/avalanchego/utils/logging"
	"github.com/prometheus/client_golang/prometheus"
)

func main() {
	checks, err := health.New(logging.NoLog{}, prometheus.NewRegistry())
	check(err)
	handler, err := health.NewGetAndPostHandler(logging.NoLog{}, checks)
	check(err)
	ask := func(what string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/ext/health", nil))
		var answer struct {
			Healthy bool
			Checks  map[string]struct{ Error string }
		}
		check(json.NewDecoder(w.Body).Decode(&answer))
		fmt.Printf("%s: %d healthy %v, checks %v\n", what, w.Code, answer.Healthy, answer.Checks)
	}
	ran := make(chan struct{}, 1000)
	fine := health.CheckerFunc(func(context.Context) (any, error) {
		ran <- struct{}{}
		return nil, nil
	})
	check(checks.RegisterHealthCheck("C", fine))
	checks.Start(context.Background(), 2*time.Second) // a node: 30 s
	<-ran
	<-ran
	time.Sleep(500 * time.Millisecond)
	ask("the node runs")
	check(checks.RegisterHealthCheck("L1", fine))
	ask("a chain is created")
	<-ran
	<-ran
	<-ran
	<-ran
	ask("after its first check")
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego@v1.15.0 >/dev/null 2>&1
{ echo "avalanchego v1.15.0"; GOFLAGS=-mod=mod CGO_ENABLED=1 go run . 2>err || cat err; } | tee got
cat >want <<'WANT'
avalanchego v1.15.0
the node runs: 200 healthy true, checks map[C:{}]
a chain is created: 503 healthy false, checks map[C:{} L1:{not yet run}]
after its first check: 200 healthy true, checks map[C:{} L1:{}]
WANT
cmp want got
