package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The dashboard files must have the thresholds of the alert rules.
func TestDashboardsHaveTheThresholdsOfTheRules(t *testing.T) {
	for _, b := range boards {
		want, err := json.MarshalIndent(b.json(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", b.file))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want)+"\n" {
			t.Errorf("%s is outdated: run make docs", b.file)
		}
	}
}

func TestSharedDashboardsAskForTheirDataSource(t *testing.T) {
	for _, b := range boards {
		text, err := json.Marshal(shared(b.json()))
		if err != nil {
			t.Fatal(err)
		}
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
