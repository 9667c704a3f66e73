#!/bin/sh
# With type-and-unit-labels, arithmetic drops __type__, and last_over_time and aggregation keep it: a join of the two finds nothing, without an error.
# See prometheus/prometheus#18635.
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
	for _, load := range []string{"load 1m\n  v{n=\"a\", __type__=\"gauge\"} 1x10"} {
		store := promqltest.LoadedStorage(t, load)
		engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
			EnableTypeAndUnitLabels: true, Parser: parser.NewParser(parser.Options{})})
		for _, expr := range []string{"v * 1", "last_over_time(v[7m])", "max without (i) (v)", "last_over_time(v[7m]) and ignoring (i) (v * 1)"} {
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
v * 1 => {n="a"} => 1
last_over_time(v[7m]) => {__name__="v", __type__="gauge", n="a"} => 1
max without (i) (v) => {__type__="gauge", n="a"} => 1
last_over_time(v[7m]) and ignoring (i) (v * 1) => 
WANT
cmp want got
