package section_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/section"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const page = "# Page\n\n<!-- first: made by `make a` -->\none\n<!-- /first -->\n\n<!-- second: made by `make b` -->\n<!-- /second -->\nend\n"

func file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.md")
	must.Do(t, os.WriteFile(path, []byte(page), 0o600))
	return path
}

func TestWriteReplacesOnlyTheSection(t *testing.T) {
	path := file(t)
	must.Do(t, section.Write(path, "second", "two\n"))
	for name, want := range map[string]string{"first": "one\n", "second": "two\n"} {
		if got, err := section.Read(path, name); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	got := must.Get(os.ReadFile(path))(t)
	if want := strings.Replace(page, "<!-- /second", "two\n<!-- /second", 1); string(got) != want {
		t.Errorf("page:\n%s\nwant\n%s", got, want)
	}
}

func TestMissingSectionIsAnError(t *testing.T) {
	path := file(t)
	err := section.Write(path, "third", "three\n")
	if err == nil || !strings.Contains(err.Error(), "<!-- third: made by") {
		t.Errorf("error %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != page {
		t.Errorf("page:\n%s", got)
	}
}
