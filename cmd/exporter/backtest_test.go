package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// backtest counts what the exporter would send with the same file: a file of notify init has no inhibit rules.
func TestBacktestInhibitsAsTheExporter(t *testing.T) {
	var said strings.Builder
	shipped := must.Get(backtestRequest{}.routes(&said))(t)
	if len(shipped.InhibitRules) == 0 || said.Len() > 0 {
		t.Errorf("without a file: %d inhibit rules, %q", len(shipped.InhibitRules), &said)
	}
	for _, kind := range notify.Kinds() {
		said.Reset()
		file := testworld.File(t, string(must.Get(notify.Example(kind))(t)))
		c := must.Get(backtestRequest{alertmanager: file}.routes(&said))(t)
		if !reflect.DeepEqual(c.InhibitRules, shipped.InhibitRules) || !strings.Contains(said.String(), "has no inhibit_rules") {
			t.Errorf("%s: %d inhibit rules, %q", kind, len(c.InhibitRules), &said)
		}
	}
	said.Reset()
	file := testworld.File(t, `{route: {receiver: a}, receivers: [{name: a}], inhibit_rules: [{source_matchers: [a="b"], target_matchers: [c="d"]}]}`)
	if c := must.Get(backtestRequest{alertmanager: file}.routes(&said))(t); len(c.InhibitRules) != 1 || said.Len() > 0 {
		t.Errorf("with rules of its own: %d inhibit rules, %q", len(c.InhibitRules), &said)
	}
}
