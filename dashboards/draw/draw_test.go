package main

import (
	"encoding/json"
	"os"
	"path/filepath"
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
