#!/bin/sh
# Among equal values topk chooses the series that was created first: the same samples in another order of creation give another answer.
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
	for _, load := range []string{"load 1m\n  v{n=\"a\"} 1x10\n  v{n=\"b\"} 1x10", "load 1m\n  v{n=\"b\"} 1x10\n  v{n=\"a\"} 1x10"} {
		store := promqltest.LoadedStorage(t, load)
		engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
			EnableTypeAndUnitLabels: false, Parser: parser.NewParser(parser.Options{})})
		for _, expr := range []string{"topk(1, v)"} {
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
topk(1, v) => {__name__="v", n="a"} => 1
topk(1, v) => {__name__="v", n="b"} => 1
WANT
cmp want got
