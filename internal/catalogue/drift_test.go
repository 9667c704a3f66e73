package catalogue

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/alerts/compile"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/dashboards"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// spoken returns the names that rules and dashboards may use: more are of other programs.
func spoken(t *testing.T, more map[string][]string) (n *compile.Names, companion *compile.File) {
	t.Helper()
	rules := must.Get(alerts.Compiled(alerts.RulesFile, alerts.Options{Labels: []string{"owner"}}))(t)
	companion = must.Get(alerts.Compiled(alerts.CompanionFile, alerts.Options{}))(t)
	all := Labels()
	maps.Copy(all, more)
	return compile.Declared(all, rules, companion), companion
}

func TestDashboardsUseDeclaredFamiliesAndLabels(t *testing.T) {
	n, _ := spoken(t, map[string][]string{"avalanche_any": {"method"}}) // a label of a node's own metrics
	checked := 0
	files, err := fs.Glob(dashboards.Files, "*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text := must.Get(dashboards.Files.ReadFile(file))(t)
		var dashboard any
		if err := json.Unmarshal(text, &dashboard); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, q := range queries(dashboard) {
			checked++
			if err := n.Check(must.Get(testworld.PromQL.ParseExpr(fill(q)))(t)); err != nil {
				t.Errorf("%s: %s: %v", file, q, err)
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d queries found", checked)
	}
}

// queries returns the expressions of all panels, without those for Loki.
func queries(v any) []string {
	var found []string
	switch v := v.(type) {
	case map[string]any:
		if v["type"] == "logs" {
			return nil
		}
		if expr, ok := v["expr"].(string); ok && expr != "" {
			found = append(found, expr)
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			found = append(found, queries(v[k])...)
		}
	case []any:
		for _, item := range v {
			found = append(found, queries(item)...)
		}
	}
	return found
}

var variable = regexp.MustCompile(`\$\{?[A-Za-z_]+(:[a-z]+)?\}?`)

// fill replaces Grafana's variables by values of the right type.
func fill(expr string) string {
	for _, d := range []string{"$__rate_interval", "$__interval", "$__range"} {
		expr = strings.ReplaceAll(expr, d, "5m")
	}
	return variable.ReplaceAllString(expr, "x")
}

// find calls visit for every node of the expressions of an alert or a recorded series.
func find(t *testing.T, rule string, visit func(parser.Node)) {
	t.Helper()
	for _, r := range testworld.Rules(t, alerts.Rules) {
		if r.Record+r.Alert != rule {
			continue
		}
		expr := must.Get(testworld.PromQL.ParseExpr(r.Expr))(t)
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			visit(n)
			return nil
		})
	}
}

// avax:collector_failing excludes the collectors of the Data service by name, since its outage has an alert of its own.
func TestRulesListTheCollectorsOfTheDataService(t *testing.T) {
	t.Parallel()
	var listed *labels.Matcher
	find(t, "avax:collector_failing", func(n parser.Node) {
		if c, ok := n.(*parser.Call); ok && c.Func.Name == "label_replace" && c.Args[2].(*parser.StringLiteral).Val == "data" {
			listed = labels.MustNewMatcher(labels.MatchRegexp, "collector", c.Args[4].(*parser.StringLiteral).Val)
		}
	})
	for _, spec := range collectors.All() {
		if asks := spec.Cost != nil; listed.Matches(spec.Name) != asks {
			t.Errorf("collector %s calls the Data service: %t; avax:collector_failing matches it: %t", spec.Name, asks, !asks)
		}
	}
}

// dashboardURL is the path of a dashboard in Grafana.
var (
	dashboardURL = regexp.MustCompile(`^/d/([a-z0-9-]+)(?:\?(.+))?$`)
	dashboardVar = regexp.MustCompile(`^var-([a-z0-9_]+)=\{\{ \$labels\.([a-z0-9_]+)( \| urlquery)? \}\}$`)
)

func TestAlertsLinkToExistingDashboards(t *testing.T) {
	variables := map[string][]string{} // by uid of the dashboard
	files := must.Get(fs.Glob(dashboards.Files, "*.json"))(t)
	for _, file := range files {
		text := must.Get(dashboards.Files.ReadFile(file))(t)
		var d struct {
			UID        string
			Templating struct{ List []struct{ Name string } }
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		variables[d.UID] = []string{}
		for _, v := range d.Templating.List {
			variables[d.UID] = append(variables[d.UID], v.Name)
		}
	}
	for _, r := range testworld.Rules(t, alerts.Rules, alerts.Companion) {
		if r.Alert == "" {
			continue
		}
		link := r.Annotations["dashboard_url"]
		m := dashboardURL.FindStringSubmatch(link)
		if m == nil {
			t.Errorf("%s: dashboard_url is %q, want %s", r.Alert, link, dashboardURL)
			continue
		}
		has, known := variables[m[1]]
		if !known {
			t.Errorf("%s: unknown dashboard %s", r.Alert, m[1])
		}
		if m[2] == "" {
			continue
		}
		for v := range strings.SplitSeq(m[2], "&") {
			if set := dashboardVar.FindStringSubmatch(v); set == nil || known && !slices.Contains(has, set[1]) {
				t.Errorf("%s: dashboard %s has no variable for %q", r.Alert, m[1], v)
			}
		}
	}
}

// AvaxDataTooOld pages for the collectors that pages need.
func TestDataTooOldPagesForPagedCollectors(t *testing.T) {
	var listed, paged []string
	find(t, "avax:paging_data_age_seconds", func(n parser.Node) {
		if v, ok := n.(*parser.VectorSelector); ok && v.Name == "avax_exporter_collector_last_success_timestamp_seconds" {
			for _, m := range v.LabelMatchers {
				if m.Name == "collector" {
					listed = strings.Split(m.Value, "|")
				}
			}
		}
	})
	for _, spec := range collectors.All() {
		if spec.Critical {
			paged = append(paged, spec.Name)
		}
	}
	slices.Sort(listed)
	slices.Sort(paged)
	if !slices.Equal(listed, paged) {
		t.Errorf("AvaxDataTooOld lists %q, but collectors with Critical are %q", listed, paged)
	}
}

// AvaxScrapeLabelCollision lists every label that the rules use: of the families that they read, and those that they set themselves. It also lists
// those that mark samples on the way: with each of these, a join finds nothing, or an alert is another after an upgrade.
func TestCollisionsOfAllLabelsAreNoticed(t *testing.T) {
	used := map[string]bool{"__type__": true, "__unit__": true, "otel_scope_version": true}
	families := declared()
	for _, r := range testworld.Rules(t, alerts.Rules) {
		if r.Record != "avax:threshold" && r.Record != "avax:fee_config_expected" && !strings.HasPrefix(r.Record, "avax:fault_") { // no rule joins them
			for name := range r.Labels {
				used[name] = true
			}
		}
		parsed := must.Get(testworld.PromQL.ParseExpr(r.Expr))(t)
		parser.Inspect(parsed, func(e parser.Node, _ []parser.Node) error {
			switch e := e.(type) {
			case *parser.VectorSelector:
				for _, name := range families[e.Name].Labels {
					used[name] = true
				}
			case *parser.AggregateExpr:
				if e.Op == parser.COUNT_VALUES {
					used[e.Param.(*parser.StringLiteral).Val] = true
				}
			case *parser.Call:
				if e.Func.Name == "label_replace" {
					used[e.Args[1].(*parser.StringLiteral).Val] = true
				}
			}
			return nil
		})
	}
	want := slices.Sorted(maps.Keys(used))
	find(t, "AvaxScrapeLabelCollision", func(n parser.Node) {
		s, ok := n.(*parser.VectorSelector)
		if !ok || len(s.LabelMatchers) == 1 {
			return
		}
		var listed []string
		for _, m := range s.LabelMatchers {
			if m.Name != model.MetricNameLabel {
				listed = append(listed, m.Name)
			}
		}
		slices.Sort(listed)
		if diff := cmp.Diff(want, listed); diff != "" {
			t.Errorf("in the expression (-want +got):\n%s", diff)
		}
	})
}

// A Prometheus with type-and-unit-labels marks what it scrapes, and joins of the rules find nothing: each configuration that we ship or show leaves
// these labels out.
func TestScrapeConfigurationsDropTypeAndUnit(t *testing.T) {
	shown := 0
	for _, file := range must.Get(filepath.Glob("../../docs/*.md"))(t) {
		shown += scrapeJobs(t, file)
	}
	for _, file := range []string{
		"../../docs/start.md", "../../deploy/compose/prometheus.yml", "../../deploy/fleet/agent.yml", "../../deploy/kubernetes/servicemonitor.yaml",
		"../../deploy/helm/avax-exporter/templates/monitor.yaml",
	} {
		if scrapeJobs(t, file) == 0 {
			t.Errorf("%s: no scrape job", file)
		}
	}
	if shown < 2 {
		t.Errorf("%d scrape jobs in docs", shown)
	}
}

var scrapeJob = regexp.MustCompile(`(?m)^ *- job_name: avax-exporter\n|^kind: (ServiceMonitor|PodMonitor|\{\{ \.kind \}\})\n`)

// scrapeJobs returns the number of jobs that scrape the exporter in a file. Each must drop the labels.
func scrapeJobs(t *testing.T, file string) int {
	t.Helper()
	text := string(must.Get(os.ReadFile(file))(t))
	jobs := scrapeJob.FindAllStringIndex(text, -1)
	for _, at := range jobs {
		job, _, _ := strings.Cut(text[at[1]:], "job_name:")
		job, _, _ = strings.Cut(job, "```")
		if !strings.Contains(job, "labeldrop") || !strings.Contains(job, "__type__|__unit__") {
			t.Errorf("%s: a scrape job keeps __type__ and __unit__: add metric_relabel_configs", file)
		}
	}
	return len(jobs)
}
