package alerting

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/internal/logs"
)

// texts are the annotations of the rules. The rule manager gets the rules without them: it would expand those of each active alert at each evaluation.
// They are expanded when an alert is sent or shown, for the last evaluation that returned the alert, so the result is that of Prometheus.
type texts struct {
	mu          sync.Mutex
	annotations map[ruleKey]map[string]string
	last        map[ruleKey]*returned
}

// returned is the result of the last evaluation of an alerting rule.
type returned struct {
	annotations map[string]string
	samples     promql.Vector
	at          time.Time

	mu       sync.Mutex
	expanded map[uint64]labels.Labels // by hash of the alert's labels
}

// evaluating is a group that is evaluated, and the rule of it that is.
type evaluating struct {
	group *rules.Group
	rule  rules.RuleDetail
}

type evaluatingKey struct{}

// use sets the annotations of the rules. The alerts of rules that are gone keep theirs until the next call.
func (t *texts) use(annotations map[ruleKey]map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.last, func(rule ruleKey, _ *returned) bool { return t.annotations[rule] == nil })
	t.annotations = annotations
}

func (t *texts) of(rule ruleKey) (annotations map[string]string, last *returned) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.annotations[rule], t.last[rule]
}

// returns notes the result of an alerting rule. The alerts that it does not return any more keep their texts.
func (e *engine) returns(ctx context.Context, a *Alerting, rule rules.RuleDetail, samples promql.Vector, at time.Time) {
	now := ctx.Value(evaluatingKey{}).(*evaluating)
	now.rule = rule
	key := keyOf(rule)
	annotations, last := e.texts.of(key)
	if last != nil && !last.continues(rule, samples) {
		for _, r := range now.group.AlertingRules() {
			if keyOf(rules.NewRuleDetail(r)) == key {
				e.keepTexts(a, r)
			}
		}
	}
	e.texts.mu.Lock()
	defer e.texts.mu.Unlock()
	delete(e.texts.last, key)
	if len(samples) > 0 { // the rule changes what it gets
		e.texts.last[key] = &returned{annotations: annotations, samples: slices.Clone(samples), at: at, expanded: map[uint64]labels.Labels{}}
	}
}

// continues reports whether the rule makes the same alerts of other samples.
func (r *returned) continues(rule rules.RuleDetail, samples promql.Vector) bool {
	return !strings.Contains(rule.Labels.String(), "{{") &&
		slices.EqualFunc(r.samples, samples, func(a, b promql.Sample) bool { return labels.Equal(a.Metric, b.Metric) })
}

// keepTexts stores the texts of a rule's alerts in the rule.
func (e *engine) keepTexts(a *Alerting, r *rules.AlertingRule) {
	kept := map[uint64]labels.Labels{}
	for _, alert := range e.active(a, r) {
		kept[alert.Labels.Hash()] = alert.Annotations
	}
	r.ForEachActiveAlert(func(alert *rules.Alert) {
		if text, is := kept[alert.Labels.Hash()]; is {
			alert.Annotations = text
		}
	})
}

// active returns the active alerts of a rule, with their texts.
func (e *engine) active(a *Alerting, r *rules.AlertingRule) []*rules.Alert {
	alerts := r.ActiveAlerts()
	e.expand(a, rules.NewRuleDetail(r), alerts)
	return alerts
}

// expand sets the annotations of alerts that the last evaluation of their rule has returned. Others keep theirs, also those that are held.
func (e *engine) expand(a *Alerting, rule rules.RuleDetail, alerts []*rules.Alert) {
	e.expandReturned(a, rule, alerts)
	h := e.held(rule)
	for _, alert := range alerts {
		if !h.absentSince(alert.Labels).IsZero() {
			alert.Annotations = h.texts[alert.Labels.Hash()]
		}
	}
}

func (e *engine) expandReturned(a *Alerting, rule rules.RuleDetail, alerts []*rules.Alert) {
	if len(alerts) == 0 {
		return
	}
	_, last := e.texts.of(keyOf(rule))
	if last == nil {
		return
	}
	last.mu.Lock()
	defer last.mu.Unlock()
	added := []string{labels.AlertName} // labels that are not those of the sample
	rule.Labels.Range(func(l labels.Label) { added = append(added, l.Name) })
	slices.Sort(added)
	wanted := map[uint64]bool{}
	for _, alert := range alerts {
		if _, known := last.expanded[alert.Labels.Hash()]; !known {
			hash, _ := alert.Labels.HashWithoutLabels(nil, added...)
			wanted[hash] = true
		}
	}
	var samples promql.Vector
	for _, s := range last.samples {
		if hash, _ := s.Metric.HashWithoutLabels(nil, added...); wanted[hash] {
			samples = append(samples, s)
		}
	}
	if len(samples) > 0 {
		maps.Copy(last.expanded, e.alertsOf(context.Background(), a, rule, last.annotations, samples, last.at))
	}
	for _, alert := range alerts {
		if text, is := last.expanded[alert.Labels.Hash()]; is {
			alert.Annotations = text
		}
	}
}

// alertsOf returns the texts of the alerts that a rule makes of samples at a time, by the hash of their labels.
func (e *engine) alertsOf(ctx context.Context, a *Alerting, rule rules.RuleDetail, annotations map[string]string, samples promql.Vector, at time.Time,
) map[uint64]labels.Labels {
	one := rules.NewAlertingRule(rule.Name, written{text: rule.Query}, 0, 0, rule.Labels, labels.FromMap(annotations), a.external, a.o.URL, false,
		logs.AtLeast(slog.LevelError, a.log))
	query := func(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
		if expr == rule.Query {
			return samples, nil
		}
		return e.query(ctx, expr, at) // of a template
	}
	if _, err := one.Eval(ctx, 0, at, query, a.link, 0); err != nil {
		return nil
	}
	all := map[uint64]labels.Labels{}
	for _, alert := range one.ActiveAlerts() {
		all[alert.Labels.Hash()] = alert.Annotations
	}
	return all
}
