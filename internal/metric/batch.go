package metric

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Batch collects the samples of one run and is the guard at the door: a sample
// of an undeclared family, with the wrong number of labels, or of a series that
// is already set is kept out and reported by Err. (One duplicate series
// otherwise turns a whole scrape into an error.)
//
// A Batch belongs to one goroutine.
type Batch struct {
	families []*Family
	lines    map[*Family]*lines
	series   []byte // of the sample being set
	errs     []error
	notes    []string
	tables   []Table
}

// NewBatch returns a batch that takes samples of the declared families only.
func NewBatch(declared []*Family) *Batch {
	b := &Batch{families: declared, lines: make(map[*Family]*lines, len(declared))}
	for _, f := range declared {
		b.lines[f] = &lines{}
	}
	return b
}

// Set adds a sample. labels are the values of f.Labels, in their order.
func (b *Batch) Set(f *Family, value float64, labels ...string) {
	into := b.lines[f]
	switch {
	case into == nil:
		b.errs = append(b.errs, fmt.Errorf("%s: not declared by this collector", f.Name))
		return
	case len(labels) != len(f.Labels):
		b.errs = append(b.errs, fmt.Errorf("%s: %d label values for the %d labels %v", f.Name, len(labels), len(f.Labels), f.Labels))
		return
	}
	b.series = appendSeries(b.series[:0], f, labels)
	into.add(b.series, value)
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

// Note adds a sentence about what was found that a person should read once. It
// is logged when it first appears, and not again while it stands.
func (b *Batch) Note(format string, args ...any) {
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

// Notes returns what was noted.
func (b *Batch) Notes() []string { return b.notes }

// Table adds facts for people that have no series. A batch takes MostRows rows
// over all its tables, those added first: what is beyond is left out and counted.
func (b *Batch) Table(t Table) {
	left := MostRows
	for _, before := range b.tables {
		left -= len(before.Rows)
	}
	if beyond := len(t.Rows) - left; beyond > 0 {
		t.Rows, t.LeftOut = t.Rows[:left], t.LeftOut+beyond
	}
	b.tables = append(b.tables, t)
}

// Tables returns the tables in the order in which they were added.
func (b *Batch) Tables() []Table { return b.tables }

// Err tells what was kept out: a mistake in a collector, or an upstream that
// names the same thing twice. It is nil where every sample was taken.
func (b *Batch) Err() error {
	b.seal()
	return errors.Join(b.errs...)
}

// Chunks returns what was set, a chunk for each family that has samples, in
// the order in which the families were declared.
func (b *Batch) Chunks() []Chunk {
	b.seal()
	var chunks []Chunk
	for _, f := range b.families {
		if l := b.lines[f]; len(l.hashes) > 0 {
			chunks = append(chunks, l.chunk(f))
		}
	}
	return chunks
}

// seal keeps out what was set twice.
func (b *Batch) seal() {
	for _, f := range b.families {
		for _, series := range b.lines[f].seal() {
			b.errs = append(b.errs, fmt.Errorf("%s: set twice", series))
		}
	}
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
