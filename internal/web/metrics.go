package web

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/avax-exporter/avax-exporter/internal/pack"
)

// Limits of /metrics.
const (
	// mostScrapes is how many may be under way at once. A scraper that does not
	// read holds one until the server gives it up.
	mostScrapes = 40
	// mostProtobuf is the same for pages in protobuf, which are made anew each time.
	mostProtobuf = 4
)

// scrapes serves /metrics: the snapshot, which is packed already, and the
// exporter's own metrics.
type scrapes struct {
	site *Site
	// Turns are held by the scrapes under way: of rendered text, of protobuf.
	text, protobuf turns
	// The exporter's own metrics, as text and as OpenMetrics. Collecting them costs
	// more than the rest of a page, and several megabytes in a fleet.
	own [2]shared
}

// turns are held by scrapes under way, so many at most.
type turns chan struct{}

func newScrapes(s *Site) *scrapes {
	return &scrapes{site: s, text: make(turns, mostScrapes), protobuf: make(turns, mostProtobuf)}
}

func (s *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	turns := s.text
	if format.FormatType() == expfmt.TypeProtoDelim {
		turns = s.protobuf
	}
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, strconv.Itoa(cap(turns))+" scrapes are under way: are there scrapers that do not read on?", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", string(format))
	w.Header().Add("Vary", "Accept")
	encoding := encodingOf(w, r)
	if r.Method == http.MethodHead {
		return
	}
	if err := s.write(w, format, encoding); err != nil {
		s.site.Log.Debug("scraper went away", "err", err)
		panic(http.ErrAbortHandler) // cuts the connection: nobody takes a part for the whole
	}
}

// write writes one page.
func (s *scrapes) write(w http.ResponseWriter, format expfmt.Format, encoding string) error {
	if format.FormatType() != expfmt.TypeProtoDelim {
		return writePage(w, append(s.site.Store.Page(time.Now(), format.FormatType()), s.ownPage(format)...), encoding)
	}
	body := zip(w, encoding)
	return errors.Join(s.writeProtobuf(body, format), body.Close())
}

// zip returns what packs a page that is not packed already.
func zip(w io.Writer, encoding string) io.WriteCloser {
	switch encoding {
	case "gzip":
		return gzip.NewWriter(w)
	case "zstd":
		zipped, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(64<<10)) // fails on bad options alone
		return zipped
	}
	return plain{w}
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// writeProtobuf writes a page for a scraper that asks for native histograms, one
// family at a time.
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
	for _, f := range s.gather() {
		if err := write(f); err != nil {
			return err
		}
	}
	return nil
}

// gather asks for the exporter's own metrics.
func (s *scrapes) gather() []*dto.MetricFamily {
	families, err := s.site.Registry.Gather()
	if err != nil {
		s.site.Log.Warn("some of the exporter's own metrics are missing", "err", err)
	}
	return families
}

// ownPage returns the end of a page, in a text format: the exporter's own metrics.
func (s *scrapes) ownPage(format expfmt.Format) pack.Page {
	o := &s.own[0]
	if format.FormatType() == expfmt.TypeOpenMetrics {
		o = &s.own[1]
	}
	page, _ := o.get("", func(w io.Writer) error {
		enc := expfmt.NewEncoder(w, format)
		for _, f := range s.gather() {
			if err := enc.Encode(f); err != nil {
				s.site.Log.Warn("one of the exporter's own metrics is missing", "err", err)
			}
		}
		if end, ok := enc.(expfmt.Closer); ok {
			_ = end.Close() // a Packer takes everything
		}
		return nil
	})
	return page
}

// encodingOf settles how the page is packed, and says so in the answer's header.
func encodingOf(w http.ResponseWriter, r *http.Request) string {
	w.Header().Add("Vary", "Accept-Encoding")
	encoding := choose(r.Header.Values("Accept-Encoding"))
	if encoding != "" {
		w.Header().Set("Content-Encoding", encoding)
	}
	return encoding
}

// choose returns the encoding for a request that accepts these: gzip where it is
// taken, since that is at hand; else zstd; else none.
func choose(accepted []string) string {
	weights := map[string]float64{}
	for item := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
		name, parameters, _ := strings.Cut(item, ";")
		weight := 1.0
		if q, weighed := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q="); weighed {
			weight, _ = strconv.ParseFloat(q, 64) // what is no number counts as 0
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
