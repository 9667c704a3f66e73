package evaluation

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// PromQL parses expressions as Prometheus does: without experimental functions.
var PromQL = parser.NewParser(parser.Options{})

// ruleSet is a list of rules that are evaluated together, in the order of the file. The rules of a cyclic set read each other, or one rule
// reads its own earlier results.
type ruleSet struct {
	rules  []*Rule
	cyclic bool
}

// newRules parses rules and orders them in sets: a set comes after the sets that it reads.
func newRules(given []rulefmt.Rule) (all []*Rule, sets []ruleSet, err error) {
	for i, r := range given {
		rule := &Rule{Rule: r, Name: cmp.Or(r.Alert, r.Record), number: i}
		if rule.Expr, err = PromQL.ParseExpr(r.Expr); err != nil {
			return nil, nil, fmt.Errorf("rule %s: %w", rule.Name, err)
		}
		rule.prepare()
		for _, text := range r.Annotations {
			rule.shows = append(rule.shows, words.FindAllString(text, -1)...)
		}
		all = append(all, rule)
	}
	for _, r := range all {
		r.selects = selectors(r.Expr)
		for _, v := range r.selects {
			for _, other := range all {
				if other.produces(v) && !slices.Contains(r.reads, other) {
					r.reads = append(r.reads, other)
				}
			}
		}
		for _, word := range words.FindAllString(r.templates(), -1) {
			quoted := strings.Trim(word, `"`)
			for _, other := range all {
				if (other.Record == word || quoted != word && other.Alert == quoted) && !slices.Contains(r.reads, other) {
					r.reads = append(r.reads, other)
				}
			}
		}
		if r.query, err = r.lagging(r.Rule.Expr, all); err != nil {
			return nil, nil, err
		}
	}
	return all, components(all), nil
}

// words are the names of records, and the quoted names of alerts.
var words = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*|"\w+"`)

// templates returns the labels that are templates: what their queries read decides which alert it is.
func (r *Rule) templates() (all string) {
	r.fixed.Range(func(l labels.Label) {
		if strings.Contains(l.Value, "{{") {
			all += l.Value
		}
	})
	return all
}

// selectors returns the selectors of an expression.
func selectors(expr parser.Expr) (all []*parser.VectorSelector) {
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			all = append(all, v)
		}
		return nil
	})
	return all
}

// produces reports whether the selector may match a result of the rule. Labels that the rule does not set may have any value.
func (r *Rule) produces(v *parser.VectorSelector) bool {
	return !slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool {
		if m.Name == model.MetricNameLabel {
			return !slices.ContainsFunc(r.names, m.Matches)
		}
		set := r.fixed.Get(m.Name)
		return set != "" && !strings.Contains(set, "{{") && !m.Matches(set)
	})
}

// lag is how much earlier a rule reads the results of itself and of the rules after it. Prometheus evaluates the rules of a file in order:
// at the time of its evaluation, a rule sees the results of the rules before it, and the earlier results of all others.
const lag = time.Millisecond

// lagging returns an expression of the rule in which the selectors of its own results, and of results of later rules, do not select samples
// of the time of the evaluation.
func (r *Rule) lagging(text string, all []*Rule) (string, error) {
	expr, err := PromQL.ParseExpr(text)
	if err != nil {
		return "", fmt.Errorf("rule %s: %w", r.Name, err)
	}
	changed := false
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		v, direct := n.(*parser.VectorSelector)
		m, ranged := n.(*parser.MatrixSelector)
		if ranged {
			v = m.VectorSelector.(*parser.VectorSelector)
		}
		later := func(other *Rule) bool { return other.number >= r.number && other.produces(v) }
		if (direct || ranged) && v.OriginalOffset%time.Second == 0 && slices.ContainsFunc(all, later) {
			changed = true
			v.OriginalOffset += lag
			if ranged {
				m.Range -= lag // it begins at the same time
			}
		}
		return nil
	})
	if !changed {
		return text, nil
	}
	return expr.String(), nil
}

// components returns the rules in sets of those that read each other. A set comes after those that it reads.
func components(all []*Rule) (sets []ruleSet) {
	reach := make([]map[*Rule]bool, len(all))
	for i, r := range all {
		reach[i] = map[*Rule]bool{}
		for next := r.reads; len(next) > 0; {
			read := next[0]
			if next = next[1:]; !reach[i][read] {
				reach[i][read] = true
				next = slices.Concat(next, read.reads)
			}
		}
	}
	for i, r := range all {
		set := ruleSet{rules: []*Rule{r}, cyclic: reach[i][r]}
		for j, other := range all {
			if i != j && reach[i][other] && reach[j][r] {
				set.rules = append(set.rules, other)
			}
		}
		slices.SortFunc(set.rules, func(a, b *Rule) int { return a.number - b.number })
		if set.rules[0] == r {
			sets = append(sets, set)
		}
	}
	// With itself, a rule reaches more rules than a rule that it reads, unless both read each other.
	for i, r := range all {
		reach[i][r] = true
	}
	slices.SortStableFunc(sets, func(a, b ruleSet) int { return len(reach[a.rules[0].number]) - len(reach[b.rules[0].number]) })
	return sets
}
