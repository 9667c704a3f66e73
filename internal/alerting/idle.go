package alerting

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
)

// idle is a rules.RuleConcurrencyController that lets the rule manager evaluate one rule after the other, without those whose evaluation would do
// nothing: it can have no result, and no earlier result has to end. Most rules of a healthy node are of this kind.
type idle struct{ in *inputs }

var _ rules.RuleConcurrencyController = idle{}

// SplitGroupIntoBatches implements rules.RuleConcurrencyController.
func (i idle) SplitGroupIntoBatches(_ context.Context, g *rules.Group) []rules.ConcurrentRules {
	possible, due := i.in.possibleOf(g), rules.ConcurrentRules{}
	for n, r := range g.Rules() {
		switch {
		case i.in.written(r):
		case possible[n] || r.GetEvaluationTimestamp().IsZero() || r.LastError() != nil || i.in.active(r):
			due = append(due, n)
		default:
			r.SetEvaluationTimestamp(time.Now())
		}
	}
	return []rules.ConcurrentRules{due}
}

// Allow implements rules.RuleConcurrencyController.
func (idle) Allow(context.Context, *rules.Group, rules.Rule) bool { return false }

// Done implements rules.RuleConcurrencyController.
func (idle) Done(context.Context) {}

// written reports whether a record of a constant, such as a threshold, was written within the last minute. Rules that read it find it for Lookback.
func (in *inputs) written(r rules.Rule) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	q := in.queries[r.Query().String()]
	return !isAlert(r) && q != nil && q.part != nil && q.part.reads != nil && len(q.part.reads) == 0 && !in.family(r.Name()).counted &&
		r.LastError() == nil && time.Since(r.GetEvaluationTimestamp()) < constantEvery
}

// constantEvery is a little less than a minute: the evaluations of a group are not quite as far apart as its interval says.
const constantEvery = 50 * time.Second

// active reports whether an earlier result of a rule may have to end.
func (in *inputs) active(r rules.Rule) bool {
	if alerting, is := r.(*rules.AlertingRule); is {
		return alerting.ActiveAlertsCount() > 0
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.family(r.Name()).exists
}

// possible are the rules of a group that can have a result.
type possible struct {
	rules   []bool
	changes int // of the families for which this is right
}

// possibleOf returns for each rule of a group whether it can have a result in an evaluation that begins now. A rule reads the results of those before it.
func (in *inputs) possibleOf(g *rules.Group) []bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	known, is := in.possible[g]
	if is && known.changes == in.changes {
		return known.rules
	}
	var begin []string
	has := func(s *parser.VectorSelector) bool {
		return in.family(familyOf(s)).exists || slices.Contains(begin, familyOf(s))
	}
	known = possible{changes: in.changes}
	for _, r := range g.Rules() {
		can := Possible(r.Query().(written).Expr, has)
		if known.rules = append(known.rules, can); !can {
			continue
		}
		if begin = append(begin, r.Name()); isAlert(r) {
			begin = append(begin, "ALERTS", forState, "ALERTS"+r.Name(), forState+r.Name())
		}
	}
	in.possible[g] = known
	return known.rules
}

func isAlert(r rules.Rule) bool {
	_, is := r.(*rules.AlertingRule)
	return is
}
