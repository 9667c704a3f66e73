package compile

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

var promQL = parser.NewParser(parser.Options{})

const (
	// newest is how old the newest sample of a family may be. A failed scrape ends every series until the next scrape, and no alert may end or
	// wait for that reason.
	newest = 7 * time.Minute

	families = "avax_"  // before the names of families
	raw      = "raw:"   // before a family: its series, which ends with the last scrape
	owned    = "owned:" // before a record: joined with the labels that the operator gives to nodes
	bar      = "bar"    // the threshold of the rule
	clears   = "clears" // the value at which an alert of the rule ends
	firing   = "firing" // the alerts of the rule that fire
)

// replica are the labels that distinguish replicas of an exporter, and alerts those that Prometheus adds to the series of alerts.
var (
	replica = []string{"instance", "pod"}
	alerts  = []string{"alertname", "alertstate", "severity", "alertgroup"}
)

// expression translates an expression of the source into PromQL.
type expression struct {
	bar    []*labels.Matcher // of the threshold that bar means
	clears float64           // the multiple of it that clears means; 0 if it means nothing
	ending bool              // bar means clears
	firing []*labels.Matcher // of the alerts of the rule
	owners []string          // labels that the operator gives to nodes and validators
}

// translate returns the PromQL of an expression of the source.
func (x expression) translate(text string) (parser.Expr, error) {
	expr, err := promQL.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	if expr, err = x.rewrite(expr); err != nil {
		return nil, err
	}
	// The tree is printed and parsed, so that what the rules get is checked as Prometheus checks it.
	if expr, err = promQL.ParseExpr(expr.String()); err != nil {
		return nil, err
	}
	return expr, checkExpr(expr)
}

func (x expression) rewrite(expr parser.Expr) (_ parser.Expr, err error) {
	each := func(in ...*parser.Expr) {
		for _, e := range in {
			if err == nil {
				*e, err = x.rewrite(*e)
			}
		}
	}
	switch e := expr.(type) {
	case *parser.VectorSelector:
		return x.selector(e)
	case *parser.AggregateExpr:
		e.Grouping = x.labels(e.Grouping)
		each(&e.Expr)
		if e.Param != nil {
			each(&e.Param)
		}
	case *parser.BinaryExpr:
		if m := e.VectorMatching; m != nil {
			m.MatchingLabels, m.Include = x.labels(m.MatchingLabels), x.labels(m.Include)
		}
		each(&e.LHS, &e.RHS)
	case *parser.Call:
		if e.Func.Name == "scalar" && isBar(e.Args[0]) {
			return x.rewrite(e.Args[0])
		}
		for i := range e.Args {
			each(&e.Args[i])
		}
	case *parser.ParenExpr:
		each(&e.Expr)
	case *parser.UnaryExpr:
		each(&e.Expr)
	case *parser.SubqueryExpr:
		each(&e.Expr)
	}
	return expr, err
}

func isBar(expr parser.Expr) bool {
	v, is := expr.(*parser.VectorSelector)
	return is && (v.Name == bar || v.Name == clears)
}

// selector returns what a selector means that is not in a range.
func (x expression) selector(v *parser.VectorSelector) (parser.Expr, error) {
	name, isRaw := strings.CutPrefix(v.Name, raw)
	record, isOwned := strings.CutPrefix(v.Name, owned)
	switch {
	case v.Name == bar || v.Name == clears:
		return x.threshold(v)
	case isOwned:
		rename(v, record)
		if len(x.owners) == 0 {
			return v, nil
		}
		each, err := promQL.ParseExpr("avax:labels_of_each_node")
		return &parser.BinaryExpr{Op: parser.MUL, LHS: each, RHS: v, VectorMatching: &parser.VectorMatching{
			Card: parser.CardOneToMany, MatchingLabels: []string{"job", "node"}, On: true, Include: x.owners,
		}}, err
	case v.Name == firing:
		if len(x.firing) == 0 {
			return nil, errors.New("firing: which alert? In a record write ALERTS{alertname=…}")
		}
		v.Name, v.LabelMatchers = "ALERTS", x.firing
	case isRaw:
		rename(v, name)
	case strings.HasPrefix(v.Name, families):
		return &parser.Call{Func: parser.Functions["last_over_time"], Args: parser.Expressions{&parser.MatrixSelector{VectorSelector: v, Range: newest}}}, nil
	}
	return v, nil
}

// rename gives a selector another name.
func rename(v *parser.VectorSelector, name string) {
	v.Name = name
	for i, m := range v.LabelMatchers {
		if m.Name == model.MetricNameLabel {
			v.LabelMatchers[i] = labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, name)
		}
	}
}

// labels replaces words for lists of labels by the labels.
func (x expression) labels(names []string) (all []string) {
	for _, name := range names {
		switch name {
		case "replica":
			all = append(all, replica...)
		case "owner":
			all = append(all, x.owners...)
		case "ALERTS":
			all = append(all, alerts...)
			all = append(all, x.owners...)
		default:
			all = append(all, name)
		}
	}
	return all
}

// Reads returns the names of the series that the rule reads.
func (r Rule) Reads() (names []string) {
	expr, err := promQL.ParseExpr(r.Expr)
	if err != nil {
		return nil
	}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if v, is := n.(*parser.VectorSelector); is && !slices.Contains(names, v.Name) {
			names = append(names, v.Name)
		}
		return nil
	})
	return names
}
