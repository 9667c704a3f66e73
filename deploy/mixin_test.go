package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/dashboards"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// TestMixinHasAllRulesAndDashboards imports the mixin as jsonnet-bundler installs it.
func TestMixinHasAllRulesAndDashboards(t *testing.T) {
	testworld.Full(t)
	root := must.Get(filepath.Abs(".."))(t)
	vendor := filepath.Join(t.TempDir(), "github.com", "avax-exporter")
	must.Do(t, os.MkdirAll(vendor, 0o700))
	must.Do(t, os.Symlink(root, filepath.Join(vendor, "avax-exporter")))
	out, err := exec.CommandContext(t.Context(), "../.tools/bin/jsonnet", "-J", filepath.Join(vendor, "../.."), "-e",
		`local mixin = (import 'github.com/avax-exporter/avax-exporter/mixin.libsonnet') + { _config+:: { companion: true } };
		{ groups: mixin.prometheusAlerts.groups, boards: mixin.grafanaDashboards }`).Output()
	if err != nil {
		t.Fatal(err)
	}
	var mixin struct {
		Groups []any
		Boards map[string]struct{ UID string }
	}
	parse(t, string(out), &mixin)

	var want []any
	for _, text := range [][]byte{alerts.Rules, alerts.Companion} {
		var file struct{ Groups []any }
		must.Do(t, yaml.Unmarshal(text, &file))
		want = append(want, file.Groups...)
	}
	if diff := cmp.Diff(want, mixin.Groups, cmp.Transformer("number", func(n int) float64 { return float64(n) })); diff != "" {
		t.Error(diff)
	}
	files, err := dashboards.Files.ReadDir(".")
	if err != nil || len(mixin.Boards) != len(files) {
		t.Errorf("%d dashboards, want %d (%v)", len(mixin.Boards), len(files), err)
	}
	for name, board := range mixin.Boards {
		if name != board.UID+".json" {
			t.Errorf("%s has the uid %s", name, board.UID)
		}
	}
}
