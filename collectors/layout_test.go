package collectors_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestEachCollectorIsOneFile reads the sources. A file has at most one Spec. Other files may use that Spec and its
// families, but nothing else of the file. Shared code is in files without a Spec.
func TestEachCollectorIsOneFile(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	owners := map[string]string{} // the file that declares a name, for files with a Spec
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = file
		names, specs := declarations(file)
		if specs > 1 {
			t.Errorf("%s: %d collectors", path, specs)
		}
		if specs == 0 {
			continue
		}
		for _, name := range names {
			owners[name] = path
		}
	}
	if len(owners) < 50 {
		t.Fatalf("%d declarations found", len(owners))
	}
	for path, file := range files {
		for _, name := range file.Unresolved { //nolint:staticcheck // without type checking, Unresolved has the names that other files declare
			if owner := owners[name.Name]; owner != "" && owner != path {
				t.Errorf("%s uses %s of the collector in %s: move it to a file named after what it holds", path, name, owner)
			}
		}
	}
}

// declarations returns the names of a file's functions, types and constants, and the number of its Specs.
func declarations(file *ast.File) (names []string, specs int) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, value := range spec.Values {
						if isSpec(value) {
							specs++
						}
					}
					if d.Tok == token.CONST {
						for _, name := range spec.Names {
							names = append(names, name.Name)
						}
					}
				}
			}
		}
	}
	return names, specs
}

// isSpec reports whether an expression is &Spec{…}.
func isSpec(value ast.Expr) bool {
	pointer, ok := value.(*ast.UnaryExpr)
	if !ok {
		return false
	}
	literal, ok := pointer.X.(*ast.CompositeLit)
	if !ok {
		return false
	}
	name, ok := literal.Type.(*ast.Ident)
	return ok && name.Name == "Spec"
}
