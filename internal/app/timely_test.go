package app_test

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// builtIn are the built-in rules, as the API has them.
var builtIn = sync.OnceValue(func() (groups []alerting.Group) {
	parsed, _ := rulefmt.Parse(alerts.Rules, false, model.UTF8Validation, testworld.PromQL, slog.New(slog.DiscardHandler))
	for _, g := range parsed.Groups {
		var rules []alerting.Rule
		for _, r := range g.Rules {
			one := alerting.Rule{Name: r.Record + r.Alert, Query: r.Expr, Type: alerting.AlertingRule, Labels: r.Labels, Annotations: r.Annotations,
				KeepFiringFor: alerting.Seconds(time.Duration(r.KeepFiringFor).Seconds())}
			if r.Record != "" {
				one.Type = alerting.RecordingRule
			}
			rules = append(rules, one)
		}
		groups = append(groups, alerting.Group{Name: g.Name, Rules: rules})
	}
	return groups
})

// rulesOf returns the built-in rules whose alert this may be.
func rulesOf(labels map[string]string) (rules []alerting.Rule) {
	for _, g := range builtIn() {
		for _, r := range g.Rules {
			of := maps.Clone(r.Labels)
			maps.DeleteFunc(of, func(name, value string) bool { return labels[name] == value })
			if r.Type == alerting.AlertingRule && r.Name == labels["alertname"] && len(of) == 0 {
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// seesFor is for how long alerts look at a fault, or at its end, beyond what their rules say.
var seesFor = map[string]time.Duration{
	"AvaxDataTooOld":          20 * time.Minute, // a cause may stop a collector later, and a call that was refused for long is made again after a pause
	"AvaxDowntimeBudgetLow":   2 * time.Minute,  // several nodes must have reported
	"AvaxMetricsServiceDown":  10 * time.Minute, // the period of its only collector
	"AvaxNodeContradicted":    15 * time.Minute,
	"AvaxNodeSlow":            7 * time.Minute, // the average of this time
	"AvaxUpstreamForbidden":   5 * time.Minute, // without a refusal
	"AvaxUpstreamRateLimited": 5 * time.Minute,
}

// isTimely checks that an alert says within a period of its collectors when the fault began, and never a time before the last probe; and that it ends within
// this time, and the time for which its rule keeps it.
func (o outcome) isTimely(t *testing.T, e *episode) {
	t.Helper()
	const (
		probe  = 15 * time.Second
		others = time.Minute                       // others than the node report too
		found  = 2*30*time.Second + 15*time.Second // two evaluations of the rules, and a scrape
	)
	late, kept := time.Duration(0), time.Duration(0)
	for _, r := range rulesOf(e.labels) {
		if r.Annotations["forecast"] != "" {
			return // the loss is to come
		}
		kept = max(kept, r.KeepFiringFor.Duration())
		for _, family := range alerting.ValueFamilies(builtIn(), r.Query) {
			late = max(late, periodOf(family))
		}
	}
	late += seesFor[e.labels["alertname"]] + others + found
	begins := append([]time.Duration{0}, o.later...)
	since := e.since.Sub(o.at)
	if !slices.ContainsFunc(begins, func(begin time.Duration) bool { return since >= begin-probe && since-begin <= late }) {
		t.Errorf("since %v, want within %v of %v: %s", since, late, begins, e)
	}
	news := e.labels["noticed"] != "" || e.labels["severity"] == "info"
	if after := e.ended.Sub(o.recovered); o.end != nil && !e.fires() && !news && after > late+kept {
		t.Errorf("ends %v after the fault, want within %v: %s", after, late+kept, e)
	}
}

// periodOf returns the period of the collector of a family. The exporter's own families tell what a probe found, once a minute at least.
func periodOf(family string) time.Duration {
	if spec, _ := collectors.Find(family); spec != nil {
		return spec.Period(collector.Validators{})
	}
	return time.Minute
}
