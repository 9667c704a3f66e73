package dataservice

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// What calls the Data service gets it by its type: no function of these collectors takes upstreams that may lack the service. The exception calls the
// Metrics service.
func TestOnlyUpstreamsWithAServiceReachItsCollectors(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "tps.go" {
			continue
		}
		parsed := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
		ast.Inspect(parsed, func(n ast.Node) bool {
			of, is := n.(*ast.SelectorExpr)
			if !is {
				return true
			}
			switch of.Sel.Name {
			case "Upstreams":
				if from, is := of.X.(*ast.Ident); is && from.Name == "collector" {
					t.Errorf("%s has a collector.Upstreams, which may lack a Data service: take a collector.Served", file)
				}
			case "Served":
				found++
			}
			return true
		})
	}
	if found < 10 {
		t.Errorf("%d functions take a collector.Served", found)
	}
}
