package web

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/avax-exporter/avax-exporter/internal/pack"
)

// maxScrapes is the maximum number of concurrent scrapes. It limits memory, because a scrape holds its page in memory.
const maxScrapes = 40

// scrapes serves /metrics: the snapshot, which is already compressed, and the exporter's own metrics.
type scrapes struct {
	site  *Site
	turns *scrapeTurns
	// own holds the exporter's own metrics, in the text format and in OpenMetrics. To collect them costs more time than the
	// rest of a page, and several megabytes in a fleet.
	own      [2]shared
	protobuf protobufPage
}

func newScrapes(s *Site) *scrapes {
	return &scrapes{site: s, turns: newScrapeTurns(maxScrapes)}
}

func (s *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	if !inProcess(r) {
		turn, err := s.turns.take(w, r)
		if err != nil {
			w.Header().Set("Retry-After", "1")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer turn.end()
		w = turn
	}
	w.Header().Set("Content-Type", string(format))
	w.Header().Add("Vary", "Accept")
	encoding := encodingOf(w, r)
	if r.Method == http.MethodHead {
		return
	}
	if err := s.write(w, format, encoding); err != nil {
		s.site.Log.Debug("client disconnected", "err", err)
		panic(http.ErrAbortHandler) // close the connection, so that the scraper does not accept an incomplete page
	}
}

// inProcess reports whether the request comes from the alerting of this process, over its in-memory listener.
func inProcess(r *http.Request) bool {
	listener, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && listener.Network() == "pipe"
}

// write writes one page.
func (s *scrapes) write(w http.ResponseWriter, format expfmt.Format, encoding string) error {
	if format.FormatType() != expfmt.TypeProtoDelim {
		return writePage(w, append(s.site.Store.Page(time.Now(), format.FormatType()), s.ownPage(format)...), encoding)
	}
	page, err := s.protobuf.get(time.Now(), func(w io.Writer) error { return s.writeProtobuf(w, format) })
	if err != nil {
		return err
	}
	return writePage(w, page, encoding)
}

// zip returns a writer that compresses a page with this encoding.
func zip(w io.Writer, encoding string) io.WriteCloser {
	if encoding == "zstd" {
		zipped, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(64<<10)) // fails only with invalid options
		return zipped
	}
	return plain{w}
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// protobufPage is the page in protobuf, for scrapers of native histograms. One request renders it for all requests that wait.
type protobufPage struct {
	mu    sync.Mutex
	began time.Time
	page  pack.Blocks
}

// get returns a page that was rendered at the time then or later.
func (p *protobufPage) get(then time.Time, write func(io.Writer) error) (pack.Blocks, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began.After(then) {
		return p.page, nil
	}
	began := time.Now()
	var packer pack.Packer
	if err := write(&packer); err != nil {
		return nil, err
	}
	p.began, p.page = began, packer.Blocks()
	return p.page, nil
}

// writeProtobuf writes a page in protobuf, one family at a time.
func (s *scrapes) writeProtobuf(w io.Writer, format expfmt.Format) error {
	var family bytes.Buffer
	enc := expfmt.NewEncoder(&family, format)
	write := func(f *dto.MetricFamily) error {
		family.Reset()
		if err := enc.Encode(f); err != nil {
			return err
		}
		_, err := w.Write(family.Bytes())
		return err
	}
	for f := range s.site.Store.Families(time.Now()) {
		if err := write(f); err != nil {
			return err
		}
	}
	for f := range s.site.Upstreams.Each() {
		if err := write(f); err != nil {
			return err
		}
	}
	for _, f := range s.gather() {
		if err := write(f); err != nil {
			return err
		}
	}
	return nil
}

// gather collects the exporter's own metrics.
func (s *scrapes) gather() []*dto.MetricFamily {
	families, err := s.site.Registry.Gather()
	if err != nil {
		s.site.Log.Warn("exporter metrics incomplete", "err", err)
	}
	return families
}

// ownPage returns the end of a page in a text format: the exporter's own metrics.
func (s *scrapes) ownPage(format expfmt.Format) pack.Blocks {
	o := &s.own[0]
	if format.FormatType() == expfmt.TypeOpenMetrics {
		o = &s.own[1]
	}
	page, _ := o.get("", func(w io.Writer) error {
		if err := s.site.Upstreams.WriteText(w, format.FormatType()); err != nil {
			return err
		}
		enc := expfmt.NewEncoder(w, format)
		for _, f := range s.gather() {
			if err := enc.Encode(f); err != nil {
				s.site.Log.Warn("exporter metrics incomplete", "err", err)
			}
		}
		if end, ok := enc.(expfmt.Closer); ok {
			_ = end.Close() // a Packer never fails
		}
		return nil
	})
	return page
}

// encodingOf chooses the encoding of the page, and sets the header of the answer.
func encodingOf(w http.ResponseWriter, r *http.Request) string {
	w.Header().Add("Vary", "Accept-Encoding")
	encoding := choose(r.Header.Values("Accept-Encoding"))
	if encoding != "" {
		w.Header().Set("Content-Encoding", encoding)
	}
	return encoding
}

// choose selects one of the accepted encodings: gzip if accepted, because the stored pages are gzip already; otherwise zstd, or
// none.
func choose(accepted []string) string {
	weights := map[string]float64{}
	for item := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
		name, parameters, _ := strings.Cut(item, ";")
		weight := 1.0
		if q, weighed := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q="); weighed {
			weight, _ = strconv.ParseFloat(q, 64) // an invalid number counts as 0
		}
		weights[strings.ToLower(strings.TrimSpace(name))] = weight
	}
	for _, encoding := range []string{"gzip", "zstd"} {
		weight, named := weights[encoding]
		if !named {
			weight = weights["*"]
		}
		if weight > 0 {
			return encoding
		}
	}
	return ""
}
