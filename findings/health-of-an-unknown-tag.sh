#!/bin/sh
# AvalancheGo's /ext/health?tag=SUBNET answers healthy for a tag that no check has, such as a mistyped subnet, or one that the node no longer tracks:
# only the checks of the node itself count then.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
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
	is := func(failure error) health.Checker {
		return health.CheckerFunc(func(context.Context) (any, error) { return nil, failure })
	}
	ran := make(chan struct{}, 100)
	check(checks.RegisterHealthCheck("network", is(nil), health.ApplicationTag))
	check(checks.RegisterHealthCheck("L1", is(errors.New("not enough stake is connected")), "subnet1"))
	check(checks.RegisterHealthCheck("last", health.CheckerFunc(func(context.Context) (any, error) {
		ran <- struct{}{}
		return nil, nil
	})))
	checks.Start(context.Background(), 10*time.Millisecond)
	<-ran
	<-ran
	for _, query := range []string{"", "?tag=subnet1", "?tag=subnet2"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/ext/health"+query, nil))
		var answer struct {
			Healthy bool
			Checks  map[string]any
		}
		check(json.NewDecoder(w.Body).Decode(&answer))
		fmt.Println("/ext/health"+query+":", w.Code, "healthy", answer.Healthy, "by", slices.Sorted(maps.Keys(answer.Checks)))
	}
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
/ext/health: 503 healthy false by [L1 last network]
/ext/health?tag=subnet1: 503 healthy false by [L1 network]
/ext/health?tag=subnet2: 200 healthy true by [network]
WANT
cmp want got
