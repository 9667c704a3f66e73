package metric

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Handler answers /metrics with the samples of the store and the metrics of a registry, in the text format or in OpenMetrics, with
// or without gzip.
func (s *Store) Handler(own prometheus.Gatherer, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtText)
		header := w.Header()
		header.Set("Content-Type", string(format))
		header.Set("Vary", "Accept, Accept-Encoding")
		write := writeText
		if AcceptsGzip(r) {
			header.Set("Content-Encoding", "gzip")
			write = writeGzip
		}
		if r.Method == http.MethodHead {
			return
		}
		page := append(s.page(format.FormatType() == expfmt.TypeOpenMetrics), s.own.get(own, format, log))
		if err := write(w, page); err != nil {
			log.Debug("client disconnected", "err", err)
			panic(http.ErrAbortHandler) // close the connection, so that the scraper does not accept an incomplete page
		}
	})
}

// AcceptsGzip reports whether an answer may have the encoding gzip.
func AcceptsGzip(r *http.Request) bool {
	for item := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, parameters, _ := strings.Cut(item, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		weight := 1.0
		if q, found := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q="); found {
			weight, _ = strconv.ParseFloat(q, 64) // an invalid number counts as 0
		}
		return weight > 0
	}
	return false
}

// block is a part of a page that is compressed at most once.
type block struct {
	header string
	parts  []part

	once     sync.Once
	deflated []byte
}

// page returns the samples that are valid now. Families that have not changed since the last scrape keep their blocks.
func (s *Store) page(openMetrics bool) []*block {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(time.Now())
	page := make([]*block, 0, len(s.families)+1)
	for _, name := range slices.Sorted(maps.Keys(s.families)) {
		f := s.families[name]
		b := &f.blocks[0]
		if header := f.header(openMetrics); header != f.header(false) {
			b = &f.blocks[1]
		}
		if *b == nil {
			*b = &block{header: f.header(openMetrics), parts: slices.Clone(f.parts)}
		}
		page = append(page, *b)
	}
	return page
}

// ownPage is the registry's part of a page. The scrapes of one second share it, so that many scrapes need no more memory and
// little more CPU than one.
type ownPage struct {
	mu     sync.Mutex
	at     time.Time
	format expfmt.Format
	block  *block
}

func (o *ownPage) get(own prometheus.Gatherer, format expfmt.Format, log *slog.Logger) *block {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.format == format && time.Since(o.at) < time.Second {
		return o.block
	}
	families, err := own.Gather()
	if err != nil {
		log.Warn("exporter metrics incomplete", "err", err)
	}
	var text bytes.Buffer
	encoder := expfmt.NewEncoder(&text, format)
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			log.Warn("exporter metrics incomplete", "err", err)
		}
	}
	if end, ok := encoder.(expfmt.Closer); ok {
		_ = end.Close() // a buffer never fails
	}
	o.at, o.format, o.block = time.Now(), format, &block{header: text.String()}
	return o.block
}

func writeText(w io.Writer, page []*block) error {
	out := bufio.NewWriter(w)
	for _, b := range page {
		_, _ = out.WriteString(b.header) // a bufio.Writer keeps its error
		for _, p := range b.parts {
			_, _ = out.Write(p.text)
		}
	}
	return out.Flush()
}

// writeGzip writes a page as one gzip member (RFC 1952), because some readers stop after the first member.
func writeGzip(w io.Writer, page []*block) error {
	out := bufio.NewWriter(w)
	_, _ = out.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}) // without name and time
	var sum, size uint32
	add := func(text []byte) { sum, size = crc32.Update(sum, crc32.IEEETable, text), size+uint32(len(text)) }
	for _, b := range page {
		b.once.Do(b.deflate)
		add([]byte(b.header))
		for _, p := range b.parts {
			add(p.text)
		}
		if _, err := out.Write(b.deflated); err != nil {
			return err
		}
	}
	_, _ = out.Write([]byte{1, 0, 0, 0xff, 0xff}) // empty block with the flag of the last block
	_, _ = out.Write(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, sum), size))
	return out.Flush()
}

// deflate compresses the text. The result ends at a byte boundary, has no flag of a last block, and refers to no earlier data.
// Therefore such results may be concatenated.
func (b *block) deflate() {
	text := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(text)
	text.Reset()
	text.WriteString(b.header)
	for _, p := range b.parts {
		text.Write(p.text)
	}
	var out bytes.Buffer
	_ = flate.StatelessDeflate(&out, text.Bytes(), false, nil) // a buffer never fails
	b.deflated = bytes.Clone(out.Bytes())
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
