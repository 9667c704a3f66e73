package alerting

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/files"
)

// Parser parses PromQL as the rules are parsed: without experimental functions.
var Parser = parser.NewParser(parser.Options{})

// builtIn is the name of the built-in rules.
const builtIn = "rules.yml"

// ruleSet is a valid file of rules.
type ruleSet struct {
	name        string
	groups      *rulefmt.RuleGroups
	alerts      int                // number of alerting rules
	records     int                // number of recording rules
	byText      map[string]written // the expressions of all rules
	annotations map[ruleKey]map[string]string
}

// CheckRules reads and validates the rules that c selects.
func CheckRules(c Config) (RulesSummary, error) {
	set, err := readRules(c)
	if err != nil {
		return RulesSummary{}, err
	}
	return RulesSummary{set.name, set.alerts, set.records}, nil
}

// readRules reads the rules that c selects. A file without alerts, such as one with thresholds, is evaluated with the built-in rules. A file with alerts
// replaces them.
func readRules(c Config) (*ruleSet, error) {
	if c.RulesFile == "" {
		return builtInRules(c.Rules)
	}
	content, err := files.Read(c.RulesFile)
	if err != nil {
		return nil, err
	}
	set, err := parseRules(c.RulesFile, content)
	if err != nil || set.alerts > 0 || len(c.Rules) == 0 {
		return set, err
	}
	all, err := builtInRules(c.Rules)
	if err != nil {
		return nil, err
	}
	return all.with(set)
}

// Replaces reports whether a rules file has alerts, or cannot be read: then it replaces the built-in rules.
func Replaces(file string) bool {
	content, err := files.Read(file)
	if err != nil {
		return true
	}
	set, err := parseRules(file, content)
	return err != nil || set.alerts > 0
}

// with returns these rules and those of another file.
func (s *ruleSet) with(o *ruleSet) (*ruleSet, error) {
	for _, g := range o.groups.Groups {
		if slices.ContainsFunc(s.groups.Groups, func(other rulefmt.RuleGroup) bool { return other.Name == g.Name }) {
			return nil, fmt.Errorf("%s: group %s is one of the built-in rules: rename it", o.name, g.Name)
		}
	}
	both := maps.Clone(s.byText)
	maps.Copy(both, o.byText)
	return &ruleSet{
		name: s.name + " and " + o.name, alerts: s.alerts, records: s.records + o.records,
		groups: &rulefmt.RuleGroups{Groups: slices.Concat(s.groups.Groups, o.groups.Groups)}, byText: both,
		annotations: s.annotations, // the others are no alerts
	}, nil
}

var (
	parsing sync.Mutex
	parsed  = map[string]*ruleSet{} // the built-in rules, by text
)

// builtInRules parses the built-in rules, once for all who need them: it is most of the work of a start. Nobody changes the result. Tests have validated
// these rules, texts included, which would take as long again.
func builtInRules(text []byte) (*ruleSet, error) {
	parsing.Lock()
	defer parsing.Unlock()
	if set, known := parsed[string(text)]; known {
		return set, nil
	}
	groups := &rulefmt.RuleGroups{}
	if err := yaml.Unmarshal(text, groups); err != nil {
		return nil, fmt.Errorf("%s: %w", builtIn, err)
	}
	set, err := newRuleSet(builtIn, groups)
	if err == nil {
		parsed[string(text)] = set
	}
	return set, err
}

// parseRules parses a rules file. It returns an error for a file that Prometheus rejects, for a rule that needs samples older
// than minHistory, and for a file without a rule.
func parseRules(name string, content []byte) (*ruleSet, error) {
	groups, errs := rulefmt.Parse(content, false, model.UTF8Validation, Parser, slog.New(slog.DiscardHandler))
	if groups == nil && len(errs) > 0 {
		errs = errs[:1] // the library parses the file twice and returns the error twice
	}
	for i, err := range errs {
		errs[i] = fmt.Errorf("%s: %w", name, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return newRuleSet(name, groups)
}

func newRuleSet(name string, groups *rulefmt.RuleGroups) (*ruleSet, error) {
	var errs []error
	set := &ruleSet{name: name, groups: groups, byText: map[string]written{}, annotations: map[ruleKey]map[string]string{}}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			ruleName := cmp.Or(r.Alert, r.Record)
			expr, err := Parser.ParseExpr(r.Expr)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, ruleName, err)
			}
			set.byText[r.Expr] = written{expr, expr.String()}
			selectors.keep(r.Expr, valueSelectors(expr)) // who reads which family is asked before the first page
			back := LooksBack(expr)
			if g.QueryOffset != nil {
				back += time.Duration(*g.QueryOffset)
			}
			if back > minHistory+Lookback {
				errs = append(errs, fmt.Errorf("%s: group %s: %s looks back %s, but samples are kept for %s: "+
					"shorten its range or offset, or let a Prometheus evaluate the rules",
					name, g.Name, ruleName, model.Duration(back), model.Duration(minHistory)))
			}
			if r.Alert == "" {
				set.records++
				continue
			}
			set.alerts++
			if r.Annotations == nil {
				r.Annotations = map[string]string{}
			}
			set.annotations[keyOf(rules.RuleDetail{Name: r.Alert, Query: expr.String(), Labels: rules.FromMaps(g.Labels, r.Labels)})] = r.Annotations
		}
	}
	if len(errs) == 0 && len(set.byText) == 0 {
		errs = append(errs, fmt.Errorf("%s: the file has no rule: add one", name))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return set, nil
}

// LooksBack returns the age of the oldest samples that an expression needs.
func LooksBack(expr parser.Expr) time.Duration { return looksBack(expr, Lookback) }

func looksBack(expr parser.Expr, lookback time.Duration) time.Duration {
	now := time.Now()
	from, to := promql.FindMinMaxTime(&parser.EvalStmt{Expr: expr, Start: now, End: now, LookbackDelta: lookback})
	if from == 0 && to == 0 {
		return 0 // the expression reads no samples
	}
	return max(0, now.Sub(time.UnixMilli(from))).Round(time.Second)
}

// loader is a rules.GroupLoader. It returns set, without annotations, and does not read the file, because the file may have changed after set was
// validated.
type loader struct{ set *ruleSet }

func (l *loader) Load(string, bool, model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	groups := slices.Clone(l.set.groups.Groups)
	for i, g := range groups {
		groups[i].Rules = slices.Clone(g.Rules)
		for j := range g.Rules {
			groups[i].Rules[j].Annotations = nil // see texts
		}
	}
	return &rulefmt.RuleGroups{Groups: groups}, nil
}

// Parse returns the expression of a rule, which is parsed already.
func (l *loader) Parse(query string) (parser.Expr, error) {
	expr, known := l.set.byText[query]
	if !known {
		return nil, fmt.Errorf("no rule has the expression %s", query)
	}
	return expr, nil
}

var _ rules.GroupLoader = (*loader)(nil)

// written is an expression that keeps its text: the rule manager asks for it three times per evaluation.
type written struct {
	parser.Expr
	text string
}

func (w written) String() string { return w.text }

// independent is a rules.RuleDependencyController. Rules are evaluated one after the other, so nobody asks which of them depend on each other.
type independent struct{}

func (independent) AnalyseRules([]rules.Rule) {}
