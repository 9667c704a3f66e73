package alerting

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/avax-exporter/avax-exporter/alerts"
)

func TestExpensiveQueriesAreRejected(t *testing.T) {
	double := func(expr string) string { return `label_replace(` + expr + `, "a", "$1$1", "a", "(.*)")` }
	nested := "avax_node_up"
	for range 9 {
		nested = `label_replace(` + nested + `, "a", "$1", "node", "(.*)")`
	}
	for query, want := range map[string]string{
		strings.Repeat("(", 400_000) + "1" + strings.Repeat(")", 400_000): "shorten",
		strings.Repeat("-", 5000) + "1":                                   "shorten",
		double("avax_node_up"):                                            "one $",
		"sum(" + double("avax_node_up") + ") > 1":                         "one $",
		nested: "8 times",
		`{a=~"` + strings.Repeat(".{1000}", 500) + `"}`:                                             "too many repetitions",
		"sum({a!~`x{1000,}`, b=~'x{1000,}', c=~\"[a-z]{1000}\"}) + {d=~'(yz){1000}', e=~'.{1000}'}": "too many repetitions",
		`label_replace(up, "a", "$1", "b", "` + strings.Repeat(".{1000}", 9) + `")`:                 "too many repetitions",
		`label_join(avax_node_up, "a", "", "a", "a")`:                                               "label_join",
		"avax_node_up{": "parse error",
		"":              "no expression",
	} {
		if err := CheckQuery(query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %s", query, err, want)
		}
	}
}

func TestRuleExpressionsAreAccepted(t *testing.T) {
	groups, errs := rulefmt.Parse(alerts.Rules, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if errs != nil {
		t.Fatal(errs)
	}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if err := CheckQuery(r.Expr); err != nil {
				t.Errorf("%s%s: %v", r.Alert, r.Record, err)
			}
		}
	}
}
