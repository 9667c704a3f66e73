package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/dashboards"
)

// builtIn are embedded files. The first file is the one that print prints if the arguments have no directory.
type builtIn []struct {
	name    string
	content []byte
}

const rulesHelp = `
Without --out, prints rules.yml.

Options:
  --profile NAME  only the rules for one kind of operator: validator, l1, rpc,
                  delegator or all (default: all)
  --out DIR       write two files to this directory: rules.yml, and
                  companion.yml with rules about metrics of other programs.
                  --profile does not change companion.yml.

Examples:
  avax-exporter rules > rules.yml
  avax-exporter rules --profile validator
  avax-exporter rules --out /etc/prometheus/rules
`

const dashboardsHelp = `
Without --out, prints the overview dashboard.

Options:
  --profile NAME  the overview dashboard for one kind of operator: validator, l1
                  or all (default: all)
  --out DIR       write all dashboards to this directory, one JSON file each

Examples:
  avax-exporter dashboards > overview.json
  avax-exporter dashboards --profile validator
  avax-exporter dashboards --out /var/lib/grafana/dashboards
`

// runRules prints the alert rules of all profiles, or of one profile.
func runRules(_ context.Context, args []string, stdout, _ io.Writer) error {
	profile, args := profileOf(args, alerts.ProfileAll)
	rules, err := alerts.Profile(profile)
	if err != nil {
		return inputError("rules: %v", err)
	}
	files := builtIn{{"rules.yml", rules}, {"companion.yml", alerts.Companion}}
	return files.print("rules", args, stdout)
}

// runDashboards prints the overview dashboard of all profiles, or of one profile.
func runDashboards(_ context.Context, args []string, stdout, _ io.Writer) error {
	profile, args := profileOf(args, "all")
	overview, err := dashboards.Overview(profile)
	if err != nil {
		return inputError("dashboards: %v", err)
	}
	files := builtIn{{"grafana.json", overview}}
	names, err := fs.Glob(dashboards.Files, "*.json")
	if err != nil {
		return err
	}
	for _, name := range names {
		content, err := dashboards.Files.ReadFile(name)
		if err != nil {
			return err
		}
		if name != files[0].name {
			files = append(files, struct {
				name    string
				content []byte
			}{name, content})
		}
	}
	return files.print("dashboards", args, stdout)
}

// profileOf parses --profile NAME at the start of the arguments.
func profileOf(args []string, otherwise string) (profile string, rest []string) {
	if len(args) > 0 {
		if name, ok := strings.CutPrefix(args[0], "--profile="); ok {
			return name, args[1:]
		}
	}
	if len(args) > 1 && args[0] == "--profile" {
		return args[1], args[2:]
	}
	return otherwise, args
}

// print prints the first file, or writes all files into the directory in the arguments.
func (files builtIn) print(command string, args []string, stdout io.Writer) error {
	switch {
	case len(args) == 0:
		_, err := stdout.Write(files[0].content)
		return err
	case len(args) == 2 && args[0] == "--out":
		args = args[1:]
	case len(args) == 1 && strings.HasPrefix(args[0], "--out="):
		args = []string{strings.TrimPrefix(args[0], "--out=")}
	default:
		return inputError("%s: write %[1]s [--profile NAME] [--out DIR]", command)
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // for other programs to read
		return err
	}
	for _, f := range files {
		path := filepath.Join(args[0], f.name)
		if err := os.WriteFile(path, f.content, 0o644); err != nil { //nolint:gosec // for other programs to read
			return err
		}
		fmt.Fprintln(stdout, path)
	}
	return nil
}
