package collectors_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// Two jobs of a collector with the same target would export duplicate series.
func TestJobTargetsAreUnique(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.SetNodes(append(slices.Clone(w.ups.Nodes()), watch(t, w)))
		for _, spec := range collectors.All() {
			for _, ids := range [][]string{nil, {w.network.NodeID("alpha")}} {
				w.ups.Watch.Validators.IDs = ids
				texts := map[string]bool{}
				for _, j := range spec.Bind(w.ups) {
					if texts[j.Target.String()] {
						t.Errorf("%s: two jobs for %s", spec.Name, j.Target)
					}
					texts[j.Target.String()] = true
				}
			}
		}
	})
}

var specName = regexp.MustCompile(`(?s)&collector\.Spec\{\s*Name:\s*"([a-z0-9_]+)"`)

// A file has one collector, and its name. What several collectors use is in files that begin with shared_.
func TestFilesAreNamedAfterTheirCollectors(t *testing.T) {
	found := 0
	for _, pattern := range []string{"*.go", "dataservice/*.go"} {
		files := must.Get(filepath.Glob(pattern))(t)
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".go")
			if strings.HasSuffix(name, "_test") || name == "all" {
				continue
			}
			source := must.Get(os.ReadFile(file))(t)
			specs := specName.FindAllSubmatch(source, -1)
			found += len(specs)
			switch {
			case strings.HasPrefix(name, "shared_") && len(specs) == 0:
			case len(specs) != 1 || strings.ReplaceAll(string(specs[0][1]), "_", "") != name:
				t.Errorf("%s has %d collectors: name it after its only collector, without underscores, or shared_ if it has none", file, len(specs))
			}
		}
	}
	if found != len(collectors.All()) {
		t.Errorf("%d collectors in files, %d in All", found, len(collectors.All()))
	}
}
