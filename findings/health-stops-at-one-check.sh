#!/bin/sh
# AvalancheGo waits for all health checks before it runs any of them again. While one is slow, /ext/health answers 200 with the results of before: a disk
# that is full meanwhile does not show. Only the timestamps of the checks tell.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/ava-labs/avalanchego/api/health"
	"github.com/ava-labs/avalanchego/utils/logging"
	"github.com/prometheus/client_golang/prometheus"
)

const every = 20 * time.Millisecond

func main() {
	checks, err := health.New(logging.NoLog{}, prometheus.NewRegistry())
	check(err)
	handler, err := health.NewGetAndPostHandler(logging.NoLog{}, checks)
	check(err)

	var full, slow atomic.Bool
	begun, end := make(chan struct{}), make(chan struct{})
	check(checks.RegisterHealthCheck("diskspace", health.CheckerFunc(func(context.Context) (any, error) {
		if full.Load() {
			return nil, errors.New("the disk is full")
		}
		return nil, nil
	}), health.ApplicationTag))
	check(checks.RegisterHealthCheck("L1", health.CheckerFunc(func(context.Context) (any, error) {
		if slow.CompareAndSwap(true, false) {
			close(begun)
			<-end
		}
		return nil, nil
	})))
	ran := func() (code int, disk time.Time) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/ext/health", nil))
		var answer struct{ Checks map[string]health.Result }
		check(json.NewDecoder(w.Body).Decode(&answer))
		return w.Code, answer.Checks["diskspace"].Timestamp
	}
	show := func(what string) {
		_, before := ran()
		time.Sleep(50 * every)
		code, after := ran()
		fmt.Printf("%s: %d, ran again within 50 intervals: %v\n", what, code, after.After(before))
	}

	checks.Start(context.Background(), every)
	for code := 0; code != 200; code, _ = ran() {
		time.Sleep(every)
	}
	show("all checks are fast")
	slow.Store(true)
	<-begun
	time.Sleep(10 * every)
	full.Store(true)
	show("one check is slow, and the disk is full")
	close(end)
	show("it has ended")
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
all checks are fast: 200, ran again within 50 intervals: true
one check is slow, and the disk is full: 200, ran again within 50 intervals: false
it has ended: 503, ran again within 50 intervals: true
WANT
cmp want got
