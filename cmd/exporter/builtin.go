package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/dashboards"
	"github.com/avax-exporter/avax-exporter/internal/config"
)

// builtIn are embedded files. The first file is the one that print prints if there is no directory.
type builtIn []builtInFile

type builtInFile struct {
	name    string
	content []byte
}

const rulesHelp = `
Without --out, prints rules.yml.

Options:
  --format FORMAT prometheus; prometheusrule for the Prometheus operator; mimir
                  for Mimir and Cortex, with at most 20 rules in a group; or
                  grafana for Grafana-managed alerting (default: prometheus)
  --labels LIST   labels of nodes and validators that each alert gets, such as
                  owner,region (default: AVAX_ALERT_LABELS)
  --out DIR       write two files to this directory: rules.yml, and
                  companion.yml with rules about metrics of other programs

Examples:
  avax-exporter rules > rules.yml
  avax-exporter rules --out /etc/prometheus/rules
  avax-exporter rules --format prometheusrule | kubectl apply -n monitoring -f -
`

const dashboardsHelp = `
Without --out, prints the overview dashboard.

Options:
  --out DIR       write all dashboards to this directory, one JSON file each

Examples:
  avax-exporter dashboards > overview.json
  avax-exporter dashboards --out /var/lib/grafana/dashboards
`

const (
	rulesArgs      = "[--format FORMAT] [--labels LIST] [--out DIR]"
	dashboardsArgs = "[--out DIR]"
)

// runRules prints the alert rules.
func runRules(_ context.Context, args []string, stdout, _ io.Writer) error {
	var format, labels, out string
	if err := parseFlags(args, func(flags *flag.FlagSet) {
		flags.StringVar(&format, "format", "prometheus", "")
		flags.StringVar(&labels, "labels", os.Getenv("AVAX_ALERT_LABELS"), "")
		flags.StringVar(&out, "out", "", "")
	}); err != nil {
		return usageError{err}
	}
	var names config.AlertLabels
	if err := names.Decode(labels); err != nil {
		return inputError("rules: %v", err)
	}
	resources := map[string]string{alerts.RulesFile: "avax-exporter", alerts.CompanionFile: "avax-exporter-companion"}
	var files builtIn
	for _, name := range []string{alerts.RulesFile, alerts.CompanionFile} {
		compiled, err := alerts.Compiled(name, alerts.Options{Labels: names})
		if err != nil {
			return err
		}
		var text []byte
		switch format {
		case "prometheus":
			text, err = compiled.YAML()
		case "prometheusrule":
			text, err = alerts.PrometheusRules(resources[name], compiled)
		case "mimir":
			text, err = alerts.Mimir(compiled).YAML()
		case "grafana":
			text, err = alerts.GrafanaManaged(compiled).YAML()
		default:
			err = inputError("rules: unknown format %q: use prometheus, prometheusrule, mimir or grafana", format)
		}
		if err != nil {
			return err
		}
		files = append(files, builtInFile{name + ".yml", text})
	}
	return files.print(out, stdout)
}

// runDashboards prints the overview dashboard, or writes all.
func runDashboards(_ context.Context, args []string, stdout, _ io.Writer) error {
	var out string
	if err := parseFlags(args, func(flags *flag.FlagSet) {
		flags.StringVar(&out, "out", "", "")
	}); err != nil {
		return usageError{err}
	}
	const overview = "grafana.json"
	names, err := fs.Glob(dashboards.Files, "*.json")
	if err != nil {
		return err
	}
	var files builtIn
	for _, name := range names {
		content, err := dashboards.Files.ReadFile(name)
		if err != nil {
			return err
		}
		if files = append(files, builtInFile{name, content}); name == overview {
			files[0], files[len(files)-1] = files[len(files)-1], files[0]
		}
	}
	return files.print(out, stdout)
}

// print prints the first file, or writes all files into the directory out.
func (files builtIn) print(out string, stdout io.Writer) error {
	if out == "" {
		_, err := stdout.Write(files[0].content)
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // for other programs to read
		return err
	}
	for _, f := range files {
		path := filepath.Join(out, f.name)
		if err := os.WriteFile(path, f.content, 0o644); err != nil { //nolint:gosec // for other programs to read
			return err
		}
		fmt.Fprintln(stdout, path)
	}
	return nil
}
