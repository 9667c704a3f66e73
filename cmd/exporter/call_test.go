package main

import (
	"os"
	"regexp"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
)

func TestCallScriptUsesEveryMethod(t *testing.T) {
	script := must.Get(os.ReadFile("testdata/script/call.txtar"))(t)
	names := []string{metrics.AvgTPS.Name}
	for _, m := range app.Methods() {
		names = append(names, m.Name)
	}
	for _, name := range names {
		if !regexp.MustCompile(`(?m)^exec avax-exporter call (--\S+ )?(\S+ )?` + regexp.QuoteMeta(name) + `( |$)`).Match(script) {
			t.Errorf("%s not called in testdata/script/call.txtar", name)
		}
	}
}
