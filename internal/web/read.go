package web

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

// readTimeout limits all queries of one page.
const readTimeout = 10 * time.Second

// reading runs the queries of one page concurrently.
type reading struct {
	ctx    context.Context
	source alerting.Source
	now    time.Time
	errs   []error
}

// samples are the result of a query, by family. The result of an expression has the empty name.
type samples map[string]model.Vector

func (r *reading) query(expr string) samples {
	vector, err := r.source.Query(r.ctx, expr, r.now)
	if err != nil {
		r.errs = append(r.errs, err)
	}
	s := samples{}
	for _, one := range vector {
		family := string(one.Metric[model.MetricNameLabel])
		s[family] = append(s[family], one)
	}
	return s
}

// families queries several families at once, filtered by the matchers.
func (r *reading) families(matchers string, names ...string) samples {
	return r.query(`{__name__=~"` + strings.Join(names, "|") + `",` + matchers + `}`)
}

// among returns a matcher of these values.
func among(label string, values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = regexp.QuoteMeta(v)
	}
	return label + "=~" + strconv.Quote(strings.Join(quoted, "|"))
}

// The history of the page: two hours, or less if the source reports a shorter history.
const (
	usualHistory = 2 * time.Hour
	leastHistory = 10 * time.Minute
)

// past queries an expression at the ends of this number of equal parts of the history.
func (r *reading) past(expr func(step time.Duration) string, parts int) model.Matrix {
	long := usualHistory
	if s, ok := r.source.(interface{ History() time.Duration }); ok {
		long = max(leastHistory, s.History())
	}
	step := (long / time.Duration(parts)).Round(time.Second)
	matrix, err := r.source.QueryRange(r.ctx, expr(step), r.now.Add(-step*time.Duration(parts-1)), r.now, step)
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return matrix
}

// labels holds up to three label values, in the requested order.
type labels [3]string

// values holds the values of one family by some of its labels.
type values map[labels]float64

// each calls the function do for every sample of the family. It passes the values of the labels in names.
func (s samples) each(family string, names []string, do func(l labels, value float64)) {
	for _, one := range s[family] {
		var l labels
		for i, name := range names {
			l[i] = string(one.Metric[model.LabelName(name)])
		}
		do(l, float64(one.Value))
	}
}

func (s samples) by(family string, names ...string) values {
	v := values{}
	s.each(family, names, func(l labels, value float64) { v[l] = value })
	return v
}

// of returns the value, or nil if there is none.
func (v values) of(names ...string) *float64 {
	var l labels
	copy(l[:], names)
	if value, has := v[l]; has {
		return &value
	}
	return nil
}

// is reports whether there is a value and it equals this one.
func (v values) is(value float64, names ...string) bool {
	got := v.of(names...)
	return got != nil && *got == value
}

// ratioOf returns part divided by whole, or nil if one is absent.
func ratioOf(part, whole *float64) *float64 {
	if part == nil || whole == nil || *whole == 0 {
		return nil
	}
	ratio := *part / *whole
	return &ratio
}

// row is a row of a table with its urgency.
type row struct {
	name string
	mark mark
}

// rowsOf returns at most limit rows, worst first, and the number of the other rows.
func rowsOf(names []string, about func(name string) mark, limit int) (rows []row, more int) {
	for _, name := range names {
		rows = append(rows, row{name, about(name)})
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.mark.level, a.mark.level), compareChains(a.name, b.name))
	})
	kept := rows[:min(len(rows), limit)]
	return kept, len(rows) - len(kept)
}

func namesOf(rows []row) []string {
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.name
	}
	return names
}

// compareChains sorts the chains of the primary network first, then by name.
func compareChains(a, b string) int {
	const primary = "PXC"
	rank := func(chain string) int {
		if at := strings.Index(primary, chain); len(chain) == 1 && at >= 0 {
			return at
		}
		return len(primary)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

// sourceError is the text for alerts or samples that cannot be read.
func sourceError(err error) string { return fmt.Sprintf("alerts and samples cannot be read: %v", err) }
