package dashboards

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// sample is a sample of a scrape.
type sample struct {
	name   string
	labels labels.Labels // all of them
	value  float64
}

func (s sample) get(label string) string     { return s.labels.Get(label) }
func (s sample) is(label, value string) bool { return s.get(label) == value }

// with returns the sample with a changed label.
func (s sample) with(label, value string) sample {
	s.labels = labels.NewBuilder(s.labels).Set(label, value).Labels()
	return s
}

// scraped returns a sample of a job, with pairs of labels and values.
func scraped(job, name string, v float64, pairs ...string) sample {
	s := sample{name: name, value: v, labels: labels.FromStrings("__name__", name, "job", job)}
	for i := 0; i+1 < len(pairs); i += 2 {
		s = s.with(pairs[i], pairs[i+1])
	}
	return s
}

// healthy returns the recorded samples and the time of the recording.
func healthy(t *testing.T) (all []sample, at time.Time) {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/healthy.prom"))(t)
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Scan()
	_, when, _ := strings.Cut(strings.TrimSuffix(lines.Text(), "."), ", at ")
	when, _, _ = strings.Cut(when, ".")
	seconds := must.Get(strconv.ParseInt(when, 10, 64))(t)
	for lines.Scan() {
		end := strings.LastIndexByte(lines.Text(), ' ')
		metric, err := testworld.PromQL.ParseMetric(lines.Text()[:end])
		if err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		v := must.Get(strconv.ParseFloat(lines.Text()[end+1:], 64))(t)
		s := sample{name: metric.Get("__name__"), labels: metric, value: v}
		all = append(all, s.with("job", "avax-exporter").with("instance", "a"))
	}
	return append(all, scraped("avax-exporter", "up", 1, "instance", "a")), time.Unix(seconds, 0)
}

// prometheus is a Prometheus at the end of a situation.
type prometheus struct {
	*testworld.Engine
	lasted time.Duration
	jobs   []string // values of the variable
}

// simulate scrapes every minute and evaluates both rules files every second minute, as Prometheus does.
func simulate(t *testing.T, s situation) *prometheus {
	t.Helper()
	base, at := healthy(t)
	minutes := cmp.Or(s.minutes, 12)
	p := &prometheus{lasted: time.Duration(minutes) * time.Minute}
	values := map[string][]string{}
	for minute := range minutes + 1 {
		for _, one := range s.change(minute, slices.Clone(base)) {
			key := one.labels.String()
			values[key] = append(values[key], slices.Repeat([]string{"stale"}, minute-len(values[key]))...)
			values[key] = append(values[key], strconv.FormatFloat(one.value, 'f', -1, 64))
			if one.name == "avax_exporter_targets" && !slices.Contains(p.jobs, one.get("job")) {
				p.jobs = append(p.jobs, one.get("job"))
			}
		}
	}
	var series []testworld.Series
	for key, v := range values {
		series = append(series, testworld.Series{Series: key, Values: strings.Join(v, " ") + " stale"})
	}
	var rules []rulefmt.Rule
	if !s.noRules {
		rules = testworld.Rules(t, alerts.Companion, alerts.Rules)
	}
	var err error
	if p.Engine, err = testworld.NewEngine(t, at.Add(-p.lasted), time.Minute, series, 2*time.Minute, rules); err != nil {
		t.Fatal(err)
	}
	must.Do(t, p.Run(p.lasted%(2*time.Minute), p.lasted))
	return p
}

// point is one series of a query's result.
type point struct {
	labels map[string]string
	value  float64
}

func (p point) String() string { return fmt.Sprintf("%v %.6g", p.labels, p.value) }

// query evaluates a panel's query with all variables at their defaults.
func (p *prometheus) query(t *testing.T, expr string) (all []point) {
	t.Helper()
	for variable, with := range map[string]string{"__rate_interval": "4m", "__range": "1h", "job": "(" + strings.Join(p.jobs, "|") + ")"} {
		expr = strings.ReplaceAll(expr, "$"+variable, with)
	}
	expr = variable.ReplaceAllString(expr, ".*")
	vector, err := p.Query(expr, p.lasted)
	if err != nil {
		t.Errorf("%s: %v", expr, err)
	}
	for _, s := range vector {
		all = append(all, point{s.Metric.Map(), s.F})
	}
	slices.SortFunc(all, func(a, b point) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// variable is a variable of a dashboard; $1 is a group of a regular expression.
var variable = regexp.MustCompile(`\$[a-z]\w*`)

// tiles returns the texts of the tiles of a dashboard: values with names and colors.
func (p *prometheus) tiles(t *testing.T, d dashboard) map[string]string {
	t.Helper()
	said := map[string]string{}
	for _, panel := range d.Panels {
		if panel.Type != "stat" {
			continue
		}
		var values []string
		for _, q := range panel.Targets {
			for _, found := range p.query(t, q.Expr) {
				values = append(values, panel.says(legend(q.LegendFormat, found.labels), found.value))
			}
		}
		said[panel.Title] = strings.Join(values, "; ")
		if len(values) == 0 {
			said[panel.Title] = panel.FieldConfig.Defaults.NoValue
		}
	}
	return said
}

// rows returns the cells of each row of a table: the texts of its labels.
func (p *prometheus) rows(t *testing.T, panel panel) (all []map[string]string) {
	t.Helper()
	for _, q := range panel.Targets {
	series:
		for _, found := range p.query(t, q.Expr) {
			for _, row := range all {
				shared, same := 0, true
				for l, v := range found.labels {
					if has, there := row[l]; there {
						shared++
						same = same && has == v
					}
				}
				if same && shared > 0 {
					maps.Copy(row, found.labels)
					continue series
				}
			}
			all = append(all, maps.Clone(found.labels))
		}
	}
	return all
}

var label = regexp.MustCompile(`\{\{(\w+)\}\}`)

func legend(format string, of map[string]string) string {
	return label.ReplaceAllStringFunc(format, func(name string) string { return of[strings.Trim(name, "{}")] })
}

// says returns what a tile shows for a value with this name.
func (p panel) says(name string, v float64) string {
	defaults := p.FieldConfig.Defaults
	text, color := fmt.Sprintf("%.3g", v), defaults.Thresholds.color(v)
	for _, o := range p.FieldConfig.Overrides {
		for _, property := range o.Properties {
			if o.Matcher.ID == "byName" && o.Matcher.Options == name && property.ID == "thresholds" {
				var own thresholds
				if err := json.Unmarshal(property.Value, &own); err != nil {
					return err.Error()
				}
				color = own.color(v)
			}
		}
	}
	for _, m := range defaults.Mappings {
		if to, there := m.Options[text]; there && m.Type == "value" {
			text, color = to.Text, to.Color
		}
	}
	if name != "" {
		text += " " + name
	}
	switch color {
	case "transparent":
		return text + ", " + fine
	case "#B85C00":
		return text + ", " + warning
	case "#8F1018":
		return text + ", " + page
	case "text":
		return text // no thresholds
	}
	return text + ", " + color
}

func (t thresholds) color(v float64) (color string) {
	for i, s := range t.Steps {
		if i == 0 || s.Value != nil && v >= *s.Value {
			color = s.Color
		}
	}
	return color
}

func boardOf(t *testing.T, file string) dashboard {
	t.Helper()
	text := must.Get(fs.ReadFile(Files, file))(t)
	return read(t, text)
}

func panelOf(t *testing.T, d dashboard, title string) panel {
	t.Helper()
	for _, p := range d.Panels {
		if p.Title == title {
			return p
		}
	}
	t.Fatalf("%s has no panel %q", d.Title, title)
	return panel{}
}
