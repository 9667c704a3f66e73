package alerting

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

const (
	forState = "ALERTS_FOR_STATE" // of Prometheus: one sample per active alert and evaluation; its value is the start in Unix seconds
	// outage is the longest interruption after which pending alerts continue, as in Prometheus.
	outage = time.Hour
	// notified is the longest interruption after which firing alerts continue, as long as Alertmanager's log of notifications.
	notified = 120 * time.Hour
	// hold is the longest time for which an alert that fired before an interruption continues although its expression does not return it.
	hold = 4 * time.Minute
)

// interrupted is an alert that was active at the last evaluation before an interruption, or ended before.
type interrupted struct {
	labels labels.Labels
	since  time.Time // start
	seen   time.Time // last evaluation that found it active
	ended  time.Time // evaluation at which it ended; zero: it had not
	sample promql.Sample
	at     time.Time     // last evaluation that is known to have returned the sample
	found  bool          // the sample is known, which may have no labels
	kept   time.Duration // how long it was kept firing at the last evaluation, although the expression did not return the sample
	over   time.Time     // since when the expression did not return the sample; zero: the last evaluation did
}

// interruptedAlerts returns the alerts that were active at the last evaluation, and those that ended before, by the name of their rule. Prometheus
// writes a stale marker when an alert ends.
func (s *Store) interruptedAlerts(ctx context.Context, now time.Time) (map[string][]*interrupted, error) {
	q, err := s.Querier(now.Add(-notified).UnixMilli(), now.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer q.Close()
	found := map[string][]*interrupted{}
	var it chunkenc.Iterator
	set := q.Select(ctx, false, nil, labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, forState))
	for set.Next() {
		series := set.At()
		it = series.Iterator(it)
		one := &interrupted{labels: labels.NewBuilder(series.Labels()).Del(model.MetricNameLabel).Labels()}
		for it.Next() == chunkenc.ValFloat {
			if at, since := it.At(); value.IsStaleNaN(since) {
				one.ended = time.UnixMilli(at)
			} else {
				one.seen, one.since, one.ended = time.UnixMilli(at), time.Unix(int64(since), 0), time.Time{}
			}
		}
		if one.seen.IsZero() {
			continue
		}
		name := one.labels.Get(labels.AlertName)
		found[name] = append(found[name], one)
	}
	return found, set.Err()
}

// resume continues the alerts that were active before an interruption, before the first evaluation. The duration of an interruption does
// not count for a `for`. After a restart, it resolves the alerts that have ended, or whose rule is gone, if receivers still take them for firing.
// resume reports whether there are such alerts.
func (e *engine) resume(ctx context.Context, a *Alerting, now time.Time) bool {
	alerts, err := e.store.interruptedAlerts(ctx, now)
	if err != nil {
		a.log.Error("alerts not continued", "err", err)
		return false
	}
	for name, ofRule := range alerts {
		alerts[name] = slices.DeleteFunc(ofRule, func(i *interrupted) bool { return !i.ended.IsZero() && !a.owes(i) })
		if len(alerts[name]) == 0 {
			delete(alerts, name)
		}
	}
	var all []*rules.AlertingRule
	for _, g := range e.rules.RuleGroups() {
		all = append(all, g.AlertingRules()...)
	}
	claimed := map[*rules.AlertingRule][]*interrupted{}
	for _, rule := range all {
		for _, i := range alerts[rule.Name()] {
			if !i.found && e.find(ctx, rule, i, a) {
				claimed[rule] = append(claimed[rule], i)
			}
		}
	}
	e.evaluated = nil
	for _, rule := range all {
		for _, i := range alerts[rule.Name()] {
			if !i.found && within(rule.Labels(), i.labels) { // the rule has changed
				i.sample, i.at, i.found = promql.Sample{Metric: i.labels, F: math.NaN()}, i.seen, true
				claimed[rule] = append(claimed[rule], i)
			}
		}
		if len(claimed[rule]) > 0 {
			e.restore(ctx, a, rule, claimed[rule], now)
		}
	}
	for _, ofRule := range alerts {
		for _, i := range ofRule {
			if !i.found && a.owes(i) {
				a.resolve(&rules.Alert{Labels: i.labels, FiredAt: i.since, ResolvedAt: cmp.Or(i.ended, now)})
			}
		}
	}
	return len(alerts) > 0
}

// owes reports whether a receiver takes an alert from before a restart for firing.
func (a *Alerting) owes(i *interrupted) bool {
	return a.o.Notifier != nil && !a.paused.Load() && a.o.Notifier.Owes(labelSet(a.sender().withExternal(i.labels)))
}

// resolve sends that an alert has ended.
func (a *Alerting) resolve(alerts ...*rules.Alert) { a.notify()(context.Background(), "", alerts...) }

// within reports whether l has all labels of a rule that are not templates.
func within(rule, l labels.Labels) bool {
	is := true
	rule.Range(func(r labels.Label) { is = is && (l.Get(r.Name) == r.Value || strings.Contains(r.Value, "{{")) })
	return is
}

// find finds the sample of a rule's expression that caused an alert: at its last evaluation or, if the alert was kept firing or held, before.
func (e *engine) find(ctx context.Context, rule *rules.AlertingRule, i *interrupted, a *Alerting) bool {
	returned := func(back time.Duration) (sample promql.Sample, is bool) {
		sample, is = e.results(ctx, rule, i.seen.Add(-back), a)[i.labels.Hash()]
		return sample, is
	}
	for back, less := time.Duration(0), time.Duration(0); back <= outage; back, less = max(2*back, a.o.Interval), back {
		sample, ok := returned(back)
		if !ok {
			continue
		}
		i.sample, i.found, i.kept = sample, true, 0
		for back-less > a.o.Interval { // when it was last returned
			half := less + (back-less)/2
			if _, is := returned(half); is {
				back = half
			} else {
				less = half
			}
		}
		i.at = i.seen.Add(-back)
		if back > 0 {
			i.over = i.seen.Add(-less)
			if back <= rule.KeepFiringFor() {
				i.kept = back
			}
		}
		return true
	}
	return false
}

// results returns the samples of a rule's expression at a time, by the hash of the alert's labels.
func (e *engine) results(ctx context.Context, rule *rules.AlertingRule, at time.Time, a *Alerting) map[uint64]promql.Sample {
	key := ruleAt{rule, at.UnixMilli()}
	if known, ok := e.evaluated[key]; ok {
		return known
	}
	found := map[uint64]promql.Sample{}
	vector, err := e.query(rules.NewOriginContext(ctx, rules.NewRuleDetail(rule)), rule.Query().String(), at)
	if err != nil {
		a.log.Warn("rule not evaluated for a time before the interruption", "rule", rule.Name(), "err", err)
	}
	for _, sample := range vector {
		for hash := range e.alertsOf(ctx, a, rules.NewRuleDetail(rule), nil, promql.Vector{sample}, at) {
			found[hash] = sample
		}
	}
	if e.evaluated == nil {
		e.evaluated = map[ruleAt]map[uint64]promql.Sample{}
	}
	e.evaluated[key] = found
	return found
}

type ruleAt struct {
	rule *rules.AlertingRule
	ms   int64
}

// restore gives alerts to a rule, by an evaluation for the time before the interruption.
func (e *engine) restore(ctx context.Context, a *Alerting, rule *rules.AlertingRule, alerts []*interrupted, now time.Time) {
	alerts = slices.DeleteFunc(alerts, func(i *interrupted) bool {
		off := now.Sub(i.seen)
		return off < 0 || !a.paused.Load() && (off > notified || off > outage && i.ended.IsZero() && !i.firing(rule))
	})
	if len(alerts) == 0 {
		return
	}
	last := slices.MaxFunc(alerts, func(a, b *interrupted) int { return a.seen.Compare(b.seen) }).seen
	var vector promql.Vector
	byHash := map[uint64]*interrupted{}
	for _, i := range alerts {
		vector = append(vector, i.sample)
		byHash[i.labels.Hash()] = i
	}
	query := func(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
		if expr == rule.Query().String() {
			return vector, nil
		}
		return e.query(ctx, expr, at) // of a template
	}
	if _, err := rule.Eval(ctx, 0, last, query, a.link, 0); err != nil {
		a.log.Error("alerts not continued", "rule", rule.Name(), "err", err)
		return
	}
	detail := rules.NewRuleDetail(rule)
	annotations, _ := e.texts.of(keyOf(detail))
	returned := map[time.Time]promql.Vector{}
	for _, i := range alerts {
		returned[i.at] = append(returned[i.at], i.sample)
	}
	h := &holding{
		since: now, until: now.Add(min(hold, now.Sub(last))),
		samples: map[uint64]promql.Sample{}, texts: map[uint64]labels.Labels{}, absent: map[uint64]time.Time{},
	}
	for at, samples := range returned {
		maps.Copy(h.texts, e.alertsOf(ctx, a, detail, annotations, samples, at))
	}
	var over []*rules.Alert
	rule.ForEachActiveAlert(func(alert *rules.Alert) {
		i := byHash[alert.Labels.Hash()]
		if i == nil {
			return
		}
		alert.Annotations = h.texts[alert.Labels.Hash()]
		fired := i.since.Add((rule.HoldDuration() + a.o.Interval - 1).Truncate(a.o.Interval)) // at an evaluation
		off := now.Sub(i.seen)
		if !i.ended.IsZero() {
			ended := *alert
			ended.State, ended.ResolvedAt = rules.StateInactive, i.ended
			ended.FiredAt = slices.MinFunc([]time.Time{fired, i.seen}, time.Time.Compare)
			over = append(over, &ended)
			alert.State, alert.ResolvedAt = rules.StateInactive, time.Unix(0, 0) // long ago: the first evaluation forgets it
			return
		}
		if !i.firing(rule) {
			alert.State, alert.ActiveAt = rules.StatePending, i.since.Add(off)
			return
		}
		alert.State, alert.ActiveAt, alert.FiredAt = rules.StateFiring, i.since, fired
		if !i.over.IsZero() {
			h.absent[alert.Labels.Hash()] = i.over
		}
		if i.kept > 0 {
			alert.KeepFiringSince = now.Add(-i.kept)
			return
		}
		h.samples[alert.Labels.Hash()] = i.sample
	})
	a.resolve(over...)
	if len(h.samples)+len(h.absent) > 0 {
		e.holding.Store(keyOf(detail), h)
	}
}

func (i *interrupted) firing(rule *rules.AlertingRule) bool {
	return i.seen.Sub(i.since) >= rule.HoldDuration()
}

// holding are the alerts of a rule that fired before an interruption. They continue to fire, whatever its expression returns,
// for the first evaluation, so that the alerts of all rules are sent before the end of one is, and for the time that most expressions need to see again
// what they saw before: hold, but at most as long as the interruption was.
type holding struct {
	since, until time.Time
	samples      map[uint64]promql.Sample // by hash of the alert's labels
	texts        map[uint64]labels.Labels // when the expression last returned them

	mu        sync.Mutex
	evaluated bool
	absent    map[uint64]time.Time // since when the expression has not returned them, or those that were kept; none if the last evaluation did
}

// absentSince returns since when the expression of an alert's rule has not returned it, although it was held; zero if it has. h may be nil.
func (h *holding) absentSince(alert labels.Labels) time.Time {
	if h == nil {
		return time.Time{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	since := h.absent[alert.Hash()]
	if _, held := h.samples[alert.Hash()]; held && !h.evaluated {
		since = cmp.Or(since, h.since)
	}
	return since
}

// see notes which alerts an evaluation returned, and returns the samples of those that are held. Afterwards, nothing is left to see if the expression
// returned all of them, or an hour later.
func (h *holding) see(returned map[uint64]labels.Labels, at time.Time) (held promql.Vector, done bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	holds := !h.evaluated || !at.After(h.until)
	h.evaluated = true
	for hash := range returned {
		delete(h.absent, hash)
	}
	for hash, sample := range h.samples {
		if _, is := returned[hash]; is {
			continue
		}
		if h.absent[hash].IsZero() {
			h.absent[hash] = at
		}
		if holds {
			held = append(held, sample)
		}
	}
	return held, !holds && (len(h.absent) == 0 || at.After(h.until.Add(outage)))
}

// held returns the alerts of a rule that are held; nil if none are.
func (e *engine) held(rule rules.RuleDetail) *holding {
	found, _ := e.holding.Load(keyOf(rule))
	h, _ := found.(*holding)
	return h
}

// ruleKey identifies a rule.
type ruleKey struct {
	name, query string
	labels      uint64 // hash
}

func keyOf(r rules.RuleDetail) ruleKey { return ruleKey{r.Name, r.Query, r.Labels.Hash()} }

// ruleQuery returns the function with which rules are evaluated.
func (e *engine) ruleQuery(a *Alerting) rules.QueryFunc {
	return func(ctx context.Context, expr string, at time.Time) (result promql.Vector, err error) {
		rule := rules.FromOriginContext(ctx)
		if rule.Query != expr { // of a text
			return e.query(ctx, expr, at)
		}
		result, err = e.evaluateRule(ctx, rule, at)
		if err != nil {
			return result, err
		}
		if rule.Kind == rules.KindRecording {
			e.recorded(ctx, a, rule, result, at)
			return result, nil
		}
		defer func() { e.returns(ctx, a, rule, result, at) }()
		h := e.held(rule)
		if h == nil {
			return result, nil
		}
		held, done := h.see(e.alertsOf(ctx, a, rule, nil, result, at), at)
		if result = append(result, held...); done {
			e.holding.Delete(keyOf(rule))
		}
		return result, nil
	}
}

// evaluateRule evaluates the expression of a rule, if it can have a result that is not known.
func (e *engine) evaluateRule(ctx context.Context, rule rules.RuleDetail, at time.Time) (promql.Vector, error) {
	return e.store.inputs.evaluate(rule.Query, at, func(text string) (promql.Vector, error) { return e.queryRule(ctx, text, at) })
}
