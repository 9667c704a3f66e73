package systemd

import (
	"bytes"
	"os"
	"testing"
)

const unit = "avax-exporter.service"

func TestUnitHasAnOptionalEnvironmentFile(t *testing.T) {
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	if line := "EnvironmentFile=-/etc/avax-exporter/environment"; !bytes.Contains(text, []byte("\n"+line+"\n")) {
		t.Errorf("%s: line %q missing", unit, line)
	}
}
