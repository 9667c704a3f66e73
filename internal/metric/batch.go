package metric

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
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
	samples  map[*Family]*samples
	seen     map[uint64]struct{} // hashes of the series; two different series have the same hash once in 2^64
	errs     []error             // the first maxErrs mistakes, each once
	rejected int                 // number of further mistakes
	notes    []note
	tables   []Table
}

// samples are the samples of one family. Above the limit they are only counted.
type samples struct {
	set   []Sample
	count int
}

// NewBatch returns a batch for samples of the declared families.
func NewBatch(declared []*Family) *Batch {
	b := &Batch{families: declared, samples: make(map[*Family]*samples, len(declared)), seen: map[uint64]struct{}{}}
	for _, f := range declared {
		b.samples[f] = &samples{}
	}
	return b
}

// MaxValue is the maximum length of a label value in bytes, before escaping. It is needed because nodes, services and peers
// may send any text.
const MaxValue = 256

// Set adds a sample. labels are the values of f.Labels, in order.
func (b *Batch) Set(f *Family, value float64, labels ...string) {
	known := b.samples[f]
	switch {
	case known == nil:
		b.reject("%s: not declared by this collector", f.Name)
		return
	case len(labels) != len(f.Labels):
		b.reject("%s: %d label values for the %d labels %v", f.Name, len(labels), len(f.Labels), f.Labels)
		return
	case f.Type == model.MetricTypeCounter && !(value >= 0):
		b.reject("%s: %v is not a valid value of a counter", f.Name, value)
		return
	}
	labels = slices.Clone(labels)
	var series maphash.Hash
	series.SetSeed(seed)
	_, _ = series.WriteString(f.Name) // a Hash never fails
	for i, v := range labels {
		if len(v) > MaxValue {
			b.reject("%s: a value of the label %s is longer than %d bytes", f.Name, f.Labels[i], MaxValue)
			return
		}
		labels[i] = strings.ToValidUTF8(v, "\uFFFD")
		_ = series.WriteByte(0xff) // not part of UTF-8
		_, _ = series.WriteString(labels[i])
	}
	if _, duplicate := b.seen[series.Sum64()]; duplicate {
		b.reject("%s: duplicate series", appendSeries(nil, f, labels))
		return
	}
	if known.count++; known.count > f.max {
		known.set = nil
		return
	}
	b.seen[series.Sum64()] = struct{}{}
	known.set = append(known.set, Sample{labels, value})
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

// SetHistogram adds the buckets, the sum and the count of a histogram. labels are the values of f.Labels without le.
func (b *Batch) SetHistogram(f *Family, h prometheus.Histogram, labels ...string) {
	var m dto.Metric
	if err := h.Write(&m); err != nil {
		b.reject("%s: %v", f.Name, err)
		return
	}
	set := func(of string, value float64) { b.Set(f, value, append(slices.Clone(labels), of)...) }
	for _, bucket := range m.GetHistogram().GetBucket() {
		set(boundOf(bucket.GetUpperBound()), float64(bucket.GetCumulativeCount()))
	}
	count := float64(m.GetHistogram().GetSampleCount())
	set("+Inf", count)
	set(sumSuffix, m.GetHistogram().GetSampleSum())
	set(countSuffix, count)
}

// In place of a bound, the label le of a sample holds the suffix of the sum or of the count.
const (
	sumSuffix   = "_sum"
	countSuffix = "_count"
)

// boundOf formats the bound of a bucket as OpenMetrics requires it, with a point.
func boundOf(bound float64) string {
	text := strconv.FormatFloat(bound, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// compare orders samples by their labels. The samples of a histogram are equal: SetHistogram adds them in order.
func (f *Family) compare(a, b Sample) int {
	labels := len(f.Labels)
	if f.Type == model.MetricTypeHistogram {
		labels--
	}
	return slices.Compare(a.Labels[:labels], b.Labels[:labels])
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

// Note adds a finding for the log, truncated to maxText bytes. A note is logged when it first appears. It is logged again
// only if no run of an hour has had it. Notes of one format are of one kind: the log has few of a kind an hour.
func (b *Batch) Note(format string, args ...any) {
	b.notes = append(b.notes, note{text: Truncate(fmt.Sprintf(format, args...)), kind: format})
}

type note struct{ text, kind string }

// Notes returns the texts of the notes.
func (b *Batch) Notes() (texts []string) {
	for _, n := range b.notes {
		texts = append(texts, n.text)
	}
	return texts
}

// KindOf returns the kind of the note with this index.
func (b *Batch) KindOf(i int) string { return b.notes[i].kind }

// Table adds a table, unless it has no rows. All tables of a batch together have at most MaxRows rows. Further rows are dropped and counted.
func (b *Batch) Table(t Table) {
	if len(t.Rows) == 0 {
		return
	}
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
			t.Rows[i] = append(t.Rows[i], Truncate(cell))
		}
	}
	b.tables = append(b.tables, t)
}

// Tables returns the tables in the order in which they were added.
func (b *Batch) Tables() []Table { return b.tables }

// maxText is the maximum length of a note or a table cell in bytes.
const maxText = 1000

// Truncate shortens a text that is longer than a note may be.
func Truncate(text string) string {
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
		if n := b.samples[f].count; n > f.max {
			errs = append(errs, fmt.Errorf("%w: %s has %d series and is not served: the limit is %d: check the answers of the upstream",
				ErrTooMany, f.Name, n, f.max))
		}
	}
	return errors.Join(errs...)
}

// Chunks returns a chunk for each family that has samples, in the order of declaration. Its samples are sorted, because upstreams
// send lists in random order, but equal samples should not be compressed again.
func (b *Batch) Chunks() []Chunk {
	var chunks []Chunk
	for _, f := range b.families {
		if set := b.samples[f].set; len(set) > 0 {
			set = slices.Clone(set)
			slices.SortStableFunc(set, f.compare)
			chunks = append(chunks, Chunk{f, set})
		}
	}
	return chunks
}

// Chunk holds the samples of one family in one run. It never changes.
type Chunk struct {
	Family  *Family
	Samples []Sample
}

// String returns the lines of the samples.
func (c Chunk) String() string {
	var lines []byte
	for _, s := range c.Samples {
		lines = s.append(lines, c.Family)
	}
	return string(lines)
}

// Sample is the value of one series.
type Sample struct {
	// Labels are the values of Family.Labels, in order.
	Labels []string
	Value  float64
}

func (s Sample) equal(o Sample) bool {
	return math.Float64bits(s.Value) == math.Float64bits(o.Value) && slices.Equal(s.Labels, o.Labels)
}

// append appends the line of a sample, which is the same in the text format and in OpenMetrics.
func (s Sample) append(to []byte, f *Family) []byte {
	to = append(appendSeries(to, f, s.Labels), ' ')
	return append(strconv.AppendFloat(to, s.Value, 'g', -1, 64), '\n')
}

func appendSeries(to []byte, f *Family, labels []string) []byte {
	to = append(to, f.Name...)
	if f.Type == model.MetricTypeHistogram {
		switch of := labels[len(labels)-1]; of {
		case sumSuffix, countSuffix:
			to, labels = append(to, of...), labels[:len(labels)-1]
		default:
			to = append(to, "_bucket"...)
		}
	}
	if len(labels) == 0 {
		return to
	}
	for i, value := range labels {
		to = append(to, "{,"[min(i, 1)])
		to = append(append(to, f.Labels[i]...), `="`...)
		to = append(append(to, escapeValue.Replace(value)...), '"')
	}
	return append(to, '}')
}

var escapeValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
