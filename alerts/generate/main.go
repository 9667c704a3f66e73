// Command generate compiles the rule files and those of the Helm chart from their source: `go generate` runs it in alerts.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/alerts/compile"
	"github.com/avax-exporter/avax-exporter/internal/catalogue"
)

const (
	chart        = "../deploy/helm/avax-exporter/files/"
	alertmanager = "../deploy/alertmanager/alertmanager.yml"
)

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
	labelled, err := alerts.Compiled(alerts.RulesFile, alerts.Options{Labels: []string{"owner"}})
	if err != nil {
		return err
	}
	if err := labelled.CheckNames(compile.Declared(catalogue.Labels(), labelled)); err != nil {
		return err
	}
	if files[chart+"rules.yml"], files[chart+"label.yml"], err = alerts.Chart(); err != nil {
		return err
	}
	if files[alertmanager], err = inhibited(alertmanager); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(name, text, 0o644); err != nil { //nolint:gosec // for other programs to read
			return err
		}
	}
	return nil
}

// inhibited returns a configuration of Alertmanager with the inhibit rules of the source, which are its last section.
func inhibited(file string) ([]byte, error) {
	config, err := os.ReadFile(file) //nolint:gosec // a constant
	if err != nil {
		return nil, err
	}
	hand, _, found := bytes.Cut(config, []byte("\ninhibit_rules:\n"))
	if !found {
		return nil, fmt.Errorf("%s: no section inhibit_rules", file)
	}
	rules, err := alerts.Inhibitions()
	return append(append(hand, '\n'), rules...), err
}
