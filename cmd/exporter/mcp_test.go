package main

import (
	"os"
	"strings"
	"testing"
)

func TestAgentsPageListsEveryTool(t *testing.T) {
	page, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if !strings.Contains(string(page), "| `"+tool.name+"` |") {
			t.Errorf("docs/agents.md does not list %s", tool.name)
		}
	}
}
