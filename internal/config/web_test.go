package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// The example in docs/operating.md is valid except for the certificate, which does not exist here.
func TestDocumentedWebConfigurationIsValid(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/operating.md"))(t)
	example := regexp.MustCompile("(?s)```yaml\n(tls_server_config:.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("no example")
	}
	file := filepath.Join(t.TempDir(), "web.yml")
	must.Do(t, os.WriteFile(file, example[1], 0o600))
	if _, err := checkWebConfig(file); err == nil || !strings.Contains(err.Error(), "tls.crt: no such file or directory") {
		t.Error(err)
	}
}
