// Command generate compiles the rule files and those of the Helm chart from their source: `go generate` runs it in alerts.
package main

import (
	"fmt"
	"os"

	"github.com/avax-exporter/avax-exporter/alerts"
)

const chart = "../deploy/helm/avax-exporter/files/"

func main() {
	if err := generate(); err != nil {
		fmt.Fprintf(os.Stderr, "alerts/source: %v\n", err)
		os.Exit(1)
	}
}

func generate() error {
	files := map[string][]byte{}
	for _, name := range []string{alerts.RulesFile, alerts.CompanionFile} {
		compiled, err := alerts.Compiled(name, alerts.Options{})
		if err != nil {
			return err
		}
		if files[name+".yml"], err = compiled.YAML(); err != nil {
			return err
		}
	}
	var err error
	if files[chart+"rules.yml"], files[chart+"label.yml"], err = alerts.Chart(); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(name, text, 0o644); err != nil { //nolint:gosec // for other programs to read
			return err
		}
	}
	return nil
}
