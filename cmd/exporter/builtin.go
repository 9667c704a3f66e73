package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/dashboards"
)

// builtIn are files that are built in. The first is printed where no directory
// is named.
type builtIn []struct {
	name    string
	content []byte
}

func ruleFiles() builtIn {
	return builtIn{{"rules.yml", alerts.Rules}, {"companion.yml", alerts.Companion}}
}

func dashboardFiles() (builtIn, error) {
	files := builtIn{{"grafana.json", dashboards.Overview}}
	names, err := fs.Glob(dashboards.Files, "*.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		content, err := dashboards.Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if name != files[0].name {
			files = append(files, struct {
				name    string
				content []byte
			}{name, content})
		}
	}
	return files, nil
}

// give prints the first file, or writes all into the directory that the
// arguments name. command is what they were given to.
func (files builtIn) give(command string, args []string, stdout io.Writer) error {
	switch {
	case len(args) == 0:
		_, err := stdout.Write(files[0].content)
		return err
	case len(args) == 2 && args[0] == "--out":
		args = args[1:]
	case len(args) == 1 && strings.HasPrefix(args[0], "--out="):
		args = []string{strings.TrimPrefix(args[0], "--out=")}
	default:
		return inputError{fmt.Errorf("%s: write %[1]s, or %[1]s --out DIR", command)}
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(args[0], f.name)
		if err := os.WriteFile(path, f.content, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(stdout, path)
	}
	return nil
}
