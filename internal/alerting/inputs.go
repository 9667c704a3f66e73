package alerting

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
)

// pause is how long a series may be without a sample until its end is near: longer than the interval of the slowest group of rules.
const pause = 2 * time.Minute

// inputs are the families in a store. They tell which expressions can have a result, and which have the same result as at the evaluation
// before: an expression that depends on nothing but the newest samples of its families changes only when one of these does, and one that looks back
// keeps its result if nothing changed in all the time at which it looks. They also answer what reads nothing but the newest samples.
type inputs struct {
	mu       sync.Mutex
	families map[string]*family
	queries  map[string]*query // by text
	changes  int               // of which families exist
	possible map[*rules.Group]possible
}

// family is what was appended to the series with one name.
type family struct {
	exists  bool
	counted bool  // some expression reads more of its samples than the newest value
	changes int   // values that differ from the one before, series that began, and series that ended
	changed int64 // time of the latest, in milliseconds
	differs int64 // time of the latest that was no begin
	last    int64 // time of the latest sample of all
	series  []input
	index   map[storage.SeriesRef]int // of series
}

// input is the newest value of a series, and the time of its newest sample that is not a stale marker, in milliseconds.
type input struct {
	labels labels.Labels
	ref    storage.SeriesRef
	value  float64
	at     int64
}

// query is the expression of a rule.
type query struct {
	expr     parser.Expr
	families []*family // that it names
	exist    []bool    // of these, as long as what follows is right
	part     *part     // that can have a result; nil: none can
	lead     *part     // without whose result the part has none; nil: it is as long as the part
	futile   int       // evaluations in which the lead is not asked, because it had a result
}

// part is an expression and its last result.
type part struct {
	text   string
	reads  []read // nil: the result may change although no sample does
	result promql.Vector
	known  bool
	at     time.Time
	states []int // changes of each family that it reads at this time
}

// read is what an expression reads of a family.
type read struct {
	*family
	back   time.Duration // how far it looks back
	newest bool          // only the newest sample of this time
	offset bool
}

func newInputs() *inputs {
	return &inputs{families: map[string]*family{}, queries: map[string]*query{}, possible: map[*rules.Group]possible{}}
}

// watch follows what the expressions of rules read.
func (in *inputs) watch(exprs map[string]written) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.queries, in.possible = map[string]*query{}, map[*rules.Group]possible{}
	for _, expr := range exprs {
		q := &query{expr: expr.Expr}
		parser.Inspect(expr.Expr, func(n parser.Node, path []parser.Node) error {
			if selector, ok := n.(*parser.VectorSelector); ok && selector.Name != "" {
				f := in.family(familyOf(selector))
				f.counted = f.counted || counts(path)
				if !slices.Contains(q.families, f) {
					q.families = append(q.families, f)
				}
			}
			return nil
		})
		in.simplify(q)
		in.queries[expr.text] = q
	}
}

// familyOf returns the name of what a selector reads: of the series about alerts, those with one name are a family of their own.
func familyOf(s *parser.VectorSelector) string {
	for _, m := range s.LabelMatchers {
		if m.Name == labels.AlertName && m.Type == labels.MatchEqual && (s.Name == "ALERTS" || s.Name == forState) {
			return s.Name + m.Value
		}
	}
	return s.Name
}

// counts reports whether a selector with these parents tells how many samples there are, or of what time.
func counts(path []parser.Node) bool {
	if len(path) == 0 {
		return false
	}
	switch parent := path[len(path)-1].(type) {
	case *parser.MatrixSelector:
		return true
	case *parser.Call:
		return parent.Func.Name == "timestamp"
	}
	return false
}

// family returns the family with a name.
func (in *inputs) family(name string) *family {
	f := in.families[name]
	if f == nil {
		f = &family{index: map[storage.SeriesRef]int{}}
		in.families[name] = f
	}
	return f
}

// timeless are the functions whose result depends on nothing but their arguments, constant those whose result is constant over a range with equal samples.
var (
	timeless = []string{
		"abs", "ceil", "floor", "round", "clamp", "clamp_min", "clamp_max", "scalar", "vector", "absent", "label_replace", "label_join", "last_over_time",
		"exp", "ln", "log2", "log10", "sqrt", "sgn",
	}
	constant = []string{"min_over_time", "max_over_time", "avg_over_time", "changes", "delta", "increase", "rate", "deriv"}
)

// readsOf returns what an expression reads, or nil if its result may change although no sample does.
func (in *inputs) readsOf(expr parser.Expr) []read {
	reads, ok := []read{}, true
	parser.Inspect(expr, func(n parser.Node, path []parser.Node) error {
		switch n := n.(type) {
		case *parser.SubqueryExpr:
			ok = false
		case *parser.Call:
			ok = ok && (slices.Contains(timeless, n.Func.Name) || slices.Contains(constant, n.Func.Name))
		case *parser.VectorSelector:
			r := read{in.families[familyOf(n)], Lookback + n.OriginalOffset, n.OriginalOffset == 0, n.OriginalOffset != 0}
			if i := len(path) - 1; i >= 0 {
				if matrix, is := path[i].(*parser.MatrixSelector); is {
					call, _ := path[i-1].(*parser.Call)
					r.back = matrix.Range + n.OriginalOffset
					r.newest = r.newest && call != nil && call.Func.Name == "last_over_time"
					ok = ok && matrix.Range >= 2*pause // so that it has two samples of each series
				}
			}
			ok = ok && r.family != nil && n.OriginalOffset >= 0 && n.Timestamp == nil && n.StartOrEnd == 0
			if !slices.Contains(reads, r) {
				reads = append(reads, r)
			}
		}
		return nil
	})
	if !ok {
		return nil
	}
	return reads
}

// simplify leaves out what cannot have a result, with the families that exist now.
func (in *inputs) simplify(q *query) {
	has := func(s *parser.VectorSelector) bool { return in.families[familyOf(s)].exists }
	q.exist, q.part, q.lead, q.futile = nil, nil, nil, 0
	for _, f := range q.families {
		q.exist = append(q.exist, f.exists)
	}
	if !Possible(q.expr, has) {
		return
	}
	expr := possiblePart(q.expr, has)
	q.part = &part{text: expr.String(), reads: in.readsOf(expr)}
	lead := leadOf(expr)
	if text := lead.String(); text != q.part.text {
		q.lead = &part{text: text, reads: in.readsOf(lead)}
	}
}

// evaluate returns the result of an expression. It calls the function for expressions whose result may differ from the last, and is needed.
func (in *inputs) evaluate(text string, at time.Time, evaluate func(text string) (promql.Vector, error)) (promql.Vector, error) {
	const pointless = 8
	in.mu.Lock()
	q := in.queries[text]
	if q == nil {
		in.mu.Unlock()
		return evaluate(text)
	}
	for i, f := range q.families {
		if f.exists != q.exist[i] {
			in.simplify(q)
			break
		}
	}
	whole, lead := q.part, q.lead
	if q.futile > 0 {
		q.futile--
		lead = nil
	}
	in.mu.Unlock()
	if whole == nil {
		return nil, nil
	}
	if lead != nil {
		result, err := in.result(lead, at, evaluate)
		if err == nil && len(result) == 0 {
			return nil, nil
		}
		in.mu.Lock()
		q.futile = pointless
		in.mu.Unlock()
	}
	return in.result(whole, at, evaluate)
}

// result returns the result of a part. It calls the function if the result may differ from the last.
func (in *inputs) result(p *part, at time.Time, evaluate func(text string) (promql.Vector, error)) (promql.Vector, error) {
	if p.reads == nil {
		return evaluate(p.text)
	}
	in.mu.Lock()
	states, settled := p.inputs(at)
	if settled && p.known && !at.Before(p.at) && at.Sub(p.at) < pause && slices.Equal(states, p.states) {
		p.at = at
		result := slices.Clone(p.result)
		in.mu.Unlock()
		for i := range result {
			result[i].T = at.UnixMilli()
		}
		return result, nil
	}
	in.mu.Unlock()
	result, err := evaluate(p.text)
	in.mu.Lock()
	defer in.mu.Unlock()
	p.known, p.at, p.states, p.result = err == nil && settled, at, states, nil
	if p.known {
		p.result = slices.Clone(result) // the rule changes what it gets
	}
	return result, err
}

// inputs returns how often each family of the part has changed, and whether it is certain that the result depends on nothing else: no sample is
// later than the time, no series is about to end, and where more than the newest samples count, none has changed in all the time.
func (p *part) inputs(at time.Time) (states []int, settled bool) {
	settled = true
	for _, r := range p.reads {
		states = append(states, r.changes)
		changed, differs := at, at
		switch {
		case r.offset:
			changed = at.Add(-r.back)
		case !r.newest:
			changed, differs = at.Add(-pause), at.Add(-r.back) // two samples of each series are there, and all are equal
		}
		settled = settled && r.changed <= changed.UnixMilli() && r.differs <= differs.UnixMilli() && !r.ending(at, r.back)
	}
	return states, settled
}

// ending reports whether a series has no new sample, but may still be read by an expression that looks back this long.
func (f *family) ending(at time.Time, back time.Duration) bool {
	for _, s := range f.series {
		if silent := time.Duration(at.UnixMilli()-s.at) * time.Millisecond; silent >= pause && silent < back+pause {
			return true
		}
	}
	return false
}

func (in *inputs) exists(f *family, exists bool) {
	if f.exists != exists {
		f.exists = exists
		in.changes++
	}
}

// add notes samples that are in the store now.
func (in *inputs) add(all []appended) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, a := range all {
		name := a.labels.Get(model.MetricNameLabel)
		in.note(name, a)
		if name == "ALERTS" || name == forState {
			in.note(name+a.labels.Get(labels.AlertName), a)
		}
	}
}

// note notes a sample of a family.
func (in *inputs) note(name string, a appended) {
	f := in.family(name)
	i, known := f.index[a.ref]
	if !known {
		i = len(f.series)
		f.index[a.ref], f.series = i, append(f.series, input{labels: a.labels, ref: a.ref})
	}
	before, now := f.series[i], &f.series[i]
	if now.value = a.value; !value.IsStaleNaN(a.value) {
		now.at = a.at
	}
	f.last = max(f.last, a.at)
	in.exists(f, true)
	differs := known && math.Float64bits(before.value) != math.Float64bits(a.value)
	if differs {
		f.differs = max(f.differs, a.at)
	}
	if differs || !known || a.at-before.at >= pause.Milliseconds() {
		f.changes++
		f.changed = max(f.changed, a.at)
	}
}

// drop forgets series that have no sample since a time.
func (in *inputs) drop(before int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, f := range in.families {
		n := len(f.series)
		f.series = slices.DeleteFunc(f.series, func(s input) bool { return s.at < before })
		if len(f.series) == n {
			continue
		}
		clear(f.index)
		for i, s := range f.series {
			f.index[s.ref] = i
		}
		in.exists(f, len(f.series) > 0)
	}
}
