package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// What is drawn has the bars of the alert rules: a file that is not what is
// drawn would color by others.
func TestTheFilesHaveTheBarsOfTheRules(t *testing.T) {
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
			t.Errorf("%s is not what the rules and the program make: run make docs", b.file)
		}
	}
}
