package app

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

// dependants exports which alerts need the data of each collector. AvaxDataTooOld names them.
type dependants struct {
	desc    *prometheus.Desc
	metrics func() []prometheus.Metric
}

// ExportDependants registers avax_exporter_collector_info.
func ExportDependants(reg prometheus.Registerer) {
	d := &dependants{desc: prometheus.NewDesc("avax_exporter_collector_info",
		"Alerts of the built-in rules whose values come from the collector's data, separated by commas. Absent if no alert needs this data. Always 1.",
		[]string{"collector", "alerts"}, nil)}
	d.metrics = sync.OnceValue(d.read) // the rules are parsed at the first scrape, not at the start
	reg.MustRegister(d)
}

func (d *dependants) Describe(ch chan<- *prometheus.Desc) { ch <- d.desc }

func (d *dependants) Collect(ch chan<- prometheus.Metric) {
	for _, m := range d.metrics() {
		ch <- m
	}
}

func (d *dependants) read() (all []prometheus.Metric) {
	of, err := alerting.AlertsByFamily(alerts.Rules)
	if err != nil {
		panic(err) // a test parses the built-in rules
	}
	for _, c := range collectors.All() {
		var names []string
		for _, f := range c.Families {
			names = append(names, of[f.Name]...)
		}
		slices.Sort(names)
		if len(names) == 0 {
			continue
		}
		all = append(all, prometheus.MustNewConstMetric(d.desc, prometheus.GaugeValue, 1, c.Name, strings.Join(slices.Compact(names), ", ")))
	}
	return all
}
