package metric

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/avax-exporter/avax-exporter/internal/pack"
)

// Chunk is what one run found of one family, rendered once and never changed:
// sample lines that read the same in the text format and in OpenMetrics.
type Chunk struct {
	Family *Family
	Series int

	short []byte // the text where it is short: the store packs it with that of other jobs
	long  pack.Blocks
}

// Text returns the lines; to compress them, use AddTo.
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

// Limits of what is held as text. Above mostText, the lines of one family are
// packed, so that a validator set of any size passes in little memory; what a
// run has found of one family stays text below leastPacked.
const (
	mostText    = 64 << 10
	leastPacked = 4 << 10
)

// lines are the samples of one family while they are found.
type lines struct {
	*served
	text   []byte
	full   pack.Blocks // what came before text
	hashes []uint64    // of the series: equal ones have equal hashes
	sealed int         // how many of them are known to be all different
	beyond int         // samples that were not kept

	overflows bool // the family's own limit
}

var seed = maphash.MakeSeed()

// add renders a sample.
func (l *lines) add(series []byte, value float64) {
	if len(l.hashes) == cap(l.hashes) {
		l.hashes = slices.Grow(l.hashes, max(8, len(l.hashes))) // append's own steps leave four times as much behind
	}
	l.hashes = append(l.hashes, maphash.Bytes(seed, series))
	l.text = append(append(l.text, series...), ' ')
	l.text = append(strconv.AppendFloat(l.text, value, 'g', -1, 64), '\n')
	if len(l.text) >= mostText {
		l.pack()
	}
}

func (l *lines) pack() {
	l.full = append(l.full, pack.Pack(l.text))
	l.text = l.text[:0]
}

// seal keeps the first sample of each series, and returns the series that were
// set again. Until then only their hashes are known: to look a series up for
// each sample would take more memory than all samples do.
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
			if all.text = append(all.text, line...); len(all.text) >= mostText {
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

// anyTwice reports whether the ordered hashes have duplicates.
func anyTwice(hashes []uint64) bool {
	for i := 1; i < len(hashes); i++ {
		if hashes[i] == hashes[i-1] {
			return true
		}
	}
	return false
}

// chunk returns the samples. Short ones are put in order: upstreams give their
// lists in random order.
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

// Sample is one line of a chunk, read back.
type Sample struct {
	// Labels are the values of Family.Labels, in their order.
	Labels []string
	Value  float64
}

// Samples reads the chunk back. It serves those who need values: a page for
// people, a scraper that asks for protobuf. The labels are parts of one text, which
// lives as long as any of them.
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

// parse reads a line that appendSeries and add wrote, and no other. It adds the
// values of the labels to those given.
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
