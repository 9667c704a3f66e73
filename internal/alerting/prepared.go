package alerting

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
)

// prepared is an engine that keeps the queries that it has executed, and executes them again for other times. Prometheus' engine parses the text of
// each query, which takes a quarter of an evaluation of the rules. A query is not kept if it can be executed only once: with @, which becomes a time, or with
// a subquery, which becomes its result.
type prepared struct {
	*promql.Engine
	mu   sync.Mutex
	free map[string]*preparedQuery // that nobody executes, by text
}

func newPrepared(e *promql.Engine) *prepared {
	return &prepared{Engine: e, free: map[string]*preparedQuery{}}
}

// maxPrepared is how many queries are kept: of some 340 rules, and of parts of them.
const maxPrepared = 1000

type preparedQuery struct {
	promql.Query
	engine    *prepared
	selectors []*parser.VectorSelector
}

// NewInstantQuery implements promql.QueryEngine.
func (p *prepared) NewInstantQuery(ctx context.Context, q storage.Queryable, o promql.QueryOpts, text string, at time.Time) (promql.Query, error) {
	p.mu.Lock()
	kept := p.free[text]
	delete(p.free, text)
	p.mu.Unlock()
	if kept != nil {
		statement := kept.Statement().(*parser.EvalStmt)
		statement.Start, statement.End = at, at
		return kept, nil
	}
	query, err := p.Engine.NewInstantQuery(ctx, q, o, text, at)
	if err != nil {
		return nil, err
	}
	bound, selectors := false, []*parser.VectorSelector(nil)
	parser.Inspect(query.Statement().(*parser.EvalStmt).Expr, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.SubqueryExpr:
			bound = true
		case *parser.VectorSelector:
			bound = bound || n.Timestamp != nil
			selectors = append(selectors, n)
		}
		return nil
	})
	if bound {
		return query, nil
	}
	return &preparedQuery{query, p, selectors}, nil
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
	q.engine.free[q.String()] = q
}
