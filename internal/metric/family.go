// Package metric holds the two words that every collector speaks: a Family
// is a row of the catalogue, and a Batch is what one run found, already in the
// form in which it is served.
package metric

import "strings"

// Family is a gauge that some collector may emit: a row of docs/metrics.md.
// Families are declared beside the collector that feeds them and never change.
type Family struct {
	Name string
	// Help says what the value means, in which unit and in whose eyes.
	Help string
	// Labels are the label names, in the order in which Batch.Set takes their values.
	Labels []string
	// Formula, where the value is reckoned from other families, says how, in
	// PromQL. Empty where an upstream tells the value.
	Formula string

	header []byte
	most   int
}

// New declares a family. The name carries the unit, as Prometheus wants it.
func New(name, help string, labels ...string) *Family {
	f := &Family{Name: name, Help: help, Labels: labels}
	f.header = append(f.header, "# HELP "+name+" "+escapeHelp.Replace(help)+"\n# TYPE "+name+" gauge\n"...)
	return f
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

// Header returns the HELP and TYPE lines, the same in the text format and in
// OpenMetrics. The caller must not change it.
func (f *Family) Header() []byte { return f.header }
