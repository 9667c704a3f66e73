//go:build !noalerting

package alerting

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/internal/regular"
)

var promQL = parser.NewParser(parser.Options{})

// builtIn is the name of the built-in rules.
const builtIn = "rules.yml"

// ruleSet is a valid file of rules.
type ruleSet struct {
	name   string
	groups *rulefmt.RuleGroups
	// families is a pattern of the names of samples that the rules may use.
	families string
	alerts   int
	records  int
}

// CheckRules reads the rules that c names and returns their errors.
func CheckRules(c Config) (RulesSummary, error) {
	set, err := readRules(c)
	if err != nil {
		return RulesSummary{}, err
	}
	return RulesSummary{set.name, set.alerts, set.records}, nil
}

func readRules(c Config) (*ruleSet, error) {
	name, content := builtIn, c.Rules
	if c.RulesFile != "" {
		var err error
		name = c.RulesFile
		if content, err = regular.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return parseRules(name, content, max(c.History, MinHistory))
}

// parseRules rejects what Prometheus rejects, rules that look back further than the history, and a file
// without an alert.
func parseRules(name string, content []byte, history time.Duration) (*ruleSet, error) {
	groups, errs := rulefmt.Parse(content, false, model.UTF8Validation, promQL, slog.New(slog.DiscardHandler))
	if groups == nil && len(errs) > 0 {
		errs = errs[:1] // it was parsed twice, the second time for line numbers
	}
	for i, err := range errs {
		errs[i] = fmt.Errorf("%s: %w", name, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	set := &ruleSet{name: name, groups: groups}
	names := map[string]bool{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			which := cmp.Or(r.Alert, r.Record)
			expr, err := promQL.ParseExpr(r.Expr)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, which, err)
			}
			back := looksBack(expr)
			if g.QueryOffset != nil {
				back += time.Duration(*g.QueryOffset)
			}
			if back > history+lookback {
				errs = append(errs, fmt.Errorf("%s: group %s: %s looks back %s, and samples are kept for %s: shorten its range or offset, keep samples for longer, or let a Prometheus evaluate it",
					name, g.Name, which, model.Duration(back), model.Duration(history)))
			}
			asked(expr, names)
			if r.Alert == "" {
				set.records++
				continue
			}
			set.alerts++
			for _, text := range r.Annotations {
				askedByTemplate(text, names)
			}
			for _, text := range r.Labels {
				askedByTemplate(text, names)
			}
		}
	}
	if len(errs) == 0 && set.alerts == 0 {
		errs = append(errs, fmt.Errorf("%s: no alert in the file: add one", name))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	set.families = strings.Join(slices.Sorted(maps.Keys(names)), "|")
	return set, nil
}

// looksBack returns how long before its evaluation an expression needs samples.
func looksBack(expr parser.Expr) time.Duration {
	now := time.Now()
	from, to := promql.FindMinMaxTime(&parser.EvalStmt{Expr: expr, Start: now, End: now, LookbackDelta: lookback})
	if from == 0 && to == 0 {
		return 0 // it reads no samples
	}
	return max(0, now.Sub(time.UnixMilli(from))).Round(time.Second)
}

// asked adds patterns for the names of the samples that an expression uses.
func asked(expr parser.Expr, names map[string]bool) {
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		named := false
		for _, m := range s.LabelMatchers {
			switch {
			case m.Name != model.MetricNameLabel:
			case m.Type == labels.MatchEqual:
				names[regexp.QuoteMeta(m.Value)], named = true, true
			case m.Type == labels.MatchRegexp:
				names["(?:"+m.Value+")"], named = true, true
			}
		}
		if !named {
			names[".*"] = true
		}
		return nil
	})
}

var identifier = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)

// askedByTemplate adds the names that a template may use in its function query. The query text is built when the
// template runs, so every word in it counts as a name.
func askedByTemplate(text string, names map[string]bool) {
	if !strings.Contains(text, "query") {
		return
	}
	for _, word := range identifier.FindAllString(text, -1) {
		names[word] = true
	}
}

// loader is a rules.GroupLoader that returns a set that was read and validated before, even if its file
// has changed.
type loader struct{ set *ruleSet }

func (l *loader) Load(string, bool, model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	return l.set.groups, nil
}

func (*loader) Parse(query string) (parser.Expr, error) { return promQL.ParseExpr(query) }

var _ rules.GroupLoader = (*loader)(nil)
