package snapshot

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// Gather returns what may be served now in client_golang's own terms, for a
// scraper that asks for protobuf.
func (s *Store) Gather() ([]*dto.MetricFamily, error) {
	var out []*dto.MetricFamily
	for _, f := range s.families(time.Now()) {
		mf := &dto.MetricFamily{Name: proto.String(f.Name), Help: proto.String(f.Help), Type: dto.MetricType_GAUGE.Enum()}
		for _, c := range f.chunks {
			for _, sample := range c.Samples() {
				m := &dto.Metric{Gauge: &dto.Gauge{Value: proto.Float64(sample.Value)}}
				for i, name := range f.Labels {
					m.Label = append(m.Label, &dto.LabelPair{Name: proto.String(name), Value: proto.String(sample.Labels[i])})
				}
				mf.Metric = append(mf.Metric, m)
			}
		}
		out = append(out, mf)
	}
	return out, nil
}

var (
	success = prometheus.NewDesc("avax_exporter_collector_success",
		"1 if the collector's last run for this target succeeded, 0 if it failed; absent until the first run has ended.",
		[]string{"collector", "target"}, nil)
	duration = prometheus.NewDesc("avax_exporter_collector_duration_seconds",
		"How long the collector's last run for this target took.",
		[]string{"collector", "target"}, nil)
	lastSuccess = prometheus.NewDesc("avax_exporter_collector_last_success_timestamp_seconds",
		"When the collector's last successful run for this target began; absent until there was one.",
		[]string{"collector", "target"}, nil)
	series = prometheus.NewDesc("avax_exporter_series",
		"Series that the collector serves at this moment, over all its targets.",
		[]string{"collector"}, nil)
)

// Describe implements prometheus.Collector: the store tells how its jobs fare.
func (s *Store) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{success, duration, lastSuccess, series} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	now := time.Now()
	served := map[string]int{}
	for _, j := range s.Jobs() {
		ok := 0.0
		if j.Last.Err == nil {
			ok = 1
		}
		gauge(success, ok, j.Last.Collector, j.Last.Target)
		gauge(duration, j.Last.Took.Seconds(), j.Last.Collector, j.Last.Target)
		if !j.Good.At.IsZero() {
			gauge(lastSuccess, float64(j.Good.At.UnixMilli())/1e3, j.Last.Collector, j.Last.Target)
		}
		served[j.Last.Collector] += 0
		for _, c := range j.Fresh(now) {
			served[j.Last.Collector] += c.Series
		}
	}
	for collector, n := range served {
		gauge(series, float64(n), collector)
	}
}
