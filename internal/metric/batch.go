package metric

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Batch collects the samples of one run and validates them. It rejects these samples, and Err reports them:
//
//   - samples of an undeclared family, or with the wrong number of labels;
//   - samples with a label value longer than MaxValue, or of a duplicate series: with one such sample, the whole scrape would
//     fail in Prometheus;
//   - samples of a counter that are negative or NaN;
//   - all samples of a family with more series than its limit, see Family.AtMost.
//
// A Batch belongs to one goroutine.
type Batch struct {
	// Facts are exact results of the run for status pages.
	Facts Facts

	families []*Family
	chunks   map[*Family]*Chunk
	seen     map[uint64]struct{} // hashes of the series; two different series have the same hash once in 2^64
	series   []byte              // the series that Set adds
	errs     []error             // the first maxErrs mistakes, each once
	rejected int                 // number of further mistakes
	notes    []string
	tables   []Table
}

// NewBatch returns a batch for samples of the declared families.
func NewBatch(declared []*Family) *Batch {
	b := &Batch{families: declared, chunks: make(map[*Family]*Chunk, len(declared)), seen: map[uint64]struct{}{}}
	for _, f := range declared {
		b.chunks[f] = &Chunk{Family: f}
	}
	return b
}

// MaxValue is the maximum length of a label value in bytes, before escaping. It is needed because nodes, services and peers
// may send any text.
const MaxValue = 256

// Set adds a sample. labels are the values of f.Labels, in order.
func (b *Batch) Set(f *Family, value float64, labels ...string) {
	c := b.chunks[f]
	switch {
	case c == nil:
		b.reject("%s: not declared by this collector", f.Name)
		return
	case len(labels) != len(f.Labels):
		b.reject("%s: %d label values for the %d labels %v", f.Name, len(labels), len(f.Labels), f.Labels)
		return
	case f.Type == model.MetricTypeCounter && !(value >= 0):
		b.reject("%s: %v is not a valid value of a counter", f.Name, value)
		return
	}
	for i, v := range labels {
		if len(v) > MaxValue {
			b.reject("%s: a value of the label %s is longer than %d bytes", f.Name, f.Labels[i], MaxValue)
			return
		}
	}
	b.series = appendSeries(b.series[:0], f, labels)
	hash := maphash.Bytes(seed, b.series)
	if _, duplicate := b.seen[hash]; duplicate {
		b.reject("%s: duplicate series", b.series)
		return
	}
	if c.Series++; c.Series > f.max {
		c.text = nil // Err reports the family, and Chunks leaves it out
		return
	}
	b.seen[hash] = struct{}{}
	c.text = append(append(c.text, b.series...), ' ')
	c.text = append(strconv.AppendFloat(c.text, value, 'g', -1, 64), '\n')
}

var seed = maphash.MakeSeed()

// maxErrs is the maximum number of mistakes of one run that are reported separately.
const maxErrs = 10

func (b *Batch) reject(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	switch {
	case slices.ContainsFunc(b.errs, func(known error) bool { return known.Error() == err.Error() }):
	case len(b.errs) == maxErrs:
		b.rejected++
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

// Note adds a finding for the log, truncated to maxText bytes. A note is logged when it first appears. While every run has the
// same note, it is not logged again.
func (b *Batch) Note(format string, args ...any) {
	b.notes = append(b.notes, truncate(fmt.Sprintf(format, args...)))
}

// Notes returns the notes.
func (b *Batch) Notes() []string { return b.notes }

// Table adds a table. All tables of a batch together have at most MaxRows rows. Further rows are dropped and counted.
func (b *Batch) Table(t Table) {
	left := MaxRows
	for _, before := range b.tables {
		left -= len(before.Rows)
	}
	if excess := len(t.Rows) - left; excess > 0 {
		t.Rows, t.LeftOut = t.Rows[:left], t.LeftOut+excess
	}
	rows := t.Rows
	t.Rows = make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			t.Rows[i] = append(t.Rows[i], truncate(cell))
		}
	}
	b.tables = append(b.tables, t)
}

// Tables returns the tables in the order in which they were added.
func (b *Batch) Tables() []Table { return b.tables }

// maxText is the maximum length of a note or a table cell in bytes.
const maxText = 1000

func truncate(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// ErrTooMany is the error of a run that found more series of a family than the family's limit.
var ErrTooMany = errors.New("too many series")

// Err returns an error about rejected samples, or nil. The cause is a mistake in a collector, or an upstream that sends
// duplicates or too many items.
func (b *Batch) Err() error {
	errs := slices.Clone(b.errs)
	if b.rejected > 0 {
		errs = append(errs, fmt.Errorf("and %d more", b.rejected))
	}
	for _, f := range b.families {
		if n := b.chunks[f].Series; n > f.max {
			errs = append(errs, fmt.Errorf("%w: %s has %d series and is not served: the limit is %d: check the answers of the upstream",
				ErrTooMany, f.Name, n, f.max))
		}
	}
	return errors.Join(errs...)
}

// Chunks returns a chunk for each family that has samples, in the order of declaration. Its lines are sorted, because upstreams
// send lists in random order, but equal samples should not be compressed again.
func (b *Batch) Chunks() []Chunk {
	var chunks []Chunk
	for _, f := range b.families {
		if c := b.chunks[f]; c.Series > 0 && c.Series <= f.max {
			chunks = append(chunks, Chunk{f, c.Series, slices.Concat(slices.SortedFunc(bytes.Lines(c.text), bytes.Compare)...)})
		}
	}
	return chunks
}

// Chunk holds the samples of one family in one run, as lines that are the same in the text format and in OpenMetrics. It never
// changes.
type Chunk struct {
	Family *Family
	Series int

	text []byte
}

// Text returns the lines. They must not be changed.
func (c Chunk) Text() []byte { return c.text }

func appendSeries(to []byte, f *Family, labels []string) []byte {
	to = append(to, f.Name...)
	if len(labels) == 0 {
		return to
	}
	for i, name := range f.Labels {
		to = append(to, "{,"[min(i, 1)])
		to = append(append(to, name...), `="`...)
		to = append(to, escapeValue.Replace(strings.ToValidUTF8(labels[i], "\uFFFD"))...)
		to = append(to, '"')
	}
	return append(to, '}')
}

var (
	escapeValue   = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	unescapeValue = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\"`, `"`)
)

// Sample is one line of a chunk.
type Sample struct {
	// Labels are the values of Family.Labels, in order.
	Labels []string
	Value  float64
}

func unescape(value string) string {
	if !strings.Contains(value, `\`) {
		return value
	}
	return unescapeValue.Replace(value)
}

// Samples parses the lines. The labels of all samples refer to one text.
func (c Chunk) Samples() []Sample {
	samples := make([]Sample, 0, c.Series)
	values := make([]string, 0, c.Series*len(c.Family.Labels))
	for line := range strings.Lines(string(c.text)) {
		var s Sample
		line = line[len(c.Family.Name):]
		for _, name := range c.Family.Labels {
			line = line[len(`{`)+len(name)+len(`="`):]
			end := 0
			for ; line[end] != '"'; end++ {
				if line[end] == '\\' {
					end++
				}
			}
			values = append(values, unescape(line[:end]))
			line = line[end+1:]
		}
		s.Labels = values[len(values)-len(c.Family.Labels):]
		s.Value, _ = strconv.ParseFloat(strings.TrimSpace(strings.TrimPrefix(line, "}")), 64) // Set formatted it
		samples = append(samples, s)
	}
	return samples
}
