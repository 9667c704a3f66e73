package alerts

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	amlabels "github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const (
	runbooks   = "../docs/runbooks"
	runbookURL = "https://github.com/avax-exporter/avax-exporter/blob/main/docs/runbooks/"
	watchdog   = "AvaxWatchdog"
	threshold  = "avax:threshold"
	expected   = "avax:fee_config_expected" // set in rules.yml, not exported

	maxPages = 27 // maximum number of names of alerts that page
)

// rules returns the rules of both files in order, and the alerts among them.
func rules(t *testing.T) (all, alerts []rulefmt.Rule) {
	t.Helper()
	return parseRules(t, Rules, Companion)
}

// parseRules returns the rules of the files in order, and the alerts among them.
func parseRules(t *testing.T, files ...[]byte) (all, alerts []rulefmt.Rule) {
	t.Helper()
	all = testworld.Rules(t, files...)
	return all, slices.DeleteFunc(slices.Clone(all), func(r rulefmt.Rule) bool { return r.Alert == "" })
}

// A series that both files record would be read by the alerts of both. Thresholds have the label alert, which distinguishes them.
func TestFilesRecordDifferentSeries(t *testing.T) {
	recorded := map[string]bool{}
	for _, r := range testworld.Rules(t, Rules) {
		recorded[r.Record] = r.Record != "" && !strings.HasPrefix(r.Record, threshold)
	}
	for _, r := range testworld.Rules(t, Companion) {
		if recorded[r.Record] {
			t.Errorf("both files record %s", r.Record)
		}
	}
}

func TestAlertsHaveSeverityActionAndRunbook(t *testing.T) {
	_, alerts := rules(t)
	for _, r := range alerts {
		severity := r.Labels["severity"]
		want := []string{"page", "warn", "info"}
		if r.Alert == watchdog {
			want = []string{"none"}
		}
		if !slices.Contains(want, severity) {
			t.Errorf("%s: severity %q, want one of %q", r.Alert, severity, want)
		}
		for _, a := range []string{"summary", "description"} {
			if r.Annotations[a] == "" {
				t.Errorf("%s, %s: no %s", r.Alert, severity, a)
			}
		}
		if severity == "page" && r.Annotations["impact"] == "" {
			t.Errorf("%s: a page without the annotation impact", r.Alert)
		}
		if (severity == "page" || severity == "warn") && r.Annotations["action"] == "" {
			t.Errorf("%s, %s: no annotation action", r.Alert, severity)
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
	pages := must.Get(filepath.Glob(filepath.Join(runbooks, "*.md")))(t)
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

// tier identifies a rule of an alert. An alert may have one rule for each severity, deadline, scope, reason and unit.
type tier struct{ alert, severity, within, scope, reason, unit string }

func (f tier) String() string {
	return strings.Join(strings.Fields(strings.Join([]string{f.alert, f.severity, f.within, f.scope, f.reason, f.unit}, " ")), " ")
}

func tierOf(alert string, labels map[string]string) tier {
	return tier{alert, labels["severity"], labels["within"], labels["scope"], labels["reason"], labels["unit"]}
}

// This test is needed because promtool accepts a case for an unknown alert, and a rule without a case.
func TestEachAlertFiresAndResolvesInATest(t *testing.T) {
	known := map[tier]bool{}
	_, alerts := rules(t)
	for _, r := range alerts {
		known[tierOf(r.Alert, r.Labels)] = true
	}
	fires, resolves := map[tier]bool{}, map[tier]bool{}
	for _, file := range readTests(t) {
		for _, g := range file.Tests {
			firing := map[string]model.Duration{} // start time, by all labels
			tiers := map[string]tier{}
			slices.SortStableFunc(g.Alerts, func(a, b alertCase) int { return cmp.Compare(a.EvalTime, b.EvalTime) })
			for _, c := range g.Alerts {
				now := map[string]bool{}
				for _, e := range c.ExpAlerts {
					key := labels.FromMap(e.Labels).String() + c.Alertname
					tiers[key], now[key] = tierOf(c.Alertname, e.Labels), true
					fires[tiers[key]] = true
					if _, already := firing[key]; !already {
						firing[key] = c.EvalTime
					}
				}
				for key, since := range firing {
					if f := tiers[key]; f.alert == c.Alertname && since < c.EvalTime && !now[key] {
						resolves[f] = true
					}
				}
				if !slices.ContainsFunc(alerts, func(r rulefmt.Rule) bool { return r.Alert == c.Alertname }) {
					t.Errorf("%s: unknown alert %s", g.Name, c.Alertname)
				}
			}
		}
	}
	for f := range known {
		if !fires[f] {
			t.Errorf("no case in which %s fires", f)
		}
		if f.alert != watchdog && !resolves[f] {
			t.Errorf("no group in which %s first fires and later does not", f)
		}
	}
}

// Each alert needs a group for each common situation in which it must stay inactive although its families have samples.
func TestEachAlertStaysInactiveInATest(t *testing.T) {
	suite := readSuite(t, "rules.yml") // not the companion, whose alerts are about such situations
	quiet := map[string]bool{}         // by kind of the situation and name of the rule
	for _, file := range suite.tests {
		for _, c := range file.Tests {
			kind := c.kind()
			if !slices.Contains(situations, kind) {
				continue
			}
			live := suite.live(c)
			for _, a := range c.Alerts {
				if len(a.ExpAlerts) > 0 && a.Alertname != watchdog && a.Alertname != "AvaxExporterDown" {
					t.Errorf("%s: %s fires at %s", c.Name, a.Alertname, a.EvalTime)
				}
				for _, r := range suite.rules {
					if r.Alert == a.Alertname && live[r] {
						quiet[kind+" "+r.name] = true
					}
				}
			}
		}
	}
	for _, r := range suite.rules {
		for _, kind := range situations {
			if r.Alert == "" || r.Alert == watchdog || r.Alert == "AvaxExporterDown" && kind == "absent" {
				continue
			}
			if !quiet[kind+" "+r.name] {
				t.Errorf("no group %q in which %s has samples and is inactive", kind+": …", r.name)
			}
		}
	}
}

// If no threshold matches, the comparison is with NaN, and the alert never fires.
func TestThresholdsAreRecordedAndUsed(t *testing.T) {
	all, _ := rules(t)
	used := map[string]bool{} // by labels; true once a rule uses the threshold
	var bars []map[string]string
	for _, r := range all {
		if r.Record == threshold {
			bars = append(bars, r.Labels)
			used[labels.FromMap(r.Labels).String()] = false
		}
	}
	for _, r := range all {
		for _, s := range selectors(t, r.Expr) {
			want := map[string]string{}
			for _, m := range s.LabelMatchers {
				if m.Name != model.MetricNameLabel && m.Value != "" {
					want[m.Name] = m.Value
				}
			}
			if !strings.HasPrefix(s.Name, threshold) || want["alert"] == "" || r.Record == thresholdUsed || r.Alert == "AvaxThresholdInvalid" {
				continue
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
			used[labels.FromMap(want).String()] = true
		}
	}
	for key, is := range used {
		if !is {
			t.Errorf("%s%s: no rule uses it", threshold, key)
		}
	}
}

// Any label, such as job or site, may distinguish exporters. A match or an aggregation that lists the labels to keep would mix
// samples of two exporters. Exceptions are thresholds and expected values, which belong to no exporter, absent(), which has
// no labels, and the labels of nodes and validators, whose names the user chooses, with their totals.
// compareSites are the rules that compare exporters which differ in other labels.
var compareSites = map[string]bool{"avax:exporter_down": true, "avax:node_unwatched": true, "AvaxNodeNameShared": true, "AvaxScrapeLabelCollision": true}

func TestRulesDoNotMixExporters(t *testing.T) {
	all, _ := rules(t)
	ours := func(expr parser.Node) bool {
		found := selectors(t, expr.String())
		return len(found) > 0 && !slices.ContainsFunc(found, func(s *parser.VectorSelector) bool { return !strings.HasPrefix(s.Name, threshold) })
	}
	for _, r := range all {
		if strings.HasPrefix(r.Record, "avax:label") || r.Record == "avax:validator_name" || compareSites[r.Record+r.Alert] {
			continue
		}
		inspect(t, r.Expr, func(n parser.Node) {
			switch n := n.(type) {
			case *parser.BinaryExpr:
				if n.VectorMatching != nil && n.VectorMatching.On && n.RHS.String() != expected && !strings.HasPrefix(n.LHS.String(), "absent(") {
					t.Errorf("%s%s: matches on(), want ignoring(): %s", r.Record, r.Alert, n)
				}
			case *parser.AggregateExpr:
				if !n.Without && !ours(n.Expr) && r.Alert != "AvaxThresholdInvalid" {
					t.Errorf("%s%s: aggregates by(), want without(): %s", r.Record, r.Alert, n)
				}
			}
		})
	}
}

// Nodes of two sites may have one name, and L1s too. A text must not show the reward or the weight of the other one. IDs are unique.
func TestQueriesOfTextsNameTheSiteOrAnID(t *testing.T) {
	t.Parallel()
	found := 0
	_, alerts := parseRules(t, Rules)
	for _, r := range alerts {
		for name, text := range r.Annotations {
			for _, query := range queries(t, text) {
				for _, s := range selectors(t, query) {
					found++
					named := slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool {
						return slices.Contains([]string{"job", "node_id", "validation_id", "tx_id", "subnet_id", "address"}, m.Name)
					})
					if !named && s.Name != "any" && !strings.HasPrefix(s.Name, threshold) && s.Name != expected { // any stands for a value
						t.Errorf("%s: annotation %s queries %s: add $site, or an ID", r.Alert, name, s)
					}
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("%d series found", found)
	}
}

// An alert about a monitored address or asset has its name from the configuration, and without a name the value.
func TestTextsNameMonitoredAddresses(t *testing.T) {
	t.Parallel()
	_, alerts := parseRules(t, Rules)
	found := 0
	for _, r := range alerts {
		for name, text := range r.Annotations {
			if !strings.Contains(text, "{{ $labels.address }}") || strings.HasPrefix(r.Annotations["summary"], "{{ $labels.name }}") {
				continue
			}
			if found++; !strings.Contains(r.Annotations["summary"]+text, "query (printf `avax_watch_labels{address=%q") {
				t.Errorf("%s: neither the summary nor the annotation %s has the name of the address: query avax_watch_labels", r.Alert, name)
			}
		}
	}
	if found < 5 {
		t.Errorf("%d texts with an address", found)
	}
}

// An alert about a node, a validator or a chain must have the same labels from every replica. An alert about a process keeps the
// instance.
func TestAlertsHaveNoReplicaLabels(t *testing.T) {
	process := []string{
		"AvaxExporterDown", "AvaxNoTargets", "AvaxScrapeLabelCollision", "AvaxDataTooOld", "AvaxUpstreamForbidden", "AvaxUpstreamRateLimited",
		"AvaxUpstreamMalformed", "AvaxReloadFailed", "AvaxExporterFaulty", "AvaxSeriesTooMany", "AvaxExporterSlow", "AvaxAlertmanagerDown", "AvaxReceiverFailing", "AvaxNotificationFailing", "AvaxAlertsNotRemembered", "AvaxStateDamaged",
	}
	all, alerts := parseRules(t, Rules)
	free := map[string]bool{"ALERTS": true, expected: true} // series without labels of replicas
	for _, r := range all {
		free[r.Record] = r.Record != "" // until the contrary is found
	}
	isFree := func(expr string) bool {
		parsed := must.Get(testworld.PromQL.ParseExpr(expr))(t)
		return withoutReplica(parsed, free)
	}
	for again := true; again; {
		again = false
		for _, r := range all {
			if r.Record != "" && free[r.Record] && !isFree(r.Expr) {
				free[r.Record], again = false, true
			}
		}
	}
	for _, r := range alerts {
		if !slices.Contains(process, r.Alert) && !isFree(r.Expr) {
			t.Errorf("%s %s: keeps the labels of a replica: %s", r.Alert, r.Labels["severity"], r.Expr)
		}
	}
}

// withoutReplica reports whether the result has no label instance or pod.
func withoutReplica(e parser.Node, free map[string]bool) bool {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return free[e.Name]
	case *parser.AggregateExpr:
		has := slices.Contains(e.Grouping, "instance") && slices.Contains(e.Grouping, "pod")
		return e.Without == has || withoutReplica(e.Expr, free)
	case *parser.BinaryExpr:
		switch {
		case e.Op == parser.LAND || e.Op == parser.LUNLESS:
			return withoutReplica(e.LHS, free)
		case e.VectorMatching != nil && e.VectorMatching.Card == parser.CardOneToMany:
			return withoutReplica(e.RHS, free)
		case e.VectorMatching != nil && e.VectorMatching.Card == parser.CardManyToOne:
			return withoutReplica(e.LHS, free)
		}
	case *parser.Call:
		if e.Func.Name == "absent" || e.Func.Name == "scalar" || e.Func.Name == "vector" {
			return true
		}
	}
	for child := range parser.ChildrenIter(e) {
		if !withoutReplica(child, free) {
			return false
		}
	}
	return true
}

func TestFewAlertsPageAndEachHasAnAction(t *testing.T) {
	page := must.Get(os.ReadFile("../docs/paging.md"))(t)
	_, alerts := rules(t)
	names := map[string]bool{}
	for _, r := range alerts {
		if r.Labels["severity"] == "page" {
			names[r.Alert] = true
		}
	}
	if len(names) > maxPages {
		t.Errorf("%d alert names page, the maximum is %d: %q", len(names), maxPages, slices.Sorted(maps.Keys(names)))
	}
	for name := range names {
		if line := "| [" + name + "](runbooks/" + name + ".md) | "; strings.Count(string(page), line) != 1 {
			t.Errorf("docs/paging.md: want exactly one line %q, with an action for the next ten minutes", line)
		}
	}
}

func TestRulesLookBackAtMostTwoHours(t *testing.T) {
	all, _ := parseRules(t, Rules) // not the companion, which only a Prometheus server evaluates
	const limit = 2 * time.Hour
	for _, r := range all {
		inspect(t, r.Expr, func(n parser.Node) {
			switch n := n.(type) {
			case *parser.MatrixSelector:
				if n.Range+n.VectorSelector.(*parser.VectorSelector).OriginalOffset > limit {
					t.Errorf("%s%s: range of %s", r.Record, r.Alert, n.Range)
				}
			case *parser.VectorSelector:
				if n.OriginalOffset > limit {
					t.Errorf("%s%s: offset of %s", r.Record, r.Alert, n.OriginalOffset)
				}
			case *parser.SubqueryExpr:
				t.Errorf("%s%s: subquery %s", r.Record, r.Alert, n)
			}
		})
	}
}

// Pagers show one line.
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
	parsed, err := testworld.PromQL.ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		visit(n)
		return nil
	})
}

// An alert that suppresses another does not end before it, if the other is kept after its end: else the other would be sent when everything is
// well again.
func TestSuppressedAlertsEndFirst(t *testing.T) {
	except := map[[2]string]string{
		{"AvaxL1ValidatorInactive", "AvaxL1RunwayLow"}: "an inactive validator has no runway, so this alert ends before the validator is active again",
		{"AvaxHeadStale", "AvaxHeadStale"}:             "the rule leaves out P and X until four minutes after the C-Chain",
	}
	_, all := rules(t)
	matching := func(matchers []*amlabels.Matcher) []rulefmt.Rule {
		return slices.DeleteFunc(slices.Clone(all), func(r rulefmt.Rule) bool {
			set := map[string]string{model.AlertNameLabel: r.Alert}
			maps.Copy(set, r.Labels)
			return !testworld.MayMatch(matchers, set)
		})
	}
	pairs := 0
	for _, i := range testworld.Inhibitions(t) {
		if !slices.ContainsFunc(i.TargetMatchers, func(m *amlabels.Matcher) bool { return m.Name == model.AlertNameLabel }) {
			continue // every alert, or another severity of the same one
		}
		for _, source := range matching(i.SourceMatchers) {
			for _, target := range matching(i.TargetMatchers) {
				other := slices.Contains(i.Equal, model.AlertNameLabel) && source.Alert != target.Alert
				if other || target.KeepFiringFor == 0 || except[[2]string{source.Alert, target.Alert}] != "" {
					continue
				}
				pairs++
				if source.KeepFiringFor <= target.KeepFiringFor {
					t.Errorf("%s is kept for %v, and suppresses %s, which is kept for %v", source.Alert, source.KeepFiringFor, target.Alert, target.KeepFiringFor)
				}
			}
		}
	}
	if pairs == 0 {
		t.Error("no such pair")
	}
}
