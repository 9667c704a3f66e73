package state_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// FuzzDamagedFileStartsAgain replaces the content of a value's file. Load must return a value or set the file aside, and Save must work.
func FuzzDamagedFileStartsAgain(f *testing.F) {
	for _, seed := range []string{`{"a":{"b":1}}`, `{"a":null}`, `null`, `[]`, ``, `{"a":{"b":1}`, "\x00"} {
		f.Add([]byte(seed))
	}
	type book map[string]map[string]int64
	f.Fuzz(func(t *testing.T, content []byte) {
		path := t.TempDir()
		d, err := state.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		must.Do(t, d.Save("x", book{}))
		files, _ := filepath.Glob(filepath.Join(path, "*.json"))
		if len(files) != 1 {
			t.Fatalf("value in %q", files)
		}
		must.Do(t, os.WriteFile(files[0], content, 0o600))
		if d, err = state.Open(path); err != nil {
			t.Fatal(err)
		}
		if value, found := state.Load[book](d, "x"); !found && (value != nil || d.Damaged() != 1) {
			t.Errorf("%q: %v, %t, not set aside", content, value, found)
		}
		if err := d.Save("x", book{"again": {"one": 1}}); err != nil {
			t.Error(err)
		}
		if value, found := state.Load[book](d, "x"); !found || value["again"]["one"] != 1 {
			t.Errorf("after Save: %v, %t", value, found)
		}
	})
}
