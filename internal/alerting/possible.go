package alerting

import (
	"context"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// names returns the names of all series.
func (s *Store) names(ctx context.Context) (map[string]bool, error) {
	index, err := s.Index()
	if err != nil {
		return nil, err
	}
	defer index.Close()
	all, err := index.LabelValues(ctx, model.MetricNameLabel, nil)
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool, len(all))
	for _, name := range all {
		names[name] = true
	}
	return names, nil
}

// Possible reports whether an expression can have a result if only the series exist whose names has returns true for.
func Possible(expr parser.Node, has func(name string) bool) bool {
	of := func(n parser.Node) bool { return Possible(n, has) }
	switch e := expr.(type) {
	case *parser.VectorSelector:
		return e.Name == "" || has(e.Name) // a pattern may match any name
	case *parser.BinaryExpr:
		switch e.Op {
		case parser.LOR:
			return of(e.LHS) || of(e.RHS)
		case parser.LUNLESS:
			return of(e.LHS)
		}
	case *parser.Call:
		switch e.Func.Name {
		case "absent", "absent_over_time", "scalar": // nothing is something
			return true
		}
	}
	for child := range parser.ChildrenIter(expr) {
		if !of(child) {
			return false
		}
	}
	return true
}
