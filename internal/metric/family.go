// Package metric is the way of a sample from a collector to a scrape. A Family is declared once. A run of a job collects samples of
// its families in a Batch, which validates them. The Store holds the latest Run of each job, and its Handler renders the samples for
// /metrics without a call to any upstream.
package metric

import (
	"strings"

	"github.com/prometheus/common/model"
)

// Family is a gauge, counter or histogram that a collector may export. Each has a row in docs/metrics.md. It is declared in the file of its
// collector and never changes.
type Family struct {
	Name string
	// Type is gauge, counter or histogram.
	Type model.MetricType
	// Help describes the value, its unit and its source.
	Help string
	// Labels are the label names, in the order of the values of Batch.Set. The last one of a histogram is le.
	Labels []string
	// Formula is the PromQL expression of a value that is computed from other families. It is empty if an upstream sends the
	// value.
	Formula string

	text, openMetrics string // header lines
	max               int    // maximum number of series in one run
}

// counterSuffix is the suffix of the name of every counter and of no gauge.
const counterSuffix = "_total"

// New declares a gauge. The name must end in the unit. New panics if the name ends in _total.
func New(name, help string, labels ...string) *Family {
	if strings.HasSuffix(name, counterSuffix) {
		panic("metric: gauge " + name + ": only a counter's name ends in " + counterSuffix)
	}
	return declare(model.MetricTypeGauge, name, name, help, labels)
}

// NewCounter declares a counter: a value that only grows, except for resets. It panics if the name does not end in _total.
func NewCounter(name, help string, labels ...string) *Family {
	family, found := strings.CutSuffix(name, counterSuffix)
	if !found {
		panic("metric: counter " + name + ": the name must end in " + counterSuffix)
	}
	return declare(model.MetricTypeCounter, name, family, help, labels)
}

// NewHistogram declares a histogram with fixed buckets: see Batch.SetHistogram.
func NewHistogram(name, help string, labels ...string) *Family {
	return declare(model.MetricTypeHistogram, name, name, help, append(labels, model.BucketLabel))
}

// declare creates a family. In OpenMetrics the name of a counter's family has no _total. The sample lines are the same in both
// formats.
func declare(kind model.MetricType, name, openMetricsName, help string, labels []string) *Family {
	header := func(name string) string {
		return "# HELP " + name + " " + escapeHelp.Replace(help) + "\n# TYPE " + name + " " + string(kind) + "\n"
	}
	return &Family{Name: name, Type: kind, Help: help, Labels: labels, text: header(name), openMetrics: header(openMetricsName), max: maxSeries}
}

// WithFormula sets Formula and returns the family. The command explain prints the formula with numbers. A test compares the result of
// the formula with the served value.
func (f *Family) WithFormula(formula string) *Family {
	f.Formula = formula
	return f
}

// maxSeries is the default of AtMost. It limits the memory for an upstream that sends a list without an end.
const maxSeries = 100_000

// AtMost sets the maximum number of series of the family in one run and returns the family. Use it if label values come from an
// upstream, such as the names of checks. Above the maximum no series of the family is served, because readers would take a part
// for the whole, and Batch.Err contains ErrTooMany.
func (f *Family) AtMost(series int) *Family {
	f.max = series
	return f
}

// escapeHelp escapes the characters that both the text format and OpenMetrics escape. OpenMetrics also escapes quotation marks,
// but the parsers of both formats accept unescaped quotation marks.
var escapeHelp = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
