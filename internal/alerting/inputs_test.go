package alerting

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// A rule whose inputs have not changed is not evaluated, and yet has the result of an evaluation: while values change, series begin, are silent, end and
// return, and samples are stored that are later than the evaluation. What looks back keeps its result while nothing changes. A rule whose inputs have changed is evaluated with a query that is kept, and has the
// result of a new one.
func TestWhatIsNotEvaluatedAgainHasNotChanged(t *testing.T) {
	t.Parallel()
	exprs := map[string]written{}
	for _, text := range []string{
		"a", "a > 1", "last_over_time(a[7m])", "max without (node) (last_over_time(a[7m])) > bool 1", "a unless on (node) last_over_time(b[7m])", "absent(a)",
		"count(a) or vector(0)", "scalar(max(b)) * a", "b and on (node) a", `label_replace(a{node="1"}, "x", "$1", "node", "(.)")`, "vector(1)", "absent(c)",
		"time() - a", "timestamp(a)", "max_over_time(a[5m])", "a offset 1m", "last_over_time(a[20m])", "count_over_time(a[7m])", "max_over_time((a > 0)[5m:1m])",
		"minute() + on () group_right () a", `{__name__="a"}`, "a @ end()", "changes(a[6m])", "absent_over_time(a[6m])",
		"a or b unless c", "max by (node) (c or a) > 1 or (b unless on () c * 2)", "count(a and b or c)", "absent(c or a)", `absent(a{node="2"} or c)`, "timestamp(a or c)", "scalar(a{node=\"1\"} or c) + a", "(c or b) and a", "time() * c or b > 1",
		"a > 1 and on (node) b > 0", "max by (node) (a > 1 unless on (node) b)", `label_replace(b == 2 and on (node) a, "x", "$1", "node", "(.)") or a > 1 unless b`,
		"a * on (node) group_left () (b > 1 and on () vector(time()) > 0)",
		"avg_over_time(a[5m])", "min_over_time(b[4m])", "delta(a[5m])", "increase(a[5m] offset 2m)", "rate(b[4m])", "deriv(a[6m])", "last_over_time(a[1m])",
		"delta(b[1m])", "max_over_time(last_over_time(a[7m])[5m:1m])", "last_over_time(a[7m] offset 1m)", "timestamp(last_over_time(b[7m]))",
	} {
		expr := must.Get(Parser.ParseExpr(text))(t)
		exprs[text] = written{expr, expr.String()}
	}
	kept := map[string]int{} // by expression
	seeds := uint64(8)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 0))
		s := must.Get(OpenStore(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), 0))(t)
		engine := promql.NewEngine(promql.EngineOpts{
			Logger: slog.New(slog.DiscardHandler), MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: Lookback, Parser: Parser, EnableAtModifier: true,
			EnableNegativeOffset: true,
		})
		head := storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) { // not from the inputs
			return tsdb.NewBlockQuerier(tsdb.NewRangeHead(s.Head, mint, maxt), mint, maxt)
		})
		evaluate, prepared := rules.EngineQueryFunc(engine, head), newPrepared(engine)
		again := rules.EngineQueryFunc(prepared, s)
		now := time.Unix(1_800_000_000, 0)
		series := map[labels.Labels]float64{}
		silent := map[string]int{}                      // steps, by family
		step := func(after time.Duration, quiet bool) { // what happens until the next scrape
			app := s.Appender(t.Context())
			for _, name := range []string{"a", "b"} {
				if silent[name]--; silent[name] > 0 {
					continue
				} else if random.IntN(20) == 0 {
					silent[name] = random.IntN(9)
				}
				for node := range 2 {
					ls := labels.FromStrings("__name__", name, "node", fmt.Sprint(node))
					v, there := series[ls]
					event := random.IntN(200)
					if quiet {
						event = 200
					}
					switch event {
					case 0, 1:
						series[ls] = float64(random.IntN(3))
						v, there = series[ls], true
					case 2:
						delete(series, ls)
						v = math.Float64frombits(value.StaleNaN)
					case 3:
						delete(series, ls) // without a marker
						there = false
					}
					if there {
						must.Get(app.Append(0, ls, now.Add(after).UnixMilli(), v))(t)
					}
				}
			}
			must.Do(t, app.Commit())
		}
		step(0, false)
		s.inputs.watch(exprs)
		known, all := 0, 0
		for n := range 600 {
			now = now.Add(15 * time.Second)
			step(time.Duration(random.IntN(2))*2*time.Second, n/100%2 == 1) // some samples are stored before an evaluation at an earlier time
			for _, expr := range exprs {
				want := must.Get(evaluate(t.Context(), expr.String(), now))(t)
				kept[expr.String()]++
				got := must.Get(s.inputs.evaluate(expr.String(), now, func(text string) (promql.Vector, error) {
					known--
					kept[expr.String()]--
					return again(t.Context(), text, now)
				}))(t)
				known, all = known+1, all+1
				for _, v := range []promql.Vector{got, want} { // that of a subquery has no order
					slices.SortFunc(v, func(a, b promql.Sample) int { return labels.Compare(a.Metric, b.Metric) })
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("seed %d: %s at %s: %v, want %v", seed, expr, now.UTC(), got, want)
				}
			}
		}
		if len(prepared.free) < len(exprs)/2 {
			t.Errorf("%d of %d queries were kept", len(prepared.free), len(exprs))
		}
		if known < all/5 {
			t.Errorf("seed %d: %d of %d results were not evaluated again, want a fifth", seed, known, all)
		}
		must.Do(t, s.Close())
	}
	for _, expr := range []string{"max_over_time(a[5m])", "a offset 1m", "last_over_time(a[20m])", "changes(a[6m])", "increase(a[5m] offset 2m)", "rate(b[4m])"} {
		if kept[expr] <= 0 {
			t.Errorf("%s was evaluated each time", expr)
		}
	}
}

// Reloads, and families that come and go, bring other queries.
func TestPreparedQueriesAreBounded(t *testing.T) {
	s := must.Get(OpenStore(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), 0))(t)
	kept := newPrepared(promql.NewEngine(promql.EngineOpts{MaxSamples: 1000, Timeout: time.Minute, Parser: Parser}))
	query := rules.EngineQueryFunc(kept, s)
	for n := range 2*maxPrepared + 10 {
		must.Get(query(t.Context(), fmt.Sprint("a == ", n), time.Unix(1_800_000_000, 0)))(t)
	}
	if len(kept.free) == 0 || len(kept.free) > maxPrepared {
		t.Errorf("%d queries are kept, want at most %d", len(kept.free), maxPrepared)
	}
	must.Do(t, s.Close())
}
