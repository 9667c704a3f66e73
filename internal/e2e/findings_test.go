package e2e

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// A reload logs what check would find, as a start does, and what was logged before only once.
func TestReloadLogsFindings(t *testing.T) {
	t.Parallel()
	const well, misspelt = "groups: [{name: g, rules: [{alert: Down, expr: avax_node_up == 0}]}]", "groups: [{name: g, rules: [{alert: Down, expr: avax_node_upp == 0}]}]"
	rules := testworld.File(t, well)
	w := newWorld(t, rules)
	exporter := testworld.StartExporter(t, append(w.environment, "AVAX_COLLECTORS=up")...)
	logged := func(text string) {
		t.Helper()
		testworld.Await(t, text, func() error {
			if !strings.Contains(exporter.Log(), text) {
				return errors.New("not logged")
			}
			return nil
		})
	}
	const off, unknown = "the collector peers is off", "unknown family avax_node_upp"
	logged(off)
	if strings.Contains(exporter.Log(), unknown) {
		t.Error("a finding without a cause")
	}
	must.Do(t, os.WriteFile(rules, []byte(misspelt), 0o600))
	logged(unknown)
	if n := strings.Count(exporter.Log(), off); n != 1 {
		t.Errorf("the first finding is logged %d times", n)
	}
}
