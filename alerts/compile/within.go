package compile

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// known is the value of pages_within in the source.
const known = "known"

// faultPages is the record of when a fault pages, for alerts that wait for more than the time of their rule.
const faultPages = "avax:fault_pages_timestamp_seconds"

// pagesWithin returns the longest time from the first sign of a fault to its page: that of its record, else that of its rule.
func (c *compiler) pagesWithin(r rulefmt.Rule) (string, error) {
	longest := time.Duration(r.For).Seconds()
	for _, e := range c.entriesOf(faultPages) {
		if e.Labels["alert"] != r.Alert {
			continue
		}
		var err error
		if longest, err = c.latest(c.records[e]); err != nil {
			return "", fmt.Errorf("pages_within: %s: %w", faultPages, err)
		}
	}
	return model.Duration(time.Duration(longest) * time.Second).String(), nil
}

func (c *compiler) entriesOf(record string) (all []*entry) {
	for _, f := range c.files {
		for i := range f.Rules {
			if e := &f.Rules[i]; e.Record == record {
				all = append(all, e)
			}
		}
	}
	return all
}

// latest returns how many seconds after the begin of a fault the result of an expression is at most. Times in records count from the begin.
func (c *compiler) latest(expr parser.Expr) (seconds float64, err error) {
	switch e := expr.(type) {
	case *parser.NumberLiteral:
		return e.Val, nil
	case *parser.ParenExpr:
		return c.latest(e.Expr)
	case *parser.AggregateExpr:
		return c.latest(e.Expr)
	case *parser.Call:
		if e.Func.Name == "clamp" {
			return c.latest(e.Args[2])
		}
	case *parser.VectorSelector:
		if strings.HasSuffix(e.Name, "_timestamp_seconds") {
			return 0, nil
		}
		entries := c.entriesOf(e.Name)
		for _, of := range entries {
			one, wrong := c.latest(c.records[of])
			seconds, err = max(seconds, one), cmp.Or(err, wrong)
		}
		if len(entries) > 0 {
			return seconds, err
		}
	case *parser.BinaryExpr:
		left, err := c.latest(e.LHS)
		if err != nil || e.Op == parser.LAND || e.Op == parser.LUNLESS || e.Op.IsComparisonOperator() {
			return left, err
		}
		right, err := c.latest(e.RHS)
		switch e.Op {
		case parser.ADD:
			return left + right, err
		case parser.MUL:
			return left * right, err
		case parser.LOR:
			return max(left, right), err
		}
	}
	return 0, fmt.Errorf("%s: only clamp, or, and, unless, + and * of times and numbers have a latest time", expr)
}
