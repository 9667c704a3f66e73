package systemd

import (
	"bytes"
	"os"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const unit = "avax-exporter.service"

func TestUnitHasAnOptionalEnvironmentFile(t *testing.T) {
	text := must.Get(os.ReadFile(unit))(t)
	if line := "EnvironmentFile=-/etc/avax-exporter/environment"; !bytes.Contains(text, []byte("\n"+line+"\n")) {
		t.Errorf("%s: line %q missing", unit, line)
	}
}
