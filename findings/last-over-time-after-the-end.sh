#!/bin/sh
# A stale marker ends a series for a selector, and not for a range: last_over_time returns a value of a series that has ended.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >finding_test.go <<'GO'
package finding

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

func TestFinding(t *testing.T) {
	for _, load := range []string{"load 1m\n  v{n=\"a\"} 0x8 stale _x2"} {
		store := promqltest.LoadedStorage(t, load)
		engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
			EnableTypeAndUnitLabels: false, Parser: parser.NewParser(parser.Options{})})
		for _, expr := range []string{"v", "last_over_time(v[7m])"} {
			q, err := engine.NewInstantQuery(context.Background(), store, nil, expr, time.Unix(600, 0))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("%s => %v\n", expr, q.Exec(context.Background()))
		}
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/prometheus/prometheus@v0.315.0 >/dev/null 2>&1 && go mod tidy >/dev/null 2>&1
echo "prometheus v0.315.0" | tee got
GOFLAGS="-trimpath -mod=mod" CGO_ENABLED=0 go test -run Finding . -v | grep '=>' | sed 's/ @\[600000\]//' | tee -a got
cat >want <<'WANT'
prometheus v0.315.0
v => 
last_over_time(v[7m]) => {__name__="v", n="a"} => 0
WANT
cmp want got
