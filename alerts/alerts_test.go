package alerts

import (
	"log/slog"
	"maps"
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
	expected   = "avax:fee_config_expected" // ours, and thus of no exporter
)

var promQL = parser.NewParser(parser.Options{})

// rules returns the rules of both files in their order, and those of them that are alerts.
func rules(t *testing.T) (all, alerts []rulefmt.Rule) {
	t.Helper()
	for _, text := range [][]byte{Rules, Companion} {
		read, found := parse(t, text)
		all, alerts = append(all, read...), append(alerts, found...)
	}
	return all, alerts
}

// parse returns the rules of one file.
func parse(t *testing.T, text []byte) (all, alerts []rulefmt.Rule) {
	t.Helper()
	file, errs := rulefmt.Parse(text, false, model.LegacyValidation, promQL, slog.New(slog.DiscardHandler))
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
			t.Errorf("%s: no alert of that name", page)
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

// tests returns the groups of every file of promtool tests.
func tests(t *testing.T) (groups []testGroup) {
	t.Helper()
	files, err := filepath.Glob("*_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Tests []testGroup `yaml:"tests"`
		}
		if err := yaml.Unmarshal(body, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		groups = append(groups, file.Tests...)
	}
	return groups
}

type testGroup struct {
	Name  string
	Input []struct{ Series string } `yaml:"input_series"`
	Cases []struct {
		At    string `yaml:"eval_time"`
		Alert string `yaml:"alertname"`
		Exp   []struct {
			Labels      map[string]string `yaml:"exp_labels"`
			Annotations map[string]string `yaml:"exp_annotations"`
		} `yaml:"exp_alerts"`
	} `yaml:"alert_rule_test"`
}

// kind is what a group tries, if its name tells one that every alert must pass.
func (g testGroup) kind() string {
	kind, _, _ := strings.Cut(g.Name, ": ")
	return kind
}

// families are those that the group has samples of.
func (g testGroup) families() map[string]bool {
	names := map[string]bool{}
	for _, in := range g.Input {
		name, _, _ := strings.Cut(in.Series, "{")
		names[name] = true
	}
	return names
}

// An alert may stand in the file once for each severity and bar.
type tier struct{ alert, severity, within string }

func (f tier) String() string { return strings.TrimSpace(f.alert + " " + f.severity + " " + f.within) }

func tierOf(alert string, labels map[string]string) tier {
	return tier{alert, labels["severity"], labels["within"]}
}

// promtool passes a case whose alert does not exist, and a rule without a case.
func TestEachAlertIsSeenToFireAndToResolve(t *testing.T) {
	said := map[tier][]string{} // the annotations that its rule has
	_, alerts := rules(t)
	for _, r := range alerts {
		said[tierOf(r.Alert, r.Labels)] = slices.Sorted(maps.Keys(r.Annotations))
	}
	fires, resolves := map[tier]bool{}, map[tier]bool{}
	for _, g := range tests(t) {
		firing := map[string]model.Duration{} // since when, by all labels
		tiers := map[string]tier{}
		for _, c := range g.Cases {
			at, err := model.ParseDuration(c.At)
			if err != nil {
				t.Fatalf("%s: %v", g.Name, err)
			}
			now := map[string]bool{}
			for _, e := range c.Exp {
				f := tierOf(c.Alert, e.Labels)
				if got := slices.Sorted(maps.Keys(e.Annotations)); !slices.Equal(got, said[f]) {
					t.Errorf("%s: at %s %s is held to %q, and says %q", g.Name, c.At, f, got, said[f])
				}
				key := labels.FromMap(e.Labels).String() + c.Alert
				tiers[key], now[key], fires[f] = f, true, true
				if since, already := firing[key]; !already || at < since {
					firing[key] = at
				}
			}
			for key, since := range firing {
				if f := tiers[key]; f.alert == c.Alert && since < at && !now[key] {
					resolves[f] = true
				}
			}
			if !slices.ContainsFunc(alerts, func(r rulefmt.Rule) bool { return r.Alert == c.Alert }) {
				t.Errorf("%s: there is no alert %s", g.Name, c.Alert)
			}
		}
	}
	for f := range said {
		if !fires[f] {
			t.Errorf("no case in which %s fires", f)
		}
		if f.alert != watchdog && !resolves[f] {
			t.Errorf("no case in which %s fires and later, in the same group, does not", f)
		}
	}
}

// What every alert must bear is tried in groups of these kinds, in which it keeps quiet although its families have samples.
func TestEachAlertIsSeenToKeepQuiet(t *testing.T) {
	all, alerts := parse(t, Rules)    // what the companion watches shows such things by itself
	recorded := map[string][]string{} // what a recording rule is made from
	for _, r := range all {
		if r.Record != "" {
			recorded[r.Record] = append(recorded[r.Record], r.Expr)
		}
	}
	var families func(expr string, into map[string]bool)
	families = func(expr string, into map[string]bool) {
		for _, s := range selectors(t, expr) {
			if into[s.Name] {
				continue
			}
			into[s.Name] = true
			for _, from := range recorded[s.Name] {
				families(from, into)
			}
		}
	}
	groups := tests(t)
	for _, r := range alerts {
		if r.Alert == watchdog {
			continue
		}
		needs := map[string]bool{}
		families(r.Expr, needs)
		for _, kind := range []string{"absent", "at the bar", "restart"} {
			quiet := false
			for _, g := range groups {
				if g.kind() != kind {
					continue
				}
				has := g.families()
				complete := true
				for name := range needs {
					complete = complete && (recorded[name] != nil || has[name])
				}
				asked := false
				for _, c := range g.Cases {
					if c.Alert == r.Alert {
						asked = true
						if len(c.Exp) > 0 {
							t.Errorf("%s: %s fires at %s", g.Name, r.Alert, c.At)
						}
					}
				}
				quiet = quiet || asked && complete
			}
			if !quiet {
				t.Errorf("no group %q with samples of %q and a case in which %s keeps quiet", kind+": …", slices.Sorted(maps.Keys(needs)), r.Alert)
			}
		}
	}
}

// Where no threshold matches, or two do, the comparison is with NaN: the alert would never fire.
func TestThresholdsAreRecordedAndUsed(t *testing.T) {
	all, _ := rules(t)
	recorded := map[string]bool{} // by labels; true once a rule uses it
	var bars []map[string]string
	for _, r := range all {
		if r.Record == threshold {
			bars = append(bars, r.Labels)
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
			for _, label := range []string{"severity", "within"} {
				if r.Alert != "" && want["alert"] == r.Alert && want[label] != "" && want[label] != r.Labels[label] {
					t.Errorf("%s %s: takes the threshold of %s", r.Alert, r.Labels[label], want[label])
				}
			}
			found := 0
			for _, bar := range bars {
				if !slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool { return m.Name != model.MetricNameLabel && !m.Matches(bar[m.Name]) }) {
					found++
				}
			}
			if found != 1 {
				t.Errorf("%s%s: %d thresholds match %s", r.Record, r.Alert, found, s)
			}
			recorded[labels.FromMap(want).String()] = true
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
				if n.VectorMatching != nil && n.VectorMatching.On && n.RHS.String() != expected {
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
	all, _ := parse(t, Rules) // the other file is for a Prometheus server alone
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
