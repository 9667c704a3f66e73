package catalogue

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// What the exporter answers as JSON has the names of its Go fields, with a unit or without, or names that a document explains.
func TestAnswersHaveTheNamesOfTheirFields(t *testing.T) {
	plain := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
	var documents strings.Builder
	for _, file := range must.Get(filepath.Glob("../../docs/*.md"))(t) {
		documents.Write(must.Get(os.ReadFile(file))(t))
	}
	fields := 0
	for _, dir := range []string{"../status", "../web", "../explain", "../ledger", "../../cmd/exporter"} {
		must.Do(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			ast.Inspect(must.Get(parser.ParseFile(token.NewFileSet(), path, must.Get(os.ReadFile(path))(t), 0))(t), func(n ast.Node) bool {
				field, isField := n.(*ast.Field)
				if !isField || field.Tag == nil || len(field.Names) != 1 {
					return true
				}
				tag := must.Get(strconv.Unquote(field.Tag.Value))(t)
				name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
				if name == "" || name == "-" {
					return true
				}
				fields++
				if !strings.HasPrefix(plain(name), plain(field.Names[0].Name)) && !strings.Contains(documents.String(), "`"+name+"`") {
					t.Errorf("%s: the field %s is %q in the answer", path, field.Names[0].Name, name)
				}
				return true
			})
			return nil
		}))
	}
	if fields < 50 {
		t.Errorf("%d fields", fields)
	}
}
