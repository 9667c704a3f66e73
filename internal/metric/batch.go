package metric

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Batch collects the samples of one run and validates them. It rejects a sample of an undeclared family, with the wrong
// number of labels, with a label value longer than MostValue, of a counter that is negative or NaN, or of a duplicate
// series. Err reports rejected samples. (Otherwise one duplicate series, or one long value above a limit of Prometheus,
// fails the whole scrape.)
//
// A Batch belongs to one goroutine.
type Batch struct {
	// Facts are exact results of the run for status pages.
	Facts Facts

	families []*Family
	lines    map[*Family]*lines
	limited  bool
	most     int     // maximum number of series, if limited
	told     bool    // the limit was already exceeded
	series   []byte  // of the sample being set
	errs     []error // the first errors
	unsaid   int     // number of further errors
	tooMany  []error
	notes    []string
	tables   []Table
}

// NewBatch returns a batch for samples of the declared families.
func NewBatch(declared []*Family) *Batch {
	b := &Batch{families: declared, lines: make(map[*Family]*lines, len(declared))}
	for _, f := range declared {
		b.lines[f] = &lines{served: (*Choice)(nil).of(f)}
	}
	return b
}

// Choose selects what is exported. It is called before Set.
func (b *Batch) Choose(c *Choice) {
	if c == nil {
		return
	}
	for f, l := range b.lines {
		l.served = c.of(f)
	}
}

// Limit sets the maximum number of series of the batch. Above it, whole families are dropped, largest first, except for
// aggregates: families of few series. Err then contains ErrTooMany. If it is called before Set, it also limits the memory
// of the batch. It may be called again.
func (b *Batch) Limit(series int) { b.limited, b.most = true, max(series, fewSeries) }

// fewSeries is the maximum number of series of a family that no limit drops.
const fewSeries = 10

// Set adds a sample. labels are the values of f.Labels, in order.
func (b *Batch) Set(f *Family, value float64, labels ...string) {
	into := b.lines[f]
	switch {
	case into == nil:
		b.wrong("%s: not declared by this collector", f.Name)
		return
	case len(labels) != len(f.Labels):
		b.wrong("%s: %d label values for the %d labels %v", f.Name, len(labels), len(f.Labels), f.Labels)
		return
	case f.Type == model.MetricTypeCounter && !(value >= 0):
		b.wrong("%s: %v is no value of a counter", f.Name, value)
		return
	}
	if !into.takes(labels) {
		return
	}
	labels = into.left(labels)
	for i, v := range labels {
		if len(v) > MostValue {
			b.wrong("%s: a value of the label %s is longer than %d bytes", f.Name, into.as.Labels[i], MostValue)
			return
		}
	}
	into.overflows = into.overflows || f.most > 0 && len(into.hashes) == f.most
	if into.overflows || b.limited && len(into.hashes) > b.most {
		into.beyond++ // the family will be dropped: do not store the sample
		return
	}
	b.series = appendSeries(b.series[:0], into.as, labels)
	into.add(b.series, value)
}

// MostValue is the maximum length of a label value in bytes, before escaping. Nodes, services and peers may send any text.
const MostValue = 256

// mostErrs is the maximum number of mistakes of one run that are reported separately.
const mostErrs = 10

// wrong reports a mistake. Each text is reported once.
func (b *Batch) wrong(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	switch {
	case slices.ContainsFunc(b.errs, func(known error) bool { return known.Error() == err.Error() }):
	case len(b.errs) == mostErrs:
		b.unsaid++
	default:
		b.errs = append(b.errs, err)
	}
}

// SetBool adds 1 for true and 0 for false.
func (b *Batch) SetBool(f *Family, value bool, labels ...string) {
	v := 0.0
	if value {
		v = 1
	}
	b.Set(f, v, labels...)
}

// SetTime adds a point in time as Unix seconds.
func (b *Batch) SetTime(f *Family, t time.Time, labels ...string) {
	b.Set(f, float64(t.Unix())+float64(t.Nanosecond())/1e9, labels...)
}

// Note adds a finding for the log, and truncates it to mostWords. It is logged when it first appears, and not again while
// it persists.
func (b *Batch) Note(format string, args ...any) {
	b.notes = append(b.notes, cut(fmt.Sprintf(format, args...)))
}

// mostWords is the maximum length of a note or a table cell in bytes.
const mostWords = 1000

// cut truncates a text that is too long, with an ellipsis.
func cut(text string) string {
	if len(text) <= mostWords {
		return text
	}
	return strings.ToValidUTF8(text[:mostWords], "") + "…"
}

// Notes returns the notes.
func (b *Batch) Notes() []string { return b.notes }

// Table adds facts without series. A batch accepts MostRows rows in all its tables. Further rows are dropped and counted.
func (b *Batch) Table(t Table) {
	left := MostRows
	for _, before := range b.tables {
		left -= len(before.Rows)
	}
	if beyond := len(t.Rows) - left; beyond > 0 {
		t.Rows, t.LeftOut = t.Rows[:left], t.LeftOut+beyond
	}
	for i, row := range t.Rows {
		if slices.ContainsFunc(row, func(cell string) bool { return len(cell) > mostWords }) {
			t.Rows[i] = make([]string, len(row))
			for c := range row {
				t.Rows[i][c] = cut(row[c])
			}
		}
	}
	b.tables = append(b.tables, t)
}

// Tables returns the tables in the order in which they were added.
func (b *Batch) Tables() []Table { return b.tables }

// Err returns what was rejected: a mistake in a collector, or an upstream that sends duplicates. It is nil if every
// sample was accepted.
func (b *Batch) Err() error {
	b.seal()
	errs := slices.Clone(b.errs)
	if b.unsaid > 0 {
		errs = append(errs, fmt.Errorf("and %d more", b.unsaid))
	}
	return errors.Join(append(errs, b.tooMany...)...)
}

// Chunks returns a chunk for each family that has samples, in the order of declaration.
func (b *Batch) Chunks() []Chunk {
	b.seal()
	n := 0
	for _, l := range b.lines {
		if len(l.hashes) > 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	chunks := make([]Chunk, 0, n) // long-lived: allocate no more than needed
	for _, f := range b.families {
		if l := b.lines[f]; len(l.hashes) > 0 {
			chunks = append(chunks, l.chunk())
		}
	}
	return chunks
}

// seal drops duplicates and what exceeds the limit.
func (b *Batch) seal() {
	var largest []*lines
	series, partial := 0, false
	for _, f := range b.families {
		l := b.lines[f]
		for _, series := range l.seal() {
			b.wrong("%s: set twice", series)
		}
		if l.overflows {
			b.tooMany = append(b.tooMany, fmt.Errorf("%w: an upstream names more things in %s than the %d that are taken: not served; "+
				"look at what it answers", ErrTooMany, f.Name, f.most))
			*l = lines{served: l.served}
		}
		series += len(l.hashes) + l.beyond
		partial = partial || l.beyond > 0
		largest = append(largest, l)
	}
	if !b.limited || series <= b.most && !partial || b.told {
		return
	}
	b.told = true
	slices.SortStableFunc(largest, func(a, b *lines) int { return cmp.Compare(len(b.hashes)+b.beyond, len(a.hashes)+a.beyond) })
	found := series
	var out []string
	for _, l := range largest {
		if series <= b.most && l.beyond == 0 || len(l.hashes) <= fewSeries {
			break
		}
		series -= len(l.hashes) + l.beyond
		out = append(out, fmt.Sprintf("%s (%d series)", l.as.Name, len(l.hashes)+l.beyond))
		*l = lines{served: l.served}
	}
	without := "all are served, since each family has few"
	if len(out) > 0 {
		without = "not served: " + strings.Join(out, ", ")
	}
	b.tooMany = append(b.tooMany, fmt.Errorf("%w: found %d, the limit leaves %d for this collector; %s", ErrTooMany, found, b.most, without))
}

func appendSeries(to []byte, f *Family, labels []string) []byte {
	to = append(to, f.Name...)
	if len(labels) == 0 {
		return to
	}
	for i, name := range f.Labels {
		if i == 0 {
			to = append(to, '{')
		} else {
			to = append(to, ',')
		}
		to = append(to, name...)
		to = append(to, `="`...)
		to = append(to, escapeValue.Replace(strings.ToValidUTF8(labels[i], "\uFFFD"))...)
		to = append(to, '"')
	}
	return append(to, '}')
}

var (
	escapeValue   = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	unescapeValue = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\"`, `"`)
)
