#!/bin/sh
# Among equal values topk chooses the series that was created first: the same samples in another order of creation give another answer. The series are
# appended one by one: the loader of promqltest creates them in the order of a Go map, so its answers vary by chance.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >finding_test.go <<'GO'
package finding

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/teststorage"
)

func TestFinding(t *testing.T) {
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: parser.NewParser(parser.Options{})})
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		store := teststorage.New(t)
		app := store.Appender(context.Background())
		for _, n := range order {
			if _, err := app.Append(0, labels.FromStrings("__name__", "v", "n", n), 600_000, 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := app.Commit(); err != nil {
			t.Fatal(err)
		}
		q, err := engine.NewInstantQuery(context.Background(), store, nil, "topk(1, v)", time.Unix(600, 0))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("created %v: topk(1, v) => %v\n", order, q.Exec(context.Background()))
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/prometheus/prometheus@v0.315.0 >/dev/null 2>&1 && go mod tidy >/dev/null 2>&1
echo "prometheus v0.315.0" | tee got
GOFLAGS="-trimpath -mod=mod" CGO_ENABLED=0 go test -count=20 -run Finding . -v | grep '=>' | sed 's/ @\[600000\]//' | sort -u | tee -a got
cat >want <<'WANT'
prometheus v0.315.0
created [a b]: topk(1, v) => {__name__="v", n="a"} => 1
created [b a]: topk(1, v) => {__name__="v", n="b"} => 1
WANT
cmp want got
