package config_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// code matches names of documents, and texts that are code: texts in quotes, variables, families and name=value.
var code = regexp.MustCompile(`[a-z/-]+\.md|"[^"]+"|AVAX_[A-Z_…]+(=[a-z]+)?|avax_[a-z_]+|\b[a-z]+=[a-zA-Z]+`)

// markdown returns a match of code as a link to the document, or in backticks.
func markdown(text string) string {
	if strings.HasSuffix(text, ".md") {
		return "[" + strings.TrimSuffix(text, ".md") + "](" + text + ")"
	}
	return "`" + strings.Trim(text, `"`) + "`"
}

//go:generate go test -run TestConfigurationPageIsCurrent -update .

func TestConfigurationPageIsCurrent(t *testing.T) {
	var p strings.Builder
	p.WriteString(`# Configuration

This page is generated from the code by ` + "`make docs`" + `.

You configure the exporter with environment variables. If a value is invalid, the exporter exits with
code 2, and the error says what to write instead. The exporter reports all errors at once. An
unknown variable with the prefix ` + "`AVAX_`" + ` is an error too. Variables that Kubernetes sets for a
Service, such as ` + "`AVAX_EXPORTER_SERVICE_HOST`" + `, are not an error.

` + "`avax-exporter init` writes a first configuration. `avax-exporter check`" + ` checks a configuration and calls every node and service once.

- A duration has a unit, such as ` + "`15s`, `5m` or `24h`" + `.
- A list may have one item on each line instead of commas.
- *Empty* means that the variable is not set, or has an empty value. A dash means an empty default.
- A service is the [Data service or the Metrics service](data-service.md) of AvaCloud.
`)
	const head = "| variable | default | meaning |\n|---|---|---|\n"
	row := func(v config.Variable) {
		def := "–"
		if v.Default != "" {
			def = "`" + v.Default + "`"
		}
		fmt.Fprintf(&p, "| `AVAX_%s` | %s | %s |\n", v.Name, def, code.ReplaceAllStringFunc(v.Description, markdown))
	}
	p.WriteString("\n## Most important\n\n" + head)
	subject := "Most important"
	for _, v := range config.Variables() {
		if v.Brief != "" {
			row(v)
		}
	}
	p.WriteString("\n## Rarely needed\n")
	for _, v := range config.Variables() {
		if v.Brief != "" {
			continue
		}
		if v.Subject != subject {
			subject = v.Subject
			fmt.Fprintf(&p, "\n### %s\n\n%s", subject, head)
		}
		row(v)
	}
	p.WriteString(`
## What check asks

` + "`avax-exporter check` asks the following questions before an outage does. A finding is exit code 1, a warning is not. A start logs both as warnings. It sends" + `
no notification.

| variable | part, or key of its file | what check asks |
|---|---|---|
`)
	for _, q := range app.Questions {
		key := "the value"
		if q.Key != "" {
			key = q.Key
		}
		fmt.Fprintf(&p, "| `AVAX_%s` | %s | %s |\n", q.Variable, key, code.ReplaceAllStringFunc(q.Asks, markdown))
	}
	testworld.Golden(t, "../../docs/configuration.md", p.String(), "make docs")
}

// There is one list of the most important variables: help and docs/configuration.md have it from the code, and docs/start.md says the same.
func TestStartPageHasTheMostImportantVariables(t *testing.T) {
	var want []string
	for _, v := range config.Variables() {
		if v.Brief != "" {
			want = append(want, "AVAX_"+v.Name)
		}
	}
	page := must.Get(os.ReadFile("../../docs/start.md"))(t)
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(AVAX_\\w+)` \\|").FindAllSubmatch(page, -1) {
		got = append(got, string(row[1]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/start.md has %q, want %q", got, want)
	}
}
