package alerting

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
)

// prepared is an engine that keeps the expressions of the queries that it has executed, and executes them again for other times. Prometheus' engine parses
// the text of each query, which takes a quarter of an evaluation of the rules. An expression is not kept if it can be executed only once: with @, which becomes
// a time, or with a subquery, which becomes its result.
type prepared struct {
	*promql.Engine
	mu   sync.Mutex
	free map[string]expression // that nobody executes, by text
}

func newPrepared(e *promql.Engine) *prepared {
	return &prepared{Engine: e, free: map[string]expression{}}
}

// maxPrepared is how many expressions are kept: of some 340 rules, and of parts of them.
const maxPrepared = 1000

type expression struct {
	parser.Expr
	selectors []*parser.VectorSelector
}

// preparedQuery is a query whose expression is kept when it is closed. The query itself is not: it holds its result.
type preparedQuery struct {
	promql.Query
	engine *prepared
	text   string
	expression
}

// NewInstantQuery implements promql.QueryEngine.
func (p *prepared) NewInstantQuery(ctx context.Context, q storage.Queryable, o promql.QueryOpts, text string, at time.Time) (promql.Query, error) {
	p.mu.Lock()
	kept, known := p.free[text]
	delete(p.free, text)
	p.mu.Unlock()
	if known {
		query, err := p.Engine.NewInstantQuery(ctx, q, o, "0", at)
		if err != nil {
			return nil, err
		}
		query.Statement().(*parser.EvalStmt).Expr = kept.Expr
		return &preparedQuery{query, p, text, kept}, nil
	}
	query, err := p.Engine.NewInstantQuery(ctx, q, o, text, at)
	if err != nil {
		return nil, err
	}
	kept.Expr = query.Statement().(*parser.EvalStmt).Expr
	bound := false
	parser.Inspect(kept.Expr, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.SubqueryExpr:
			bound = true
		case *parser.VectorSelector:
			bound = bound || n.Timestamp != nil
			kept.selectors = append(kept.selectors, n)
		}
		return nil
	})
	if bound {
		return query, nil
	}
	return &preparedQuery{query, p, text, kept}, nil
}

// Close implements promql.Query.
func (q *preparedQuery) Close() {
	q.Query.Close()
	for _, s := range q.selectors {
		s.UnexpandedSeriesSet, s.Series = nil, nil
	}
	q.engine.mu.Lock()
	defer q.engine.mu.Unlock()
	if len(q.engine.free) >= maxPrepared { // by reloads, and by families that come and go: see inputs.simplify
		clear(q.engine.free)
	}
	q.engine.free[q.text] = q.expression
}
