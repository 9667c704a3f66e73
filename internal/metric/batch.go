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

// Batch collects the samples of one run and validates them. It rejects these samples, and Err reports them:
//
//   - samples of an undeclared family, or with the wrong number of labels;
//   - samples with a label value longer than MostValue, or of a duplicate series: with one such sample, the whole scrape would
//     fail in Prometheus;
//   - samples of a counter that are negative or NaN.
//
// A Batch belongs to one goroutine.
type Batch struct {
	// Facts are exact results of the run for status pages.
	Facts Facts

	families []*Family
	lines    map[*Family]*lines
	limited  bool
	limit    int     // maximum number of series, if limited
	exceeded bool    // whether the limit was already exceeded
	series   []byte  // series of the sample that Set adds
	errs     []error // the first errors
	further  int     // number of further errors
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

// Choose selects the series that are exported. Call it before Set.
func (b *Batch) Choose(c *Choice) {
	if c == nil {
		return
	}
	for f, l := range b.lines {
		l.served = c.of(f)
	}
}

// Limit sets the maximum number of series of the batch. If the batch has more, it drops whole families, the largest first, and
// Err contains ErrTooMany. It keeps families with at most fewSeries series, because they are aggregates. A call before Set
// also limits the memory of the batch. Limit may be called again.
func (b *Batch) Limit(series int) { b.limited, b.limit = true, max(series, fewSeries) }

// fewSeries is a number of series: Limit never drops a family that has fewSeries series or fewer.
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
		b.wrong("%s: %v is not a valid value of a counter", f.Name, value)
		return
	}
	if !into.takes(labels) {
		return
	}
	labels = into.remaining(labels)
	for i, v := range labels {
		if len(v) > MostValue {
			b.wrong("%s: a value of the label %s is longer than %d bytes", f.Name, into.as.Labels[i], MostValue)
			return
		}
	}
	into.overflows = into.overflows || f.most > 0 && len(into.hashes) == f.most
	if into.overflows || b.limited && len(into.hashes) > b.limit {
		into.beyond++ // do not store the sample, because the family will be dropped
		return
	}
	b.series = appendSeries(b.series[:0], into.as, labels)
	into.add(b.series, value)
}

// MostValue is the maximum length of a label value in bytes, before escaping. It is needed because nodes, services and peers
// may send any text.
const MostValue = 256

// maxErrs is the maximum number of mistakes of one run that are reported separately.
const maxErrs = 10

// wrong reports a mistake. Each text is reported once.
func (b *Batch) wrong(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	switch {
	case slices.ContainsFunc(b.errs, func(known error) bool { return known.Error() == err.Error() }):
	case len(b.errs) == maxErrs:
		b.further++
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

// Note adds a finding for the log, truncated to maxTextBytes bytes. A note is logged when it first appears. While every run
// has the same note, it is not logged again.
func (b *Batch) Note(format string, args ...any) {
	b.notes = append(b.notes, cut(fmt.Sprintf(format, args...)))
}

// maxTextBytes is the maximum length of a note or a table cell in bytes.
const maxTextBytes = 1000

// cut truncates a text that is too long, with an ellipsis.
func cut(text string) string {
	if len(text) <= maxTextBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxTextBytes], "") + "…"
}

// Notes returns the notes.
func (b *Batch) Notes() []string { return b.notes }

// Table adds a table of facts that are not series. All tables of a batch together have at most MostRows rows. Further rows are
// dropped and counted.
func (b *Batch) Table(t Table) {
	left := MostRows
	for _, before := range b.tables {
		left -= len(before.Rows)
	}
	if beyond := len(t.Rows) - left; beyond > 0 {
		t.Rows, t.LeftOut = t.Rows[:left], t.LeftOut+beyond
	}
	for i, row := range t.Rows {
		if slices.ContainsFunc(row, func(cell string) bool { return len(cell) > maxTextBytes }) {
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

// Err returns an error about rejected samples, or nil. The cause is a mistake in a collector, or an upstream that sends
// duplicates or too many items.
func (b *Batch) Err() error {
	b.seal()
	errs := slices.Clone(b.errs)
	if b.further > 0 {
		errs = append(errs, fmt.Errorf("and %d more", b.further))
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
	chunks := make([]Chunk, 0, n) // exact size, because the store keeps the slice
	for _, f := range b.families {
		if l := b.lines[f]; len(l.hashes) > 0 {
			chunks = append(chunks, l.chunk())
		}
	}
	return chunks
}

// seal drops duplicate series, and the families that exceed a limit.
func (b *Batch) seal() {
	var largest []*lines
	series, partial := 0, false
	for _, f := range b.families {
		l := b.lines[f]
		for _, series := range l.seal() {
			b.wrong("%s: duplicate series", series)
		}
		if l.overflows {
			b.tooMany = append(b.tooMany, fmt.Errorf("%w: %s has more than %d series and is not served: check the "+
				"answers of the upstream", ErrTooMany, f.Name, f.most))
			*l = lines{served: l.served}
		}
		series += len(l.hashes) + l.beyond
		partial = partial || l.beyond > 0
		largest = append(largest, l)
	}
	if !b.limited || series <= b.limit && !partial || b.exceeded {
		return
	}
	b.exceeded = true
	slices.SortStableFunc(largest, func(a, b *lines) int { return cmp.Compare(len(b.hashes)+b.beyond, len(a.hashes)+a.beyond) })
	found := series
	var out []string
	for _, l := range largest {
		if series <= b.limit && l.beyond == 0 || len(l.hashes) <= fewSeries {
			break
		}
		series -= len(l.hashes) + l.beyond
		out = append(out, fmt.Sprintf("%s (%d series)", l.as.Name, len(l.hashes)+l.beyond))
		*l = lines{served: l.served}
	}
	without := "all are served, because each family has few series"
	if len(out) > 0 {
		without = "not served: " + strings.Join(out, ", ")
	}
	b.tooMany = append(b.tooMany, fmt.Errorf("%w: found %d, the limit leaves %d for this collector; %s", ErrTooMany, found, b.limit, without))
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
