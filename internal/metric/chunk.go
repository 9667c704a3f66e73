package metric

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/avax-exporter/avax-exporter/internal/pack"
)

// Chunk holds the samples of one family in one run, rendered once and never changed. The sample lines are the same in the
// text format and in OpenMetrics.
type Chunk struct {
	Family *Family
	Series int

	short []byte // short text; the store compresses it together with the text of other jobs
	long  pack.Blocks
}

// Text returns the lines. To compress them, use AddTo.
func (c Chunk) Text() []byte {
	if c.long != nil {
		return c.long.Append(nil)
	}
	return bytes.Clone(c.short)
}

// AddTo adds the lines to a page.
func (c Chunk) AddTo(p *pack.Packer) {
	if c.long != nil {
		p.Add(c.long)
		return
	}
	_, _ = p.Write(c.short) // never fails
}

// Same reports whether both chunks are short and have the same lines.
func (c Chunk) Same(o Chunk) bool {
	return c.long == nil && o.long == nil && bytes.Equal(c.short, o.short)
}

// Limits of uncompressed text in bytes. Lines of a family above maxText are compressed, so that a validator set of any size
// needs little memory. Text smaller than leastPacked is not compressed.
const (
	maxText     = 64 << 10
	leastPacked = 4 << 10
)

// lines collects the samples of one family.
type lines struct {
	*served
	text   []byte
	full   pack.Blocks // compressed lines before text
	hashes []uint64    // hashes of the series; equal series have equal hashes
	sealed int         // number of leading hashes that are known to differ
	beyond int         // number of samples that were not stored

	overflows bool // whether the family exceeds the limit of AtMost
}

var seed = maphash.MakeSeed()

// add renders a sample.
func (l *lines) add(series []byte, value float64) {
	if len(l.hashes) == cap(l.hashes) {
		l.hashes = slices.Grow(l.hashes, max(8, len(l.hashes))) // less garbage: without Grow, append leaves four times as much
	}
	l.hashes = append(l.hashes, maphash.Bytes(seed, series))
	l.text = append(append(l.text, series...), ' ')
	l.text = append(strconv.AppendFloat(l.text, value, 'g', -1, 64), '\n')
	if len(l.text) >= maxText {
		l.pack()
	}
}

func (l *lines) pack() {
	l.full = append(l.full, pack.Pack(l.text))
	l.text = l.text[:0]
}

// seal keeps the first sample of each series and returns the duplicate series. Duplicates are found here by their hashes,
// because an index of all series in Set would need more memory than the samples.
func (l *lines) seal() (twice [][]byte) {
	if l.sealed == len(l.hashes) {
		return nil
	}
	slices.Sort(l.hashes)
	l.sealed = len(l.hashes)
	if !anyTwice(l.hashes) {
		return nil
	}
	all := lines{served: l.served, beyond: l.beyond}
	seen := map[string]bool{}
	for line := range bytes.Lines(append(l.full.Append(nil), l.text...)) {
		end := bytes.LastIndexByte(line, ' ')
		if series := string(line[:end]); !seen[series] {
			seen[series] = true
			all.hashes = append(all.hashes, maphash.Bytes(seed, line[:end]))
			if all.text = append(all.text, line...); len(all.text) >= maxText {
				all.pack()
			}
		} else {
			twice = append(twice, line[:end])
		}
	}
	slices.Sort(all.hashes)
	all.sealed = len(all.hashes)
	*l = all
	return twice
}

// anyTwice reports whether sorted hashes have duplicates.
func anyTwice(hashes []uint64) bool {
	for i := 1; i < len(hashes); i++ {
		if hashes[i] == hashes[i-1] {
			return true
		}
	}
	return false
}

// chunk returns the samples as a chunk. It sorts the lines of a short text: upstreams send lists in random order, but equal
// samples should give equal chunks (see Same).
func (l *lines) chunk() Chunk {
	c := Chunk{Family: l.as, Series: len(l.hashes)}
	rest := l.text
	if len(l.full) == 0 {
		rest = ordered(rest)
	}
	if len(l.full) == 0 && len(rest) < leastPacked {
		c.short = rest
		return c
	}
	c.long = slices.Clone(l.full)
	if len(rest) > 0 {
		c.long = append(c.long, pack.Pack(rest))
	}
	return c
}

func ordered(text []byte) []byte {
	lines := slices.SortedFunc(bytes.Lines(text), bytes.Compare)
	return slices.Concat(lines...)
}

// Sample is one parsed line of a chunk.
type Sample struct {
	// Labels are the values of Family.Labels, in order.
	Labels []string
	Value  float64
}

// Samples parses the chunk, for status pages and for scrapes in protobuf. All labels refer to one text. This text stays in
// memory as long as one of the labels does.
func (c Chunk) Samples() []Sample {
	text := c.short
	if c.long != nil {
		text = c.long.Append(nil)
	}
	samples := make([]Sample, 0, c.Series)
	labels := make([]string, 0, c.Series*len(c.Family.Labels))
	for line := range strings.Lines(string(text)) {
		before := len(labels)
		var s Sample
		labels, s.Value = parse(labels, c.Family, line)
		s.Labels = labels[before:len(labels):len(labels)]
		samples = append(samples, s)
	}
	return samples
}

// parse parses a line that appendSeries and add wrote; it accepts no other lines. It appends the label values to labels.
func parse(labels []string, f *Family, line string) ([]string, float64) {
	line = strings.TrimPrefix(line, f.Name)
	for _, name := range f.Labels {
		line = line[len(`{`)+len(name)+len(`="`):]
		end := endOfValue(line)
		value := line[:end]
		if strings.IndexByte(value, '\\') >= 0 {
			value = unescapeValue.Replace(value)
		}
		labels = append(labels, value)
		line = line[end+1:]
	}
	line = strings.TrimPrefix(line, "}")
	value, _ := strconv.ParseFloat(strings.TrimSpace(line), 64)
	return labels, value
}

// endOfValue returns the position of the quotation mark that ends a label value.
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
