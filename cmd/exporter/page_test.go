package main

import (
	"fmt"
	"strings"
	"testing"
)

//go:generate go test -run TestConfigurationPageIsCurrent -update .

func TestConfigurationPageIsCurrent(t *testing.T) {
	var p strings.Builder
	p.WriteString(`# Configuration

This page is made from the code by ` + "`make docs`" + `.

The exporter is configured by environment variables. All mistakes are reported
at once, with what to write instead, and end the start with exit code 2; so
does a variable that begins with ` + "`AVAX_`" + ` and is not in this table (but for
those that Kubernetes sets for a Service, such as ` + "`AVAX_EXPORTER_SERVICE_HOST`" + `).
` + "`avax-exporter check`" + ` tries a configuration out.

| variable | default | meaning |
|---|---|---|
`)
	for _, v := range variables() {
		def := "–"
		if v.Default != "" {
			def = "`" + v.Default + "`"
		}
		fmt.Fprintf(&p, "| `%s` | %s | %s |\n", v.Name, def, v.Description)
	}
	golden(t, "../../docs/configuration.md", p.String())
}
