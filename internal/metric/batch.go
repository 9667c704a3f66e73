package metric

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	errs     []error
	notes    []string
	tables   []Table
}

// lines are the rendered samples of one family.
type lines struct {
	text []string
	seen map[string]struct{}
}

// NewBatch returns a batch that takes samples of the declared families only.
func NewBatch(declared []*Family) *Batch {
	b := &Batch{families: declared, lines: make(map[*Family]*lines, len(declared))}
	for _, f := range declared {
		b.lines[f] = &lines{seen: map[string]struct{}{}}
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
	series := appendSeries(nil, f, labels)
	if _, dup := into.seen[string(series)]; dup {
		b.errs = append(b.errs, fmt.Errorf("%s: set twice", series))
		return
	}
	into.seen[string(series)] = struct{}{}
	line := append(series, ' ')
	line = strconv.AppendFloat(line, value, 'g', -1, 64)
	into.text = append(into.text, string(append(line, '\n')))
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
func (b *Batch) Err() error { return errors.Join(b.errs...) }

// Chunks returns what was set, a chunk for each family that has samples, in
// the order in which the families were declared.
func (b *Batch) Chunks() []Chunk {
	var chunks []Chunk
	for _, f := range b.families {
		l := b.lines[f]
		if len(l.text) == 0 {
			continue
		}
		// Upstreams give their lists in random order.
		slices.Sort(l.text)
		chunks = append(chunks, Chunk{Family: f, Series: len(l.text), Text: []byte(strings.Join(l.text, ""))})
	}
	return chunks
}

// Table is facts for people that have no series, such as who would vote no. Like
// samples it is replaced whole with each run, and never changed.
type Table struct {
	// About says in one sentence what the rows tell.
	About   string
	Columns []string
	// Rows have a cell for each column, plain text as an upstream may have spelled
	// it, in the order in which they are to be read.
	Rows [][]string
	// LeftOut counts the rows that were too many.
	LeftOut int
}

// MostRows is how many rows of tables one run may have.
const MostRows = 500

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

// Chunk is what one run found of one family, rendered once and never changed:
// sample lines that read the same in the text format and in OpenMetrics.
type Chunk struct {
	Family *Family
	Series int
	Text   []byte
}

// Sample is one line of a chunk, read back.
type Sample struct {
	// Labels are the values of Family.Labels, in their order.
	Labels []string
	Value  float64
}

// Samples reads the chunk back. It serves those who need values: a page for
// people, a scraper that asks for protobuf.
func (c Chunk) Samples() []Sample {
	samples := make([]Sample, 0, c.Series)
	for line := range bytes.Lines(c.Text) {
		samples = append(samples, parse(c.Family, string(line)))
	}
	return samples
}

// parse reads a line that appendSeries and Set wrote, and no other.
func parse(f *Family, line string) Sample {
	line = strings.TrimPrefix(line, f.Name)
	s := Sample{Labels: make([]string, 0, len(f.Labels))}
	for _, name := range f.Labels {
		line = line[len(`{`)+len(name)+len(`="`):]
		end := endOfValue(line)
		s.Labels = append(s.Labels, unescapeValue.Replace(line[:end]))
		line = line[end+1:]
	}
	line = strings.TrimPrefix(line, "}")
	s.Value, _ = strconv.ParseFloat(strings.TrimSpace(line), 64)
	return s
}

// endOfValue finds the quotation mark that ends a label value.
func endOfValue(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(s)
}
