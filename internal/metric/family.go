// Package metric has the types of a collector's run: a Family is a row of
// docs/metrics.md, a Target is what the run asks about, and a Batch has its samples,
// already in the form in which they are served, and its Facts.
package metric

import (
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Family is a gauge or a counter that some collector may emit: a row of
// docs/metrics.md. Families are declared beside the collector that feeds them and
// never change.
type Family struct {
	Name string
	// Type is gauge or counter.
	Type model.MetricType
	// Help describes the value, its unit and its source.
	Help string
	// Labels are the label names, in the order in which Batch.Set takes their values.
	Labels []string
	// Formula, where the value is reckoned from other families, says how, in
	// PromQL. Empty where an upstream tells the value.
	Formula string

	text, openMetrics string // the headers
	most              int
}

// counterSuffix ends the name of every counter and of no gauge.
const counterSuffix = "_total"

// New declares a gauge. The name ends in the unit and not in _total: New panics
// otherwise.
func New(name, help string, labels ...string) *Family {
	if strings.HasSuffix(name, counterSuffix) {
		panic("metric: gauge " + name + ": only a counter's name ends in " + counterSuffix)
	}
	return declare(model.MetricTypeGauge, name, name, help, labels)
}

// NewCounter declares a counter: a value that only grows, but for a reset. The
// name ends in _total: NewCounter panics otherwise.
func NewCounter(name, help string, labels ...string) *Family {
	family, found := strings.CutSuffix(name, counterSuffix)
	if !found {
		panic("metric: counter " + name + ": the name must end in " + counterSuffix)
	}
	return declare(model.MetricTypeCounter, name, family, help, labels)
}

// declare makes a family. OpenMetrics names a counter's family without _total; the
// sample lines are the same in both formats.
func declare(kind model.MetricType, name, openMetricsName, help string, labels []string) *Family {
	header := func(name string) string {
		return "# HELP " + name + " " + escapeHelp.Replace(help) + "\n# TYPE " + name + " " + string(kind) + "\n"
	}
	return &Family{Name: name, Type: kind, Help: help, Labels: labels, text: header(name), openMetrics: header(openMetricsName)}
}

// By says how the value follows from other families, in PromQL: exporter explain
// shows it with the numbers put in, and a test holds it to what is served. It
// returns the family itself.
func (f *Family) By(formula string) *Family {
	f.Formula = formula
	return f
}

// AtMost is for a family in which an upstream chooses the values of a label, such
// as the names of its checks: a run that sets more series of it is served without
// the family, and Err tells so by ErrTooMany. It returns the family itself.
func (f *Family) AtMost(series int) *Family {
	f.most = series
	return f
}

// escapeHelp escapes what both the text format and OpenMetrics escape. A
// quotation mark is escaped in OpenMetrics alone, and stays as it is in both
// parsers when left alone.
var escapeHelp = strings.NewReplacer(`\`, `\\`, "\n", `\n`)

// Header returns the HELP and TYPE lines in OpenMetrics or, for any other format,
// in the text format.
func (f *Family) Header(format expfmt.FormatType) string {
	if format == expfmt.TypeOpenMetrics {
		return f.openMetrics
	}
	return f.text
}
