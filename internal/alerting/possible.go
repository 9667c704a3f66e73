package alerting

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// present tells which expressions can have a result: a rule about series that this exporter does not have, such as those of L1s, wallets or the Data
// service, is not evaluated.
type present struct {
	mu    sync.Mutex
	at    time.Time // of the names
	names map[string]bool
	exprs map[string]parser.Expr // by text
}

// canHaveResult reports whether an expression of a rule can have a result with the series in the store.
func (p *present) canHaveResult(ctx context.Context, s *Store, text string, at time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	expr := p.exprs[text]
	if expr == nil {
		var err error
		if expr, err = Parser.ParseExpr(text); err != nil {
			return true // the engine says why not
		}
		p.exprs[text] = expr
	}
	if !p.at.Equal(at) {
		names, err := s.names(ctx)
		if err != nil {
			return true
		}
		p.at, p.names = at, names
	}
	return Possible(expr, func(name string) bool { return p.names[name] })
}

// recorded adds a name that the store has from now on.
func (p *present) recorded(names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range names {
		p.names[name] = true
	}
}

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
