package alerting

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/avax-exporter/avax-exporter/internal/spelling"
)

// Known are the families that this process exports, by name, with their labels. A family of a collector that is off has no samples.
type Known struct {
	Labels map[string][]string
	Off    map[string]string // the collector, by family
	Extra  []string          // labels that the operator gave to nodes and validators
}

// AlertLabels returns the labels of each alert of the rules that c selects, without those that are templates.
func AlertLabels(c Config) (all []map[string]string, err error) {
	set, err := readRules(c)
	if err != nil {
		return nil, err
	}
	for _, g := range set.groups.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			alert := map[string]string{"alertname": r.Alert, "job": c.Job}
			for _, of := range []map[string]string{c.ExternalLabels, g.Labels, r.Labels} {
				for name, value := range of {
					if !strings.Contains(value, "{{") {
						alert[name] = value
					}
				}
			}
			all = append(all, alert)
		}
	}
	return all, nil
}

// always matches the families that each scrape of this process adds.
var always = regexp.MustCompile(`^(up|scrape_[a-z_]+|go_.+|process_.+|avax_exporter_build_info|ALERTS|ALERTS_FOR_STATE)$`)

// UnknownNames returns an error for each rule of the file in c that selects a family, or a label of a family, that this process does not export:
// such a rule never has a result. The rules in the file see no other samples than those of this process. A rule that equals a built-in one is in order, and
// so is a record that built-in rules read and operators may add, such as avax:threshold_override.
func UnknownNames(c Config, known Known) (problems []error, err error) {
	set, err := readRules(c)
	if err != nil {
		return nil, err
	}
	builtIn, err := builtInRules(c.Rules)
	if err != nil {
		return nil, err
	}
	recorded, recordedBuiltIn := set.recordNames(), builtIn.recordNames()
	shipped := map[[2]string]bool{} // name and expression
	for _, g := range builtIn.groups.Groups {
		for _, r := range g.Rules {
			shipped[[2]string{cmp.Or(r.Alert, r.Record), r.Expr}] = true
			for _, name := range selected(r.Expr) {
				if _, exported := known.Labels[name]; strings.HasPrefix(name, "avax:") && !exported && !recordedBuiltIn[name] {
					recorded[name] = true
				}
			}
		}
	}
	for _, g := range set.groups.Groups {
		for _, r := range g.Rules {
			if shipped[[2]string{cmp.Or(r.Alert, r.Record), r.Expr}] {
				continue
			}
			expr, err := Parser.ParseExpr(r.Expr)
			if err != nil {
				return nil, err
			}
			said := map[string]bool{}
			parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
				s, isSelector := n.(*parser.VectorSelector)
				if !isSelector {
					return nil
				}
				why := known.unknown(s, c, recorded, recordedBuiltIn)
				if why != "" && !said[why] {
					said[why] = true
					problems = append(problems, fmt.Errorf("%s of group %s: %s", cmp.Or(r.Alert, r.Record), g.Name, why))
				}
				return nil
			})
		}
	}
	return problems, nil
}

// selected returns the names that an expression selects.
func selected(expr string) (names []string) {
	parsed, err := Parser.ParseExpr(expr)
	if err != nil {
		return nil
	}
	for _, selector := range parser.ExtractSelectors(parsed) {
		for _, m := range selector {
			if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
				names = append(names, m.Value)
			}
		}
	}
	return names
}

// recordNames returns the names of the recorded series.
func (s *ruleSet) recordNames() map[string]bool {
	names := map[string]bool{}
	for _, g := range s.groups.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				names[r.Record] = true
			}
		}
	}
	return names
}

// unknown returns why a selector never has a result; empty if it may have one.
func (k Known) unknown(s *parser.VectorSelector, c Config, recorded, recordedBuiltIn map[string]bool) string {
	name := s.Name
	for _, m := range s.LabelMatchers {
		if m.Name != model.MetricNameLabel {
			continue
		}
		if m.Type == labels.MatchEqual {
			name = m.Value
			continue
		}
		matches := func(name string) bool { return name != "" && m.Matches(name) }
		if !always.MatchString(m.Value) && !slices.ContainsFunc(slices.Collect(maps.Keys(k.Labels)), matches) &&
			!slices.ContainsFunc(slices.Collect(maps.Keys(recorded)), matches) {
			return fmt.Sprintf("no family matches %s: correct the expression", m)
		}
		return ""
	}
	if name == "" || recorded[name] || always.MatchString(name) {
		return ""
	}
	have, isKnown := k.Labels[name]
	switch {
	case isKnown && k.Off[name] != "":
		return fmt.Sprintf("family %s has no samples: the collector %s is off: add it to AVAX_COLLECTORS, or remove the rule", name, k.Off[name])
	case isKnown:
		for _, m := range s.LabelMatchers {
			_, external := c.ExternalLabels[m.Name]
			if m.Name != model.MetricNameLabel && !m.Matches("") && !external && !slices.Contains(slices.Concat(have, k.Extra, []string{"job", "instance"}), m.Name) {
				return fmt.Sprintf("family %s has no label %q: its labels are %s", name, m.Name, strings.Join(have, ", "))
			}
		}
		return ""
	case recordedBuiltIn[name]:
		return fmt.Sprintf("%s is recorded by the built-in rules, which this file replaces: copy its recording rule from avax-exporter rules", name)
	case !strings.HasPrefix(name, "avax"):
		return fmt.Sprintf("unknown family %s: rules in this process see only the metrics of the exporter: let a Prometheus evaluate the rule", name)
	}
	if near := spelling.Near(name, slices.Sorted(maps.Keys(k.Labels))); len(near) > 0 {
		return fmt.Sprintf("unknown family %s: did you mean %s?", name, near[0])
	}
	return fmt.Sprintf("unknown family %s: metrics.md lists the families", name)
}
