package catalogue

import (
	"encoding/json"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/dashboards"
)

// names are the declared names and labels.
type names struct {
	// labelsOf holds the labels of each series name; nil if they depend on an expression.
	labelsOf map[string][]string
	// labels are all declared labels, which may be grouped by.
	labels map[string]bool
}

// fromScrape are the labels that a scrape and a rule engine add.
var fromScrape = []string{"job", "instance", "alertname", "alertstate", "severity", "pod", "exported_node", "exported_instance", "exported_chain"}

func spoken(t *testing.T) names {
	t.Helper()
	n := names{
		labelsOf: map[string][]string{"up": {}, "ALERTS": nil, "ALERTS_FOR_STATE": nil, "avax_exporter_build_info": {"version"}},
		labels:   map[string]bool{},
	}
	for _, r := range declared(t) {
		n.labelsOf[r.Name] = r.Labels
		if r.Type == "summary" {
			n.labelsOf[r.Name+"_sum"], n.labelsOf[r.Name+"_count"] = r.Labels, r.Labels
		}
	}
	labelled, err := alerts.WithLabels(alerts.Rules, []string{"owner"})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range slices.Concat(rules(t, labelled), rules(t, alerts.Companion)) {
		for _, r := range g.Rules {
			if r.Record != "" {
				n.labelsOf[r.Record] = nil
			}
			for l := range r.Labels {
				n.labels[l] = true
			}
		}
	}
	for _, all := range n.labelsOf {
		for _, l := range all {
			n.labels[l] = true
		}
	}
	for _, l := range fromScrape {
		n.labels[l] = true
	}
	n.labelsOf["avax:threshold_override"] = nil // of the user's own rules
	n.labels["method"] = true                   // of a node's own metrics
	n.labels["value"] = true                    // of avax:label
	return n
}

// check parses the expression and reports undeclared names.
func (n names) check(t *testing.T, where, expr string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	grouped := func(by []string) {
		for _, l := range by {
			if !n.labels[l] {
				t.Errorf("%s: unknown label %q", where, l)
			}
		}
	}
	parser.Inspect(parsed, func(e parser.Node, _ []parser.Node) error {
		switch e := e.(type) {
		case *parser.VectorSelector:
			n.selector(t, where, e)
		case *parser.AggregateExpr:
			grouped(e.Grouping)
		case *parser.BinaryExpr:
			if e.VectorMatching != nil {
				grouped(e.VectorMatching.MatchingLabels)
				grouped(e.VectorMatching.Include)
			}
		}
		return nil
	})
}

func (n names) selector(t *testing.T, where string, s *parser.VectorSelector) {
	t.Helper()
	if s.Name == "" {
		for _, m := range s.LabelMatchers {
			if m.Name == model.MetricNameLabel && m.Type != labels.MatchEqual {
				return // a pattern of names cannot be checked
			}
		}
	}
	has, known := n.labelsOf[s.Name]
	native := slices.ContainsFunc([]string{"go_", "process_", "avalanche_", "node_"}, func(of string) bool { return strings.HasPrefix(s.Name, of) })
	if !known && !native {
		t.Errorf("%s: undeclared family %s", where, s.Name)
		return
	}
	for _, m := range s.LabelMatchers {
		if m.Name != model.MetricNameLabel && has != nil && !slices.Contains(has, m.Name) && !slices.Contains(fromScrape, m.Name) {
			t.Errorf("%s: %s has no label %q", where, s.Name, m.Name)
		}
	}
}

type group struct {
	Name  string
	Rules []struct {
		Record, Alert, Expr string
		Labels, Annotations map[string]string
	}
}

func rules(t *testing.T, text []byte) []group {
	t.Helper()
	var file struct{ Groups []group }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Groups
}

func TestRulesUseDeclaredFamiliesAndLabels(t *testing.T) {
	n := spoken(t)
	checked := 0
	for _, g := range rules(t, alerts.Rules) {
		for _, r := range g.Rules {
			n.check(t, g.Name+": "+r.Alert+r.Record, r.Expr)
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("%d rules found", checked)
	}
}

func TestDashboardsUseDeclaredFamiliesAndLabels(t *testing.T) {
	n := spoken(t)
	checked := 0
	files, err := fs.Glob(dashboards.Files, "*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := dashboards.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var dashboard any
		if err := json.Unmarshal(text, &dashboard); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, q := range queries(dashboard) {
			n.check(t, file+": "+q, fill(q))
			checked++
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

// avax:collector_failing excludes the collectors of the Data service by name, since its outage has an alert of its own.
func TestRulesListTheCollectorsOfTheDataService(t *testing.T) {
	t.Parallel()
	var pattern *regexp.Regexp
	for _, g := range rules(t, alerts.Rules) {
		for _, r := range g.Rules {
			if r.Record != "avax:collector_failing" {
				continue
			}
			found := regexp.MustCompile(`"data", "collector",\s*"([^"]+)"`).FindStringSubmatch(r.Expr)
			if found == nil {
				t.Fatalf("%s: no collectors of the Data service", r.Record)
			}
			pattern = regexp.MustCompile("^(?:" + found[1] + ")$")
		}
	}
	for _, spec := range collectors.All() {
		if asks := spec.Cost != nil; pattern.MatchString(spec.Name) != asks {
			t.Errorf("collector %s calls the Data service: %t; avax:collector_failing matches it: %t", spec.Name, asks, !asks)
		}
	}
}

// dashboardURL is a path to a dashboard, or a link if there is an external label grafana_url.
var (
	dashboardURL = regexp.MustCompile(`^\{\{ \$externalLabels\.grafana_url \}\}/d/([a-z0-9-]+)(?:\?(.+))?$`)
	dashboardVar = regexp.MustCompile(`^var-([a-z0-9_]+)=\{\{ \$labels\.([a-z0-9_]+) \}\}$`)
)

func TestAlertsLinkToExistingDashboards(t *testing.T) {
	variables := map[string][]string{} // by uid of the dashboard
	files, err := fs.Glob(dashboards.Files, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := dashboards.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
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
	for _, g := range append(rules(t, alerts.Rules), rules(t, alerts.Companion)...) {
		for _, r := range g.Rules {
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
}

// AvaxDataTooOld pages for the collectors that pages need.
func TestDataTooOldPagesForPagedCollectors(t *testing.T) {
	var listed, paged []string
	for _, g := range rules(t, alerts.Rules) {
		for _, r := range g.Rules {
			if m := regexp.MustCompile(`last_success_timestamp_seconds{collector=~"([^"]+)"}`).FindStringSubmatch(r.Expr); r.Alert == "AvaxDataTooOld" && m != nil {
				listed = strings.Split(m[1], "|")
			}
		}
	}
	for _, spec := range collectors.All() {
		if spec.Paged {
			paged = append(paged, spec.Name)
		}
	}
	slices.Sort(listed)
	slices.Sort(paged)
	if !slices.Equal(listed, paged) {
		t.Errorf("AvaxDataTooOld lists %q, but collectors with Paged are %q", listed, paged)
	}
}
