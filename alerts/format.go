package alerts

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts/compile"
)

// The names of the rule files.
const (
	RulesFile     = "rules"
	CompanionFile = "companion"
)

// Options select what is added to a rule file.
type Options struct {
	Labels []string // labels of nodes and validators, such as owner, that each alert gets. Without a value it is none.
	Digest bool     // the rules of the weekly digest
}

// Compiled returns a rule file, compiled from its source.
func Compiled(name string, o Options) (*compile.File, error) {
	source, err := fs.Sub(Source, "source/"+name)
	if err != nil {
		return nil, err
	}
	f, err := compile.Rules(source, o.Labels...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if o.Digest {
		var digest rulefmt.RuleGroups
		if err := yaml.Unmarshal(Digest, &digest); err != nil {
			return nil, fmt.Errorf("digest: %w", err)
		}
		for _, g := range digest.Groups {
			added := compile.Group{Name: g.Name, Interval: g.Interval}
			for _, r := range g.Rules {
				added.Rules = append(added.Rules, compile.Rule{Rule: r})
			}
			compile.Own([]compile.Group{added}, o.Labels)
			f.Groups = append(f.Groups, added)
		}
	}
	return f, nil
}

// Inhibitions returns the section inhibit_rules of Alertmanager's configuration: which alert suppresses which.
func Inhibitions() ([]byte, error) {
	rules, err := fs.Sub(Source, "source/"+RulesFile)
	if err != nil {
		return nil, err
	}
	companion, err := fs.Sub(Source, "source/"+CompanionFile)
	if err != nil {
		return nil, err
	}
	return compile.Inhibitions(rules, companion)
}

// With returns rules.yml with what the options add.
func With(o Options) ([]byte, error) {
	f, err := Compiled(RulesFile, o)
	if err != nil {
		return nil, err
	}
	return f.YAML()
}

// objectSize is the largest size of a group that is one object, as YAML. kubectl apply keeps a copy of an object as JSON in an annotation, of 262144
// bytes at most, and the Prometheus operator writes no rules of an object above 524288 bytes. JSON needs up to a tenth more than YAML.
const objectSize = 220_000

// PrometheusRules returns a rule file as objects of the Prometheus operator: one for each group, below the limits of Kubernetes.
func PrometheusRules(name string, f *compile.File) ([]byte, error) {
	groups, err := forObjects(f.Groups, 0)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for i, g := range groups {
		if i > 0 {
			out.WriteString("---\n")
		}
		fmt.Fprintf(&out, `apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: %s-%s
  labels:
    app.kubernetes.io/name: avax-exporter
spec:
`, name, strings.TrimPrefix(strings.TrimPrefix(g.Name, "avax-"), "companion-"))
		text, err := (&compile.File{Groups: []compile.Group{g}}).YAML()
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(text) {
			if len(bytes.TrimSpace(line)) > 0 {
				out.WriteString("  ")
			}
			out.Write(line)
		}
	}
	return out.Bytes(), nil
}

// forObjects returns the groups, of which those are split that are too large for an object. Each alert grows by a number of bytes.
func forObjects(groups []compile.Group, grows int) (small []compile.Group, err error) {
	for _, g := range groups {
		text, err := (&compile.File{Groups: []compile.Group{g}}).YAML()
		if err != nil {
			return nil, err
		}
		size := len(text)
		for _, r := range g.Rules {
			if r.Alert != "" {
				size += grows
			}
		}
		if size > objectSize {
			small = append(small, smaller([]compile.Group{g})...)
		} else {
			small = append(small, g)
		}
	}
	return small, nil
}

// owner stands in the rules of the chart for the labels that its values list.
const owner = "OWNER"

// thisAlert stands in the value of a label for the name of the alert.
const thisAlert = "THIS_ALERT"

// chartLabels is the number of labels with which each object of the chart is small enough.
const chartLabels = 3

// Chart returns the rules for the Helm chart, which makes an object of each group, and what it adds for each label: the value that alerts get, and rules
// after avax:labels. OWNER stands for the labels.
func Chart() (rules, label []byte, err error) {
	f, err := Compiled(RulesFile, Options{Labels: []string{owner}})
	if err != nil {
		return nil, nil, err
	}
	added := struct {
		Value string         `yaml:"value"`
		Rules []rulefmt.Rule `yaml:"rules"`
	}{Value: compile.OwnerOf(owner, thisAlert)}
	for i, g := range f.Groups {
		f.Groups[i].Rules = slices.DeleteFunc(g.Rules, func(r compile.Rule) bool {
			its := r.Labels["label"] == owner
			if its {
				added.Rules = append(added.Rules, r.Rule)
			}
			return its
		})
		for _, r := range g.Rules {
			delete(r.Labels, owner)
		}
	}
	if f.Groups, err = forObjects(f.Groups, chartLabels*len(added.Value)); err != nil {
		return nil, nil, err
	}
	f.Head = "# Compiled from alerts/source by `make docs`."
	if rules, err = f.YAML(); err != nil {
		return nil, nil, err
	}
	label, err = yaml.Marshal(added)
	return rules, label, err
}

// GrafanaManaged returns a rule file with annotations for Grafana-managed alerting: there, $value is a text, and query returns nothing.
func GrafanaManaged(f *compile.File) *compile.File {
	groups := slices.Clone(f.Groups)
	for i, g := range groups {
		groups[i].Rules = slices.Clone(g.Rules)
		for j, r := range g.Rules {
			texts := maps.Clone(r.Annotations)
			for name, text := range texts {
				texts[name] = strings.ReplaceAll(text, "$value", "$.Values.query.Value")
			}
			groups[i].Rules[j].Annotations = texts
		}
	}
	return &compile.File{Head: f.Head, Groups: groups}
}

// mimirGroup is the number of rules that a group may have by Mimir's default limit (ruler_max_rules_per_rule_group).
const mimirGroup = 20

// Mimir returns a rule file with groups that Mimir and Cortex accept by default.
func Mimir(f *compile.File) *compile.File {
	return &compile.File{Head: f.Head, Groups: smaller(f.Groups)}
}

// smaller returns groups of at most 20 rules. An alert is in one group with the records that it reads, as far as they fit, and follows them. A
// record of another group may be one evaluation old.
func smaller(groups []compile.Group) (split []compile.Group) {
	var all []compile.Rule
	var names []string // of the group of each rule
	records := map[string][]int{}
	intervals := map[string]model.Duration{}
	for _, g := range groups {
		intervals[g.Name] = g.Interval
		for _, r := range g.Rules {
			if r.Record != "" {
				records[r.Record] = append(records[r.Record], len(all))
			}
			all, names = append(all, r), append(names, g.Name)
		}
	}
	placed := map[int]bool{}
	var closure func(i int, found map[int]bool)
	closure = func(i int, found map[int]bool) {
		found[i] = true
		for _, name := range all[i].Reads() {
			for _, j := range records[name] {
				if !placed[j] && !found[j] && !strings.HasPrefix(name, compile.Threshold) {
					closure(j, found)
				}
			}
		}
	}
	room, number := 0, map[string]int{}
	open := func(of string) {
		number[of]++
		split = append(split, compile.Group{Name: fmt.Sprintf("%s-%d", of, number[of]), Interval: intervals[of]})
		room = mimirGroup - 1 // with eight labels of nodes, one more alert would make an object too large
	}
	for _, alerts := range []bool{true, false} {
		for i, r := range all {
			if placed[i] || (r.Alert != "") != alerts {
				continue
			}
			together := map[int]bool{}
			closure(i, together)
			if len(together) > room {
				open(names[i])
			}
			for _, j := range slices.Sorted(maps.Keys(together)) {
				if room == 0 {
					open(names[i])
				}
				last := &split[len(split)-1]
				last.Rules, placed[j] = append(last.Rules, all[j]), true
				room--
			}
		}
	}
	return split
}
