package snapshot

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/proto"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// Families yields the content of Page as client_golang's types, for a scrape in protobuf. It yields one family at a time,
// because a sample of these types takes many times the memory of its text line.
func (s *Store) Families(t time.Time) iter.Seq[*dto.MetricFamily] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(t)
	var families [][]chunk
	for _, f := range s.samples.ordered() {
		families = append(families, slices.Clone(f.chunks))
	}
	for _, p := range healthParts(slices.Collect(maps.Values(s.jobs))) {
		families = append(families, p.chunks)
	}
	return func(yield func(*dto.MetricFamily) bool) {
		for _, chunks := range families {
			if !yield(familyOf(chunks)) {
				return
			}
		}
	}
}

// Gather implements prometheus.Gatherer with the current content of Page.
func (s *Store) Gather() ([]*dto.MetricFamily, error) {
	return slices.Collect(s.Families(time.Now())), nil
}

func familyOf(chunks []chunk) *dto.MetricFamily {
	f := chunks[0].Family
	mf := &dto.MetricFamily{Name: proto.String(f.Name), Help: proto.String(f.Help), Type: dto.MetricType_GAUGE.Enum()}
	if f.Type == model.MetricTypeCounter {
		mf.Type = dto.MetricType_COUNTER.Enum()
	}
	for _, c := range chunks {
		for _, sample := range c.Samples() {
			m := &dto.Metric{}
			if f.Type == model.MetricTypeCounter {
				m.Counter = &dto.Counter{Value: proto.Float64(sample.Value)}
			} else {
				m.Gauge = &dto.Gauge{Value: proto.Float64(sample.Value)}
			}
			for i, name := range f.Labels {
				m.Label = append(m.Label, &dto.LabelPair{Name: proto.String(name), Value: proto.String(sample.Labels[i])})
			}
			mf.Metric = append(mf.Metric, m)
		}
	}
	return mf
}

var (
	success = metric.New("avax_exporter_collector_success",
		"1 if the collector's last run for this target succeeded, 0 if it failed. Absent until the first run has ended.",
		"collector", "target")
	duration = metric.New("avax_exporter_collector_duration_seconds",
		"Duration of the collector's last run for this target.",
		"collector", "target")
	lastSuccess = metric.New("avax_exporter_collector_last_success_timestamp_seconds",
		"Start of the collector's last successful run for this target, in Unix seconds. Absent before the first success.",
		"collector", "target")
	skipped = metric.NewCounter("avax_exporter_collector_skipped_total",
		"Runs that were skipped because the previous run for this target had not ended. Absent until the first run has ended.",
		"collector", "target")
	panics = metric.NewCounter("avax_exporter_collector_panics_total",
		"Runs that ended in a panic, which is a bug: please report it. Absent until the first run has ended.",
		"collector", "target")
)

// Health lists the families about the state of jobs. They are rendered together with a page and not kept in a registry. A fleet
// has tens of thousands of jobs, and in a registry their gauges would cost each scrape more than everything else.
var Health = []*metric.Family{success, duration, lastSuccess, skipped, panics}

// healthParts renders Health for all jobs, in the order of their keys.
func healthParts(jobs []*Job) []*part {
	slices.SortFunc(jobs, func(a, b *Job) int { return a.Last.compare(b.Last.Key) })
	b := metric.NewBatch(Health)
	for _, j := range jobs {
		collector, target := j.Last.Collector, j.Last.Target.String()
		b.SetBool(success, j.Last.Err == nil, collector, target)
		b.Set(duration, j.Last.Took.Seconds(), collector, target)
		if !j.Good.At.IsZero() {
			b.Set(lastSuccess, float64(j.Good.At.UnixMilli())/1e3, collector, target)
		}
		b.Set(skipped, float64(j.Last.Skipped), collector, target)
		b.Set(panics, float64(j.Last.Panics), collector, target)
	}
	var parts []*part
	for _, c := range b.Chunks() {
		parts = append(parts, &part{chunks: []chunk{{Chunk: &c}}})
	}
	return parts
}

var series = prometheus.NewDesc("avax_exporter_series",
	"Number of series that the collector serves now, for all its targets together.",
	[]string{"collector"}, nil)

// Describe implements prometheus.Collector.
func (s *Store) Describe(ch chan<- *prometheus.Desc) { ch <- series }

// Collect implements prometheus.Collector.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	s.expire(time.Now())
	served := map[string]int{}
	for k := range s.jobs {
		served[k.Collector] = s.series[k.Collector]
	}
	s.mu.Unlock()
	for collector, n := range served {
		ch <- prometheus.MustNewConstMetric(series, prometheus.GaugeValue, float64(n), collector)
	}
}
