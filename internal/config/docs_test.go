package config_test

import (
	"flag"
	"os"

	"github.com/google/go-cmp/cmp"

	"fmt"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/config"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

//go:generate go test -run TestConfigurationPageIsCurrent -update .

func TestConfigurationPageIsCurrent(t *testing.T) {
	var p strings.Builder
	p.WriteString(`# Configuration

This page is generated from the code by ` + "`make docs`" + `.

You configure the exporter with environment variables. An invalid value ends the start with
exit code 2 and an error that says what to write instead. The exporter reports all errors at once. An
unknown variable with the prefix ` + "`AVAX_`" + ` is an error too, except those that Kubernetes
sets for a Service, such as ` + "`AVAX_EXPORTER_SERVICE_HOST`" + `.

` + "`avax-exporter check`" + ` checks a configuration and calls every node and service once.
`)
	subject := ""
	for _, v := range config.Variables() {
		if v.Subject != subject {
			subject = v.Subject
			fmt.Fprintf(&p, "\n## %s\n\n| variable | default | meaning |\n|---|---|---|\n", subject)
		}
		def := "–"
		if v.Default != "" {
			def = "`" + v.Default + "`"
		}
		fmt.Fprintf(&p, "| `%s` | %s | %s |\n", v.Name, def, v.Description)
	}
	const page = "../../docs/configuration.md"
	if *update {
		if err := os.WriteFile(page, []byte(p.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), p.String()); diff != "" {
		t.Errorf("%s is out of date, run make docs:\n%s", page, diff)
	}
}
