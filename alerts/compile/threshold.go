package compile

import (
	"errors"
	"regexp"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// Threshold is the record with the thresholds, and used that with the thresholds that apply: an operator may override them.
const (
	Threshold = "avax:threshold"
	used      = "avax:threshold_used"
)

var (
	span    = regexp.MustCompile(`^([0-9]+)([mhd])$`)
	seconds = map[string]string{"m": "60", "h": "3600", "d": "86400"}
)

// threshold adds a threshold: a number, or a duration in seconds.
func (c *compiler) threshold(with map[string]string, value, note string) {
	if m := span.FindStringSubmatch(value); m != nil {
		value = m[1] + " * " + seconds[m[2]]
	}
	if value != "" {
		c.thresholds = append(c.thresholds, Rule{Rule: rulefmt.Rule{Record: Threshold, Labels: with, Expr: "vector(" + value + ")"}, Comment: note})
	}
}

func matchers(with map[string]string) (all []*labels.Matcher) {
	for _, name := range sortedKeys(with) { // alert comes first
		all = append(all, labels.MustNewMatcher(labels.MatchEqual, name, with[name]))
	}
	return all
}

// threshold returns the number with which a rule compares. The matchers of bar replace those of the rule, except for its alert.
func (x expression) threshold(v *parser.VectorSelector) (parser.Expr, error) {
	own := slices.DeleteFunc(slices.Clone(v.LabelMatchers), func(m *labels.Matcher) bool { return m.Name == model.MetricNameLabel })
	foreign := slices.ContainsFunc(own, func(m *labels.Matcher) bool { return m.Name == "alert" })
	ends := v.Name == clears || x.ending && !foreign
	switch {
	case ends && x.clears == 0:
		return nil, errors.New("clears: write in the alert which multiple of its bar it is")
	case len(own) == 0:
		own = x.bar
	case len(x.bar) > 0 && !foreign:
		own = slices.Concat(x.bar[:1], own)
	}
	if len(own) == 0 || own[0].Name != "alert" {
		return nil, errors.New(`bar: whose? In a record write bar{alert="NAME"}`)
	}
	rename(v, used)
	v.LabelMatchers = slices.Concat(own, []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, used)})
	var number parser.Expr = &parser.Call{Func: parser.Functions["scalar"], Args: parser.Expressions{&parser.AggregateExpr{Op: parser.MAX, Expr: v}}}
	if ends {
		number = &parser.BinaryExpr{Op: parser.MUL, LHS: number, RHS: &parser.NumberLiteral{Val: x.clears}}
	}
	return number, nil
}
