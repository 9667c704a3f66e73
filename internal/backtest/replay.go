package backtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

// Limits of a replay: what it shows before and after the time, and the number of series of one part.
const (
	replayAround = 30 * time.Minute
	replaySeries = 12
	replayWidth  = 60 // characters
)

// Replay evaluates the rules around a time, and writes the values of each part of an alert's expression as a chart. A part is an
// operand of and, or, unless or of a comparison. With target, only series with this label value, and those without labels, are shown.
func Replay(ctx context.Context, w io.Writer, o Options, alert, target string, at time.Time) error {
	o.From, o.To = at.Add(-replayAround), at.Add(replayAround)
	p, err := newPlan(o.Groups, o.External)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(p.alerts(), func(r *rule) bool { return r.name == alert }) {
		return fmt.Errorf("unknown alert %s: docs/alerting.md lists the alerts", alert)
	}
	s, err := openStore()
	if err != nil {
		return err
	}
	r := newRun(o, p, s)
	r.keep = true
	return errors.Join(r.all(ctx), r.chart(ctx, bufio.NewWriter(w), alert, target), s.Close())
}

// chart writes the charts of the rules of an alert.
func (r *run) chart(ctx context.Context, p *bufio.Writer, alert, target string) error {
	step := max(r.o.Interval, (r.o.To.Sub(r.o.From) / replayWidth).Truncate(time.Second))
	for _, rule := range r.plan.alerts() {
		if rule.name != alert {
			continue
		}
		fmt.Fprintf(p, "%s, severity %s, %s to %s, one character for %s\n", alert, rule.alert.Labels().Get("severity"), stamp(r.o.From), stamp(r.o.To), step)
		for _, i := range r.result.Incidents {
			if i.Alert == alert && i.Severity() == rule.alert.Labels().Get("severity") && shows(i.Labels, target) {
				fmt.Fprintf(p, "  fired %s: %s\n", stamp(i.Fired), i.Summary)
			}
		}
		for _, part := range parts(rule.expr) {
			query, err := r.engine.NewRangeQuery(ctx, r.store, nil, part.String(), r.o.From, r.o.To, step)
			if err != nil {
				return err
			}
			matrix, err := query.Exec(ctx).Matrix()
			if err != nil {
				query.Close()
				return fmt.Errorf("%s: %w", part, err)
			}
			fmt.Fprintf(p, "\n  %s\n", strings.Join(strings.Fields(part.String()), " "))
			r.lines(p, matrix, target, step)
			query.Close()
		}
		fmt.Fprintln(p)
	}
	return p.Flush()
}

// lines writes one line for each series of a part.
func (r *run) lines(p *bufio.Writer, matrix promql.Matrix, target string, step time.Duration) {
	shown, others := 0, 0
	for _, series := range matrix {
		if !shows(series.Metric, target) {
			continue
		}
		if shown++; shown > replaySeries {
			others++
			continue
		}
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range series.Floats {
			low, high = min(low, v.F), max(high, v.F)
		}
		cells := []rune(strings.Repeat("·", int(r.o.To.Sub(r.o.From)/step)+1))
		for _, v := range series.Floats {
			cells[(v.T-r.o.From.UnixMilli())/step.Milliseconds()] = bar(v.F, low, high)
		}
		number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
		fmt.Fprintf(p, "    %s  %s to %s  %s\n", string(cells), number(low), number(high), labels.NewBuilder(series.Metric).Del(model.MetricNameLabel).Labels())
	}
	switch {
	case shown == 0:
		fmt.Fprintf(p, "    no samples\n")
	case others > 0:
		fmt.Fprintf(p, "    and %d more series: name a target to select series\n", others)
	}
}

// bar returns a block whose height shows where a value is between the lowest and the highest.
func bar(v, low, high float64) rune {
	blocks := []rune("▁▂▃▄▅▆▇█")
	if !(high > low) {
		return blocks[3]
	}
	return blocks[int(math.Round((v-low)/(high-low)*float64(len(blocks)-1)))]
}

// shows reports whether a replay shows a series.
func shows(ls labels.Labels, target string) (found bool) {
	if target == "" || ls.Len() == 0 {
		return true
	}
	ls.Range(func(l labels.Label) { found = found || l.Value == target })
	return found
}

// parts returns the operands of an expression, and in place of a comparison its two sides, without numbers.
func parts(expr parser.Expr) (all []parser.Expr) {
	for _, o := range alerting.Operands(expr) {
		if c, ok := o.Expr.(*parser.BinaryExpr); ok && c.Op.IsComparisonOperator() {
			all = append(append(all, parts(c.LHS)...), parts(c.RHS)...)
		} else if _, number := o.Expr.(*parser.NumberLiteral); !number {
			all = append(all, o.Expr)
		}
	}
	return all
}
