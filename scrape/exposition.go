package scrape

import (
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Family is a metric family of Metrics. Each has a row in docs/metrics.md.
type Family struct {
	Name, Help string
	Type       dto.MetricType
	Labels     []string
	// text appends the lines of one upstream in a text format.
	text func(l *liner, m *measure)
	// metrics yields the metrics of one upstream in protobuf.
	metrics func(m *measure, yield func(*dto.Metric))
}

// Exported are the families of Metrics, in the order of their names.
var Exported = []Family{
	{
		Name:   "avax_exporter_upstream_certificate_expiry_timestamp_seconds",
		Help:   "Expiry of the certificate on the last used HTTPS connection to an upstream, in Unix seconds. Absent for HTTP, and before the first connection.",
		Type:   dto.MetricType_GAUGE,
		Labels: []string{"upstream"},
		text: func(l *liner, m *measure) {
			if m.expiry != 0 {
				l.value("", m.expiry, "upstream", m.upstream)
			}
		},
		metrics: func(m *measure, yield func(*dto.Metric)) {
			if m.expiry != 0 {
				yield(&dto.Metric{Label: labels("upstream", m.upstream), Gauge: &dto.Gauge{Value: &m.expiry}})
			}
		},
	},
	{
		Name:   "avax_exporter_upstream_request_duration_seconds",
		Help:   "Time from the start of a request to an upstream to the end of its answer. Includes requests of every outcome.",
		Type:   dto.MetricType_HISTOGRAM,
		Labels: []string{"upstream", "op"},
		text: func(l *liner, m *measure) {
			for _, c := range m.ops {
				if c.duration.since.IsZero() {
					continue
				}
				n := uint64(0)
				for i, bound := range bounds {
					n += c.duration.classic[i]
					l.count("_bucket", n, "op", c.op, "upstream", m.upstream, "le", l.float(bound))
				}
				n = c.duration.count()
				l.count("_bucket", n, "op", c.op, "upstream", m.upstream, "le", "+Inf")
				l.value("_sum", c.duration.sum, "op", c.op, "upstream", m.upstream)
				l.count("_count", n, "op", c.op, "upstream", m.upstream)
			}
		},
		metrics: func(m *measure, yield func(*dto.Metric)) {
			for _, c := range m.ops {
				if !c.duration.since.IsZero() {
					yield(&dto.Metric{Label: labels("op", c.op, "upstream", m.upstream), Histogram: c.duration.histogram()})
				}
			}
		},
	},
	{
		Name:    "avax_exporter_upstream_requests_total",
		Help:    "Requests to an upstream (a node or service) by outcome. Each retry counts. An answer that several collectors use counts once.",
		Type:    dto.MetricType_COUNTER,
		Labels:  []string{"upstream", "op", "outcome"},
		text:    talliesAsText(func(c *opCounts) []tally { return c.requests }),
		metrics: talliesAsMetrics(func(c *opCounts) []tally { return c.requests }),
	},
	{
		Name:    "avax_exporter_upstream_unsent_total",
		Help:    "Calls and retries that were not sent to an upstream, by outcome. rate_limited: the upstream requested a pause, or a budget is spent. timeout: the wait in the queue was too long.",
		Type:    dto.MetricType_COUNTER,
		Labels:  []string{"upstream", "op", "outcome"},
		text:    talliesAsText(func(c *opCounts) []tally { return c.unsent }),
		metrics: talliesAsMetrics(func(c *opCounts) []tally { return c.unsent }),
	},
	{
		Name:   "avax_exporter_upstream_wait_until_timestamp_seconds",
		Help:   "End of the last pause that an upstream requested, in Unix seconds. The pause is for the method in the label op, or for all methods (op=all). Absent if the upstream requested no pause.",
		Type:   dto.MetricType_GAUGE,
		Labels: []string{"upstream", "op"},
		text: func(l *liner, m *measure) {
			for _, w := range m.until {
				l.value("", w.at, "op", w.op, "upstream", m.upstream)
			}
		},
		metrics: func(m *measure, yield func(*dto.Metric)) {
			for _, w := range m.until {
				yield(&dto.Metric{Label: labels("op", w.op, "upstream", m.upstream), Gauge: &dto.Gauge{Value: proto.Float64(w.at)}})
			}
		},
	},
}

func (f Family) header(openMetrics bool) string {
	name := f.Name
	if openMetrics {
		name = strings.TrimSuffix(name, "_total")
	}
	return "# HELP " + name + " " + f.Help + "\n# TYPE " + name + " " + strings.ToLower(f.Type.String()) + "\n"
}

// WriteText writes all families in a text format, without the closing line of OpenMetrics.
func (m *Metrics) WriteText(w io.Writer, format expfmt.FormatType) error {
	upstreams := m.all()
	l := &liner{openMetrics: format == expfmt.TypeOpenMetrics}
	for _, f := range Exported {
		header := f.header(l.openMetrics)
		l.name = f.Name
		for _, m := range upstreams {
			l.line = append(l.line[:0], header...)
			m.mu.Lock()
			f.text(l, m)
			m.mu.Unlock()
			if len(l.line) == len(header) {
				continue
			}
			header = ""
			if _, err := w.Write(l.line); err != nil {
				return err
			}
		}
	}
	return nil
}

// liner appends lines of one family.
type liner struct {
	name        string
	openMetrics bool
	line        []byte
}

// start appends a series up to its value. In labels, each name is followed by its value.
func (l *liner) start(suffix string, labels ...string) {
	l.line = append(append(l.line, l.name...), suffix...)
	for i := 0; i < len(labels); i += 2 {
		l.line = append(l.line, "{,"[min(i, 1)])
		l.line = append(append(append(l.line, labels[i]...), `="`...), escapeLabel.Replace(labels[i+1])...)
		l.line = append(l.line, '"')
	}
	l.line = append(l.line, "} "...)
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func (l *liner) value(suffix string, v float64, labels ...string) {
	l.start(suffix, labels...)
	l.line = append(append(l.line, l.float(v)...), '\n')
}

func (l *liner) count(suffix string, n uint64, labels ...string) {
	l.start(suffix, labels...)
	l.line = append(strconv.AppendUint(l.line, n, 10), '\n')
}

// talliesAsText returns a Family.text. The function choose selects the tallies of an op.
func talliesAsText(choose func(*opCounts) []tally) func(*liner, *measure) {
	return func(l *liner, m *measure) {
		write := func(n uint64, labels ...string) { l.count("", n, labels...) }
		if l.openMetrics {
			write = func(n uint64, labels ...string) { l.value("", float64(n), labels...) }
		}
		for _, c := range m.ops {
			for _, t := range choose(c) {
				write(t.n, "op", c.op, "outcome", string(t.outcome), "upstream", m.upstream)
			}
		}
	}
}

// float formats a number. In OpenMetrics a float always has a decimal point or an exponent.
func (l *liner) float(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if l.openMetrics && !strings.ContainsAny(s, "e.") {
		s += ".0"
	}
	return s
}

// Each yields the families in protobuf, one at a time: a sample in protobuf takes many times the memory of its text line.
func (m *Metrics) Each() iter.Seq[*dto.MetricFamily] {
	return func(yield func(*dto.MetricFamily) bool) {
		upstreams := m.all()
		for _, f := range Exported {
			family := &dto.MetricFamily{Name: &f.Name, Help: &f.Help, Type: f.Type.Enum()}
			for _, m := range upstreams {
				m.mu.Lock()
				f.metrics(m, func(metric *dto.Metric) { family.Metric = append(family.Metric, metric) })
				m.mu.Unlock()
			}
			if len(family.Metric) > 0 && !yield(family) {
				return
			}
		}
	}
}

// Gather implements prometheus.Gatherer.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) { return slices.Collect(m.Each()), nil }

func labels(pairs ...string) []*dto.LabelPair {
	all := make([]*dto.LabelPair, 0, len(pairs)/2)
	for pair := range slices.Chunk(pairs, 2) {
		all = append(all, &dto.LabelPair{Name: &pair[0], Value: &pair[1]})
	}
	return all
}

// talliesAsMetrics returns a Family.metrics. The function choose selects the tallies of an op.
func talliesAsMetrics(choose func(*opCounts) []tally) func(*measure, func(*dto.Metric)) {
	return func(m *measure, yield func(*dto.Metric)) {
		for _, c := range m.ops {
			for _, t := range choose(c) {
				yield(&dto.Metric{
					Label:   labels("op", c.op, "outcome", string(t.outcome), "upstream", m.upstream),
					Counter: &dto.Counter{Value: proto.Float64(float64(t.n)), CreatedTimestamp: timestamppb.New(t.since)},
				})
			}
		}
	}
}

// histogram returns the durations with classic and native buckets.
func (h *durations) histogram() *dto.Histogram {
	native := make(map[int]int64, len(h.native))
	for _, b := range h.native {
		native[b.index] = int64(b.n)
	}
	count := h.count()
	metric := &dto.Metric{}
	constant := prometheus.MustNewConstNativeHistogram(durationDesc, count, h.sum, native, nil, 0, resolution, 0, h.since)
	_ = constant.Write(metric) // fails only with invalid labels
	n := uint64(0)
	for i, bound := range bounds {
		n += h.classic[i]
		metric.Histogram.Bucket = append(metric.Histogram.Bucket, &dto.Bucket{UpperBound: &bound, CumulativeCount: proto.Uint64(n)})
	}
	return metric.Histogram
}

var durationDesc = prometheus.NewDesc("avax_exporter_upstream_request_duration_seconds", "", nil, nil)
