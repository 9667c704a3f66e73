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
	long  pack.Block
}

// Text returns the lines, for those who read them: a page packs them with AddTo.
func (c Chunk) Text() []byte {
	if c.long.Len() > 0 {
		return c.long.Append(nil)
	}
	return bytes.Clone(c.short)
}

// AddTo adds the lines to a page.
func (c Chunk) AddTo(p *pack.Packer) {
	if c.long.Len() > 0 {
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
	text []byte
	at   []span
	full []pack.Block
	// seen are the series by their hash: that two of a million have the same is
	// less likely than one in ten million.
	seen map[uint64]struct{}
}

// span is where a line lies in text: upstreams give their lists in random order,
// and each piece that is packed is put in order.
type span struct{ from, to int }

var seed = maphash.MakeSeed()

// add renders a sample, unless there is one of this series.
func (l *lines) add(series []byte, value float64) (added bool) {
	hash := maphash.Bytes(seed, series)
	if _, twice := l.seen[hash]; twice {
		return false
	}
	if l.seen == nil {
		l.seen = map[uint64]struct{}{}
	}
	l.seen[hash] = struct{}{}
	from := len(l.text)
	l.text = append(append(l.text, series...), ' ')
	l.text = append(strconv.AppendFloat(l.text, value, 'g', -1, 64), '\n')
	l.at = append(l.at, span{from, len(l.text)})
	if len(l.text) >= mostText {
		l.full = append(l.full, pack.Pack(l.ordered()))
		l.text, l.at = l.text[:0], l.at[:0]
	}
	return true
}

// ordered returns the lines that are not packed.
func (l *lines) ordered() []byte {
	text := func(s span) []byte { return l.text[s.from:s.to] }
	slices.SortFunc(l.at, func(a, b span) int { return bytes.Compare(text(a), text(b)) })
	ordered := make([]byte, 0, len(l.text))
	for _, s := range l.at {
		ordered = append(ordered, text(s)...)
	}
	return ordered
}

func (l *lines) chunk(f *Family) Chunk {
	c := Chunk{Family: f, Series: len(l.seen)}
	rest := l.ordered()
	if len(l.full) == 0 && len(rest) < leastPacked {
		c.short = rest
		return c
	}
	c.long = pack.Join(append(slices.Clip(l.full), pack.Pack(rest)))
	return c
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
	text := c.short
	if c.long.Len() > 0 {
		text = c.long.Append(nil)
	}
	samples := make([]Sample, 0, c.Series)
	for line := range bytes.Lines(text) {
		samples = append(samples, parse(c.Family, string(line)))
	}
	return samples
}

// parse reads a line that appendSeries and add wrote, and no other.
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
