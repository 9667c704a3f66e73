package logs

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// AvalancheGo 1.15.0 renames a full log. Its name would be a new value of the label chain every 8 MB, and its lines would be read again with the time
// of reading.
func TestRotatedLogsAreLeftOut(t *testing.T) {
	pattern := regexp.MustCompile(`/(\*-[^"]+\.log)"`)
	for _, file := range []string{"alloy.alloy", "vector.yaml"} {
		text := string(must.Get(os.ReadFile(file))(t))
		found := pattern.FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("%s: nothing is left out", file)
		}
		for name, rotated := range map[string]bool{
			"main-2026-11-27T23-12-55.098.log": true, "vm-factory-2026-11-27T23-12-55.098.log": true, "C-2026-11-27T23-12-55.098.log": true,
			"main.log": false, "vm-factory.log": false, "C.log": false, "q2aTwKuyzgs8pynF7UXBZCU7DejbZbZ6EUyHr3JQzYgwNPUPi.log": false,
		} {
			if is := must.Get(path.Match(found[1], name))(t); is != rotated {
				t.Errorf("%s: %s left out: %t", file, name, is)
			}
		}
		if !strings.Contains(text, `main|vm-factory`) && !strings.Contains(text, `"vm-factory" { .chain = "" }`) {
			t.Errorf("%s: vm-factory is a chain", file)
		}
	}
}
