package main

import (
	"os"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func TestAgentsPageListsEveryTool(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/agents.md"))(t)
	for _, tool := range tools {
		if !strings.Contains(string(page), "| `"+tool.name+"` |") {
			t.Errorf("docs/agents.md does not list %s", tool.name)
		}
	}
}
