package alerting

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// leftovers are the rules that an engine has not evaluated yet. Prometheus ends a series that a rule returned at the evaluation before, but knows
// nothing of the time before its start: what was recorded then would be valid for Lookback, and rules that read it would renew it. So what the first
// evaluation does not renew ends there.
type leftovers struct {
	from    time.Time // start of the engine: older samples are from before
	scraped bool      // whether the series of scrapes have ended

	mu        sync.Mutex
	evaluated map[string]map[ruleKey]bool // whether a rule was evaluated, by the name of its record or alert
}

func newLeftovers(from time.Time, groups []*rules.Group) *leftovers {
	l := &leftovers{from: from, evaluated: map[string]map[ruleKey]bool{}}
	for _, g := range groups {
		for _, r := range g.Rules() {
			if l.evaluated[r.Name()] == nil {
				l.evaluated[r.Name()] = map[ruleKey]bool{}
			}
			l.evaluated[r.Name()][keyOf(rules.NewRuleDetail(r))] = false
		}
	}
	return l
}

// last notes that a rule was evaluated. It reports whether it was the last rule of its name to be evaluated for the first time.
func (l *leftovers) last(rule rules.RuleDetail) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ofName := l.evaluated[rule.Name]
	if ofName == nil {
		return false
	}
	delete(ofName, keyOf(rule))
	if len(ofName) > 0 {
		return false
	}
	delete(l.evaluated, rule.Name)
	return true
}

// waits reports whether a rule of this name was not evaluated yet.
func (l *leftovers) waits(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.evaluated[name] != nil
}

// recorded ends the series with the name of a recording rule that the first evaluation of all rules of this name has not renewed. result is that of
// the rule, which is not stored yet.
func (e *engine) recorded(ctx context.Context, a *Alerting, rule rules.RuleDetail, result promql.Vector, at time.Time) {
	if !e.leftovers.last(rule) {
		return
	}
	renewed := make(map[uint64]bool, len(result))
	b := labels.NewBuilder(labels.EmptyLabels())
	for _, sample := range result {
		b.Reset(sample.Metric)
		b.Set(model.MetricNameLabel, rule.Name)
		rule.Labels.Range(func(l labels.Label) { b.Set(l.Name, l.Value) })
		renewed[b.Labels().Hash()] = true
	}
	e.end(ctx, a, at, func(l labels.Labels) bool { return renewed[l.Hash()] }, labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, rule.Name))
}

// alerted ends the series about alerts that the first evaluation of a group has not renewed.
func (e *engine) alerted(ctx context.Context, a *Alerting, g *rules.Group, at time.Time) {
	for _, rule := range g.AlertingRules() {
		if rule.LastError() == nil && e.leftovers.last(rules.NewRuleDetail(rule)) {
			e.end(ctx, a, at, nil, labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, "ALERTS|"+forState),
				labels.MustNewMatcher(labels.MatchEqual, labels.AlertName, rule.Name()))
		}
	}
}

// scrapedBefore ends the series of scrapes that no scrape of the engine has renewed, and the records of which there is no rule, as soon as each collector has
// run: one that has not may renew its series later. A collector that was ready is not after the discovery of a chain.
func (e *engine) scrapedBefore(ctx context.Context, a *Alerting) {
	if e.leftovers.scraped || a.o.Ready != nil && !a.o.Ready(a.since()) {
		return
	}
	e.leftovers.scraped = true
	e.end(ctx, a, time.Now(), func(l labels.Labels) bool {
		name := l.Get(model.MetricNameLabel)
		return name == "ALERTS" || name == forState || e.leftovers.waits(name)
	}, labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".+"))
}

// renewMemories adds the last samples of records that look back on themselves again, so that their ranges find them. They remember, such as when a node
// went down, but only for as long as they look back, seven minutes at least. After a longer interruption, an outage would start again. The samples are too old
// for selectors without a range, which read the record of the first evaluation.
func (e *engine) renewMemories(ctx context.Context, a *Alerting) {
	names := e.memories()
	if len(names) == 0 {
		return
	}
	at := time.Now().Add(-Lookback - 30*time.Second).UnixMilli()
	q, err := e.store.Querier(at-notified.Milliseconds(), math.MaxInt64)
	if err != nil {
		a.log.Error("records not continued", "err", err)
		return
	}
	defer q.Close()
	app := e.store.Appender(ctx)
	var it chunkenc.Iterator
	set := q.Select(ctx, false, nil, labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, strings.Join(names, "|")))
	for set.Next() {
		it = set.At().Iterator(it)
		last, v := int64(math.MaxInt64), 0.0
		for it.Next() == chunkenc.ValFloat {
			last, v = it.At()
		}
		if last < at && !value.IsStaleNaN(v) {
			_, failed := app.Append(0, set.At().Labels(), at, v)
			err = errors.Join(err, failed)
		}
	}
	if err = errors.Join(err, set.Err(), app.Commit()); err != nil {
		a.log.Error("records not continued", "err", err)
	}
}

// memories returns the names of the records whose expression has a range of themselves.
func (e *engine) memories() (names []string) {
	for _, g := range e.rules.RuleGroups() {
		for _, r := range g.Rules() {
			parser.Inspect(r.Query().(written).Expr, func(n parser.Node, _ []parser.Node) error {
				if m, is := n.(*parser.MatrixSelector); is && m.VectorSelector.(*parser.VectorSelector).Name == r.Name() {
					names = append(names, r.Name())
				}
				return nil
			})
		}
	}
	return names
}

// end ends the selected series whose last sample is from before the engine's start, unless keep returns true: it adds a stale marker.
func (e *engine) end(ctx context.Context, a *Alerting, at time.Time, keep func(labels.Labels) bool, selected ...*labels.Matcher) {
	q, err := e.store.Querier(at.Add(-Lookback).UnixMilli(), at.UnixMilli())
	if err != nil {
		a.log.Error("old samples not ended", "err", err)
		return
	}
	defer q.Close()
	var old []labels.Labels
	var it chunkenc.Iterator
	set := q.Select(ctx, false, nil, selected...)
	for set.Next() {
		it = set.At().Iterator(it)
		last, live := int64(math.MinInt64), false
		for it.Next() == chunkenc.ValFloat {
			t, v := it.At()
			last, live = t, !value.IsStaleNaN(v)
		}
		if l := set.At().Labels(); live && last < e.leftovers.from.UnixMilli() && (keep == nil || !keep(l)) {
			old = append(old, l)
		}
	}
	app := e.store.Appender(ctx)
	err = set.Err()
	for _, l := range old {
		if _, failed := app.Append(0, l, at.UnixMilli(), math.Float64frombits(value.StaleNaN)); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	if err = errors.Join(err, app.Commit()); err != nil {
		a.log.Error("old samples not ended", "err", err)
	}
}
