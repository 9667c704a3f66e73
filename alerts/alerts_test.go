package alerts

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

const (
	runbooks   = "../docs/runbooks"
	runbookURL = "https://github.com/avax-exporter/avax-exporter/blob/main/docs/runbooks/"
	watchdog   = "AvaxWatchdog"
	threshold  = "avax:threshold"
)

var promQL = parser.NewParser(parser.Options{})

// rules returns the rules of Rules in their order, and those of them that are alerts.
func rules(t *testing.T) (all, alerts []rulefmt.Rule) {
	t.Helper()
	file, errs := rulefmt.Parse(Rules, false, model.LegacyValidation, promQL, slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if t.Failed() {
		t.FailNow()
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			all = append(all, r)
			if r.Alert != "" {
				alerts = append(alerts, r)
			}
		}
	}
	return all, alerts
}

func TestEachAlertSaysHowBadItIsAndWhatToDo(t *testing.T) {
	_, alerts := rules(t)
	for _, r := range alerts {
		severity := r.Labels["severity"]
		want := []string{"page", "warn", "info"}
		if r.Alert == watchdog {
			want = []string{"none"}
		}
		if !slices.Contains(want, severity) {
			t.Errorf("%s: severity %q is none of %q", r.Alert, severity, want)
		}
		for _, a := range []string{"summary", "description"} {
			if r.Annotations[a] == "" {
				t.Errorf("%s, %s: no %s", r.Alert, severity, a)
			}
		}
		if severity == "page" && r.Annotations["impact"] == "" {
			t.Errorf("%s: it wakes a person and does not say what for: no impact", r.Alert)
		}
		if got, want := r.Annotations["runbook_url"], runbookURL+r.Alert+".md"; got != want {
			t.Errorf("%s, %s: runbook_url is %q, want %q", r.Alert, severity, got, want)
		}
	}
}

func TestAlertsAndRunbooksArePaired(t *testing.T) {
	_, alerts := rules(t)
	known := map[string]bool{}
	for _, r := range alerts {
		known[r.Alert] = true
	}
	pages, err := filepath.Glob(filepath.Join(runbooks, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if name := strings.TrimSuffix(filepath.Base(page), ".md"); !known[name] {
			t.Errorf("%s: no alert of that name in rules.yml", page)
		}
	}
	for name := range known {
		page, err := os.ReadFile(filepath.Join(runbooks, name+".md"))
		if err != nil {
			t.Errorf("%s: no runbook: %v", name, err)
			continue
		}
		var headings []string
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "#") {
				headings = append(headings, strings.TrimSpace(line))
			}
		}
		if want := []string{"# " + name, "## Meaning", "## Impact", "## Diagnosis", "## Mitigation"}; !slices.Equal(headings, want) {
			t.Errorf("%s.md: headings are %q, want %q", name, headings, want)
		}
	}
}

// promtool passes a case whose alert does not exist, and a rule without a case.
func TestEachAlertIsSeenToFireAndToKeepQuiet(t *testing.T) {
	var file struct {
		Tests []struct {
			Cases []struct {
				Alert string `yaml:"alertname"`
				Exp   []struct {
					Labels map[string]string `yaml:"exp_labels"`
				} `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	body, err := os.ReadFile("rules_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(body, &file); err != nil {
		t.Fatal(err)
	}
	type firing struct{ alert, severity, within string }
	fires, quiet := map[firing]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, c := range test.Cases {
			if len(c.Exp) == 0 {
				quiet[c.Alert] = true
			}
			for _, e := range c.Exp {
				fires[firing{c.Alert, e.Labels["severity"], e.Labels["within"]}] = true
			}
		}
	}

	_, alerts := rules(t)
	known := map[string]bool{}
	for _, r := range alerts {
		known[r.Alert] = true
		f := firing{r.Alert, r.Labels["severity"], r.Labels["within"]}
		if !fires[f] {
			t.Errorf("rules_test.yml: no case in which %s fires as %s %s", f.alert, f.severity, f.within)
		}
		if !quiet[r.Alert] && r.Alert != watchdog {
			t.Errorf("rules_test.yml: no case in which %s keeps quiet", r.Alert)
		}
	}
	for name := range quiet {
		if !known[name] {
			t.Errorf("rules_test.yml: %s is no alert of rules.yml", name)
		}
	}
}

// A threshold that is not recorded compares as NaN: its alert would never fire.
func TestThresholdsAreRecordedAndUsed(t *testing.T) {
	all, _ := rules(t)
	recorded := map[string]bool{} // by labels; true once a rule uses it
	for _, r := range all {
		if r.Record == threshold {
			recorded[labels.FromMap(r.Labels).String()] = false
		}
	}
	for _, r := range all {
		for _, s := range selectors(t, r.Expr) {
			if s.Name != threshold {
				continue
			}
			want := map[string]string{}
			for _, m := range s.LabelMatchers {
				if m.Name != model.MetricNameLabel {
					want[m.Name] = m.Value
				}
			}
			if r.Alert != "" && want["alert"] == r.Alert && want["severity"] != "" && want["severity"] != r.Labels["severity"] {
				t.Errorf("%s, %s: takes the threshold of %s", r.Alert, r.Labels["severity"], want["severity"])
			}
			key := labels.FromMap(want).String()
			if _, ok := recorded[key]; !ok {
				t.Errorf("%s: no %s%s is recorded", r.Alert, threshold, key)
			}
			recorded[key] = true
		}
	}
	for key, used := range recorded {
		if !used {
			t.Errorf("%s%s: no rule uses it", threshold, key)
		}
	}
}

// Many exporters may each call their node "local": a match on a few labels
// would take one node's facts for another's.
func TestRulesDoNotMixExporters(t *testing.T) {
	all, _ := rules(t)
	for _, r := range all {
		inspect(t, r.Expr, func(n parser.Node) {
			switch n := n.(type) {
			case *parser.BinaryExpr:
				if n.VectorMatching != nil && n.VectorMatching.On {
					t.Errorf("%s%s: matches on(), want ignoring(): %s", r.Record, r.Alert, n)
				}
			case *parser.AggregateExpr:
				if !n.Without {
					t.Errorf("%s%s: aggregates by(), want without(): %s", r.Record, r.Alert, n)
				}
			}
		})
	}
}

func TestNoRuleLooksBackMoreThanTwoHours(t *testing.T) {
	all, _ := rules(t)
	const limit = 2 * time.Hour
	for _, r := range all {
		inspect(t, r.Expr, func(n parser.Node) {
			switch n := n.(type) {
			case *parser.MatrixSelector:
				if n.Range > limit {
					t.Errorf("%s%s: range of %s", r.Record, r.Alert, n.Range)
				}
			case *parser.VectorSelector:
				if n.OriginalOffset != 0 {
					t.Errorf("%s%s: offset of %s", r.Record, r.Alert, n.OriginalOffset)
				}
			case *parser.SubqueryExpr:
				t.Errorf("%s%s: subquery %s", r.Record, r.Alert, n)
			}
		})
	}
}

// A pager shows a line.
func TestAnnotationsAreOneLine(t *testing.T) {
	_, alerts := rules(t)
	for _, r := range alerts {
		for name, text := range r.Annotations {
			if strings.ContainsAny(text, "\n\t") || strings.TrimSpace(text) != text {
				t.Errorf("%s: %s is not one clean line: %q", r.Alert, name, text)
			}
		}
	}
}

func selectors(t *testing.T, expr string) (found []*parser.VectorSelector) {
	t.Helper()
	inspect(t, expr, func(n parser.Node) {
		if s, ok := n.(*parser.VectorSelector); ok {
			found = append(found, s)
		}
	})
	return found
}

func inspect(t *testing.T, expr string, visit func(parser.Node)) {
	t.Helper()
	parsed, err := promQL.ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		visit(n)
		return nil
	})
}
