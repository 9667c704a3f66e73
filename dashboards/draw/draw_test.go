package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// The dashboard files must have the thresholds of the alert rules.
func TestDashboardsHaveTheThresholdsOfTheRules(t *testing.T) {
	for _, b := range boards {
		want := must.Get(json.MarshalIndent(b.json(), "", "  "))(t)
		got := must.Get(os.ReadFile(filepath.Join("..", b.file)))(t)
		if string(got) != string(want)+"\n" {
			t.Errorf("%s is outdated: run make docs", b.file)
		}
	}
}

func TestSharedDashboardsAskForTheirDataSource(t *testing.T) {
	for _, b := range boards {
		text := must.Get(json.Marshal(shared(b.json())))(t)
		for _, want := range []string{
			`"__inputs":[{`, `"name":"DS_PROMETHEUS"`, `"current":{"text":"${DS_PROMETHEUS}"`,
			`{"id":"grafana","name":"Grafana","type":"grafana"`, `{"id":"table","name":"table","type":"panel"`,
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %s", b.file, want)
			}
		}
	}
}
