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
	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Handler answers /metrics with the samples of the store and the metrics of a registry, in the text format or in OpenMetrics, with
// or without gzip.
func (s *Store) Handler(own prometheus.Gatherer, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1, expfmt.FmtText)
		header := w.Header()
		header.Set("Content-Type", string(format))
		header.Set("Vary", "Accept, Accept-Encoding")
		write, compressed := writeText, AcceptsGzip(r)
		inBlocks := compressed && s.inBlocks()
		switch {
		case inBlocks:
			write = writeGzip
		case compressed:
			write = writeWhole
		}
		if compressed {
			header.Set("Content-Encoding", "gzip")
		}
		if r.Method == http.MethodHead {
			return
		}
		page := append(s.page(format.FormatType() == expfmt.TypeOpenMetrics, inBlocks), s.own.get(own, format, log))
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

// wholeUpTo is the number of series up to which a page is compressed as a whole at each scrape: that takes a few milliseconds, and a quarter of the
// bytes. Of a larger page, only what has changed is compressed again.
const wholeUpTo = 10_000

// inBlocks reports whether a compressed page consists of blocks.
func (s *Store) inBlocks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.series > s.whole
}

// block is a part of a page: a header, samples of one family, or both. It is compressed at most once.
type block struct {
	header string
	chunks []*Chunk

	once     sync.Once
	deflated []byte
	sum      uint32 // CRC-32 of the text
	size     int    // of the text, in bytes
}

// page returns the samples that are valid now. For a page that is compressed in blocks, what has not changed since the last one keeps its blocks. They
// then have no chunks any more.
func (s *Store) page(openMetrics, compressed bool) []*block {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(time.Now())
	page := make([]*block, 0, 2*len(s.sections)+1)
	for _, name := range slices.Sorted(maps.Keys(s.sections)) {
		sec := s.sections[name]
		page = append(page, sec.headers[openMetrics])
		for _, seg := range sec.segments {
			b := seg.block
			if b == nil || !compressed {
				b = &block{}
				for _, c := range seg.chunks {
					b.chunks = append(b.chunks, c.Chunk)
				}
			}
			if compressed {
				seg.block = b
			}
			page = append(page, b)
		}
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
	names := map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = true
	}
	for _, f := range families {
		// In OpenMetrics a counter is named without _total. go_memstats_alloc_bytes would be there twice, and strict readers reject the page.
		if base, isCounter := strings.CutSuffix(f.GetName(), "_total"); isCounter && names[base] && format.FormatType() == expfmt.TypeOpenMetrics {
			continue
		}
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

// write writes the text. A bufio.Writer keeps its error.
func (b *block) write(out *bufio.Writer) {
	_, _ = out.WriteString(b.header)
	for _, c := range b.chunks {
		for _, sample := range c.Samples {
			_, _ = out.Write(sample.append(out.AvailableBuffer(), c.Family))
		}
	}
}

func writeText(w io.Writer, page []*block) error {
	out := bufio.NewWriter(w)
	for _, b := range page {
		b.write(out)
	}
	return out.Flush()
}

// writer compresses the pages that one scraper asks for. It has a megabyte, which a sync.Pool would lose between two scrapes.
var writer = make(chan *gzip.Writer, 1)

// writeWhole compresses a page as a whole.
func writeWhole(w io.Writer, page []*block) error {
	var out *gzip.Writer
	select {
	case out = <-writer:
	default:
		out, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed)
	}
	defer func() {
		select {
		case writer <- out:
		default:
		}
	}()
	out.Reset(w)
	if err := writeText(out, page); err != nil {
		return err
	}
	return out.Close()
}

// writeGzip writes a page in blocks, as one gzip member (RFC 1952), because some readers stop after the first member.
func writeGzip(w io.Writer, page []*block) error {
	out := bufio.NewWriter(w)
	_, _ = out.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}) // without name and time
	var sum, size uint32
	for _, b := range page {
		b.once.Do(b.deflate)
		sum, size = appendSum(sum, b.sum, b.size), size+uint32(b.size)
		if _, err := out.Write(b.deflated); err != nil {
			return err
		}
	}
	_, _ = out.Write([]byte{1, 0, 0, 0xff, 0xff}) // empty block with the flag of the last block
	_, _ = out.Write(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, sum), size))
	return out.Flush()
}

// appendSum returns the CRC-32 of two texts together, from the sums of both and the size of the second. CRC-32 is linear: zeros move the
// first sum by the size of the second text.
func appendSum(first, second uint32, size int) uint32 {
	first = ^first // Update inverts its argument and its result
	for size > 0 {
		n := min(size, len(zeros))
		first = crc32.Update(first, crc32.IEEETable, zeros[:n])
		size -= n
	}
	return ^first ^ second
}

var zeros [64 << 10]byte

// deflate compresses the text. The result ends at a byte boundary, has no flag of a last block, and refers to no earlier data.
// Therefore such results may be concatenated.
func (b *block) deflate() {
	text := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(text)
	text.Reset()
	out := bufio.NewWriter(text)
	b.write(out)
	_ = out.Flush() // a buffer never fails
	var deflated bytes.Buffer
	_ = flate.StatelessDeflate(&deflated, text.Bytes(), false, nil)
	b.deflated, b.sum, b.size = bytes.Clone(deflated.Bytes()), crc32.ChecksumIEEE(text.Bytes()), text.Len()
	if b.chunks != nil { // a header is also read by pages that are not compressed
		b.chunks = nil
	}
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
