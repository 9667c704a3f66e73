package systemd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const unit = "avax-exporter.service"

func TestTheUnitStartsTheExporterWithAnOptionalEnvironment(t *testing.T) {
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"ExecStart=/usr/local/bin/avax-exporter", "EnvironmentFile=-/etc/avax-exporter/environment", "DynamicUser=yes"} {
		if !bytes.Contains(text, []byte("\n"+line+"\n")) {
			t.Errorf("%s: no line %q", unit, line)
		}
	}
}

// systemd's own verdict, with the commented examples switched on. It is asked where systemd 250 or newer is installed: older ones judge
// only what is installed as well.
func TestSystemdFindsTheUnitSoundAndHardened(t *testing.T) {
	const analyze = "systemd-analyze"
	if help, _ := exec.CommandContext(t.Context(), analyze, "--help").Output(); !bytes.Contains(help, []byte("--offline")) {
		t.Log("no systemd-analyze of systemd 250 or newer here: the unit is not verified")
		return
	}
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	installed := strings.NewReplacer("/usr/local/bin/avax-exporter", "/bin/true", "\n#Load", "\nLoad", "\n#Environment", "\nEnvironment").Replace(string(text))
	file := filepath.Join(t.TempDir(), unit)
	if err := os.WriteFile(file, []byte(installed), 0o600); err != nil {
		t.Fatal(err)
	}

	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", file).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, unit) { // others' units are not ours to mend
			t.Errorf("verify: %s", line)
		}
	}
	if err != nil && len(out) == 0 {
		t.Errorf("verify: %v", err)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "security", "--no-pager", "--offline=true", "--threshold=15", file).CombinedOutput(); err != nil {
		t.Errorf("exposed more than 1.5: %v\n%s", err, out)
	}
}
