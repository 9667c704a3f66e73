package web

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// history reads the past of a page from the source of alerts.
type history struct {
	ctx    context.Context
	source *bounded // nil: no history
	now    time.Time
	err    error // of the query that failed: no further one is made
}

// stripHistory is the length of a strip, or less if the source keeps less.
const (
	stripHistory = 2 * time.Hour
	leastHistory = 10 * time.Minute
)

// long returns how long the source keeps samples.
func (h *history) long() time.Duration {
	if h.source == nil {
		return leastHistory
	}
	return max(leastHistory, h.source.History())
}

// step returns the length of each of this number of steps of a strip.
func (h *history) step(steps int) time.Duration {
	return (min(stripHistory, h.long()) / time.Duration(steps)).Round(time.Second)
}

// query evaluates an expression at the ends of this number of steps until now.
func (h *history) query(expr string, step time.Duration, steps int) model.Matrix {
	if h.source == nil || h.err != nil {
		return nil
	}
	matrix, err := h.source.QueryRange(h.ctx, expr, h.now.Add(-step*time.Duration(steps-1)), h.now, step)
	if err != nil {
		h.err = err
	}
	return matrix
}

// eachStep calls do with the values of a series, and with the number of their step: the last one is at the time end.
func eachStep(s *model.SampleStream, end time.Time, step time.Duration, steps int, do func(i int, value float64)) {
	for _, v := range s.Values {
		if i := steps - 1 - int(end.Sub(v.Timestamp.Time())/step); i >= 0 && i < steps {
			do(i, float64(v.Value))
		}
	}
}

// fine evaluates an expression over the whole history.
func (h *history) fine(expr string) model.Matrix {
	step := h.fineStep()
	return h.query(expr, step, int(h.long()/step))
}

func (h *history) fineStep() time.Duration {
	const steps = 1000
	return max(15*time.Second, h.long()/steps).Round(time.Second)
}

// firingPeriod is a time during which an alert fired.
type firingPeriod struct {
	labels     map[string]string // of the worst tier
	tiers      []firingPeriod    // the rules of the alert that fired, each from its own begin; empty for one of them
	began, end time.Time         // end is zero if the alert still fires
	chains     []string          // for which the alert stood when it fired, without a label of each
	over       time.Time         // when the fault was over, as it was noted then, which is exact; zero if it was not
}

// daysOfAlerts returns for how many days the past alerts are known.
func (h *history) daysOfAlerts() int {
	if _, own := h.source.quarter(); own {
		return int(alerting.QuarterHistory / (24 * time.Hour))
	}
	return weekDays
}

// old returns the samples of a series that are older than the history: one at each WeekStep. expr is the same for a Prometheus, which has more of them.
func (h *history) old(series, expr string) model.Matrix {
	source, own := h.source.quarter()
	if !own {
		return h.week(expr)
	}
	if h.err != nil {
		return nil
	}
	value, err := source.Query(h.ctx, fmt.Sprintf("%s[%dd]", series, h.daysOfAlerts()), h.now)
	matrix, _ := value.(model.Matrix)
	h.err = err
	for _, stream := range matrix {
		delete(stream.Metric, model.MetricNameLabel)
	}
	return matrix
}

// firingPeriods returns when alerts of these names fired in the last 90 days, the latest first; a Prometheus is asked for a week. Their begin is exact. Their
// end is exact to a step of the history, or to WeekStep if it is older than the history.
func (h *history) firingPeriods(names []string) (all []firingPeriod) {
	matcher := among("alertname", names)
	begins, fires := `ALERTS_FOR_STATE{severity!="none",`+matcher+`}`, `ALERTS{alertstate="firing",severity!="none",`+matcher+`}`
	merged := func(series string) string { return "max without (instance, pod) (" + series + ")" }
	all = h.firingPeriodsIn(h.fine(merged(begins)), h.fine(merged(fires)), h.fineStep())
	known := map[string][]firingPeriod{} // by labels
	for _, e := range all {
		known[fmt.Sprint(e.labels)] = append(known[fmt.Sprint(e.labels)], e)
	}
	for _, e := range h.firingPeriodsIn(h.old(begins, merged(begins)), h.old(fires, merged(fires)), alerting.WeekStep) {
		again := func(o firingPeriod) bool { return !e.end.Before(o.began) && (o.end.IsZero() || !o.end.Before(e.began)) }
		if !e.end.IsZero() && !slices.ContainsFunc(known[fmt.Sprint(e.labels)], again) {
			all = append(all, e)
		}
	}
	all = h.outages(all)
	slices.SortFunc(all, func(a, b firingPeriod) int {
		return cmp.Or(b.began.Compare(a.began), strings.Compare(a.name(), b.name()))
	})
	return all
}

// outages joins what fired about the same in one outage: the tiers of an alert. An outage begins with the first sign of the fault.
func (h *history) outages(tiers []firingPeriod) (all []firingPeriod) {
	slices.SortStableFunc(tiers, func(a, b firingPeriod) int { return a.began.Compare(b.began) })
	const signs = "avax:fault_since_timestamp_seconds"
	var found model.Matrix
	var kept []alerting.Moment
	if len(tiers) > 0 {
		found, kept = append(h.fine(signs), h.old(signs, signs)...), h.source.moments()
	}
	last := map[string]int{} // by subject
	for _, e := range tiers {
		e.over, e.chains = e.noted(kept), e.stoodFor(kept)
		e.tiers, e.began = []firingPeriod{e}, e.firstSign(found, kept)
		subject := maps.Clone(e.labels)
		for _, tier := range []string{"severity", "within"} {
			delete(subject, tier)
		}
		key := fmt.Sprint(subject)
		if i, has := last[key]; has && (all[i].end.IsZero() || !all[i].end.Before(e.tiers[0].began)) {
			all[i].join(e)
			continue
		}
		last[key], all = len(all), append(all, e)
	}
	return all
}

// join adds another tier of the same outage.
func (e *firingPeriod) join(o firingPeriod) {
	if status.SeverityOf(o.labels) > status.SeverityOf(e.labels) {
		e.labels = o.labels
	}
	if o.began.Before(e.began) {
		e.began = o.began
	}
	e.chains = status.AppendNew(e.chains, o.chains...)
	if o.end.IsZero() || !e.end.IsZero() && o.end.After(e.end) {
		e.end = o.end
	}
	e.tiers = append(e.tiers, o.tiers...)
}

// firstSign returns when the fault began of which an alert has fired: as the alert said when it fired, or as recorded for its node, or for one of all nodes
// that went down before.
func (e *firingPeriod) firstSign(signs model.Matrix, kept []alerting.Moment) time.Time {
	const together = 10 * time.Minute
	began := e.began
	for _, m := range kept {
		if !m.Ended && e.covers(m.At) && !m.Since.IsZero() && m.Since.Before(began) && sameAlert(notify.LabelSet(m.Labels), e.labels) {
			began = m.Since
		}
	}
	for _, stream := range signs {
		if node, one := e.labels["node"]; string(stream.Metric["alert"]) != e.labels["alertname"] || one && string(stream.Metric["node"]) != node {
			continue
		}
		for _, v := range stream.Values {
			if at := words.UnixTime(float64(v.Value)); e.covers(v.Timestamp.Time()) && at.Before(began) && (e.labels["node"] != "" || e.began.Sub(at) < together) {
				began = at
			}
		}
	}
	return began
}

// stoodFor returns the chains for which the alert stood when it fired.
func (e *firingPeriod) stoodFor(kept []alerting.Moment) (chains []string) {
	for _, m := range kept {
		if !m.Ended && e.covers(m.At) && sameAlert(notify.LabelSet(m.Labels), e.labels) {
			chains = status.AppendNew(chains, m.Chains...)
		}
	}
	return chains
}

// covers reports whether the alert fired at a time.
func (e *firingPeriod) covers(at time.Time) bool {
	return !at.Before(e.began) && (e.end.IsZero() || at.Before(e.end))
}

// noted returns when it was noted that the fault was over; zero if it was not.
func (e *firingPeriod) noted(kept []alerting.Moment) (over time.Time) {
	for _, m := range kept { // oldest first
		if m.At.After(e.began) && m.At.Before(e.end.Add(time.Minute)) && sameAlert(notify.LabelSet(m.Labels), e.labels) {
			if over = (time.Time{}); m.Ended {
				over = m.At
			}
		}
	}
	return over
}

func (h *history) firingPeriodsIn(since, firing model.Matrix, step time.Duration) (all []firingPeriod) {
	begins := map[string]model.SampleStream{}
	for _, stream := range since {
		delete(stream.Metric, model.MetricNameLabel)
		begins[stream.Metric.String()] = *stream
	}
	for _, stream := range firing {
		labels := map[string]string{}
		for name, value := range stream.Metric {
			labels[string(name)] = string(value)
		}
		var last time.Time
		for _, v := range stream.Values {
			at := v.Timestamp.Time()
			if last.IsZero() || at.Sub(last) > step {
				all = append(all, firingPeriod{labels: labels, began: beginOf(begins, stream.Metric, at)})
			}
			last = at
			all[len(all)-1].end = at.Add(step)
		}
		if e := &all[len(all)-1]; !e.end.Before(h.now) {
			e.end = time.Time{}
		}
	}
	return all
}

// beginOf returns since when the expression of an alert was true that fires at a time: the value of ALERTS_FOR_STATE. If it is not known, it is this time.
func beginOf(begins map[string]model.SampleStream, alert model.Metric, at time.Time) time.Time {
	labels := alert.Clone()
	delete(labels, model.MetricNameLabel)
	delete(labels, "alertstate")
	for _, v := range begins[labels.String()].Values {
		if v.Timestamp.Time().Equal(at) {
			return words.UnixTime(float64(v.Value))
		}
	}
	return at
}

func (e firingPeriod) name() string { return e.labels["alertname"] + " " + e.labels["severity"] }

// cost returns what happened to a validator during the firing period, from the histories of its downtime and of the reward that it can earn: empty
// if it had no downtime.
func (e firingPeriod) cost(downtimes, rewards model.Matrix) string {
	before, after, ok := e.change(downtimes)
	used := after - before
	if !ok || used < 60 {
		return ""
	}
	text := words.Span(time.Duration(used)*time.Second) + " of the downtime budget used"
	if before, after, ok := e.change(rewards); ok {
		lost := "none of it lost"
		if before-after >= 0.5 {
			lost = words.AVAX(before-after) + " of it lost"
		}
		text += "; reward at risk " + words.AVAX(before) + ", " + lost
	}
	return text
}

// change returns the value of the firing period's node or validator before the firing period and at its end.
func (e firingPeriod) change(matrix model.Matrix) (before, after float64, ok bool) {
	for _, stream := range matrix {
		for _, name := range []model.LabelName{"node", "node_id"} {
			if it := e.labels[string(name)]; it == "" || it != string(stream.Metric[name]) {
				continue
			}
			for i, v := range stream.Values {
				if at := v.Timestamp.Time(); i == 0 || at.Before(e.began) {
					before = float64(v.Value)
				} else if !e.end.IsZero() && at.After(e.end) {
					break
				}
				after = float64(v.Value)
			}
			return before, after, len(stream.Values) > 0 && stream.Values[0].Timestamp.Time().Before(e.began)
		}
	}
	return 0, 0, false
}

// ofFiringPeriods returns an expression for the series of the nodes and validators of these firing periods.
func ofFiringPeriods(family string, periods []firingPeriod) string {
	var of []string
	for _, label := range []string{"node", "node_id"} {
		var values []string
		for _, e := range periods {
			values = append(values, e.labels[label])
		}
		slices.Sort(values)
		values = slices.Compact(values)
		of = append(of, family+"{"+label+`!="",`+among(label, values)+"}")
	}
	return strings.Join(of, " or ")
}

// perPage is the number of past alerts on a page.
const perPage = 50

// firingTable shows past alerts, and who was notified. isIts decides by labels which alerts it shows. name is that of the page's subject; empty on the
// alerts page, which has all of them: 50 at a time, and with a filter.
func (v *view) firingTable(name string, isIts func(label func(string) string) bool) g.Node {
	if v.past.source == nil {
		return nil
	}
	var names []string // a Prometheus may have other alerts
	for _, group := range v.Groups {
		for _, r := range group.Rules {
			if r.Type == alerting.AlertingRule {
				names = status.AppendNew(names, r.Name)
			}
		}
	}
	every := v.past.firingPeriods(names)
	filter := v.query.Get("past")
	all := slices.DeleteFunc(slices.Clone(every), func(e firingPeriod) bool {
		return !isIts(func(name string) string { return e.labels[name] }) && !slices.Contains(e.chains, name) ||
			!strings.Contains(strings.Join([]string{e.labels["alertname"], subjectOf(e.labels), e.labels["severity"],
				v.NameOf(e.labels["node_id"], e.labels["validation_id"])}, " "), filter)
	})
	pages := max(1, (len(all)+perPage-1)/perPage)
	page, err := strconv.Atoi(v.query.Get("page"))
	if err != nil || page < 1 || page > pages {
		page = 1
	}
	shown := all[(page-1)*perPage : min(len(all), page*perPage)]
	var downtimes, rewards, oldDowntimes, oldRewards model.Matrix
	if len(shown) > 0 {
		downtime, reward := ofFiringPeriods("avax:downtime_used_seconds", shown), ofFiringPeriods("avax:reward_reachable_avax", shown)
		downtimes, rewards = v.past.fine(downtime), v.past.fine(reward)
		oldDowntimes, oldRewards = v.past.week(downtime), v.past.week(reward)
	}
	title := fmt.Sprintf("Alerts of the last %d days", v.past.daysOfAlerts())
	if err := cmp.Or(v.alertsErr, v.past.err); err != nil {
		return section("history", title, nil, cannotRead(err, "The history cannot be read."))
	}
	return section("history", title, nil,
		g.If(name == "" && (len(every) > perPage || filter != ""), h.Form(h.Class("silence"), h.Method("get"), h.Action("#history"),
			h.Label(g.Text("Alert, node, L1 or severity contains "), h.Input(h.Name("past"), h.Value(filter))), h.Button(g.Text("Filter")))),
		g.If(len(all) == 0, dim("No alert fired.")),
		g.If(len(all) > 0, table("", title, "Alert", mapped(shown, func(e firingPeriod) tableRow {
			ended := "still fires"
			if !e.end.IsZero() {
				over := v.overAt(e)
				ended = words.ClockTime(v.At, over) + ", after " + words.Span(over.Sub(e.began))
			}
			who, summary := v.notified(e, every)
			header := g.Group{h.B(g.Text(e.labels["alertname"])), g.Text(" "), shortSubject(e.labels), g.If(summary != "", h.Span(titled(summary)))}
			return tableRow{header: header, cells: []cell{
				textCell("Severity", e.labels["severity"], status.Urgency{}), textCell("Began", words.ClockTime(v.At, e.began), status.Urgency{}),
				textCell("Ended", ended, status.Urgency{}), textCell("Cost", cmp.Or(e.cost(downtimes, rewards), e.cost(oldDowntimes, oldRewards), "–"), status.Urgency{}),
				textCell("Notified", who, status.Urgency{}),
			}}
		}))),
		g.Iff(pages > 1, func() g.Node { return v.pagesOfHistory(name, page, pages, len(all), filter) }))
}

// pagesOfHistory links to the other pages of the history. The page of a node or L1 links to the alerts page.
func (v *view) pagesOfHistory(name string, page, pages, n int, filter string) g.Node {
	to := func(page int, filter, text string) g.Node {
		return v.link("alerts?"+url.Values{"past": {filter}, "page": {strconv.Itoa(page)}}.Encode()+"#history", text)
	}
	if name != "" {
		return h.P(h.Class("dim"), g.Text("and "+words.Number(n-perPage)+" more: "), to(2, name, "older alerts of "+name))
	}
	return h.P(h.Class("dim"), g.Text(fmt.Sprintf("Page %d of %d, %s. ", page, pages, words.Plural(n, "alert", "alerts"))),
		g.If(page > 1, g.Group{to(page-1, filter, "Newer"), g.Text(" ")}), g.If(page < pages, to(page+1, filter, "Older")))
}

// subjectOf returns the labels that say what an alert is about.
func subjectOf(labels map[string]string) string { return strings.Join(subjectLabels(labels), " ") }

// subjectLabels returns the labels that say what an alert is about, as name=value.
func subjectLabels(labels map[string]string) (about []string) {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if !slices.Contains([]string{"alertname", "alertstate", "severity", "job", "instance", "__name__"}, name) {
			about = append(about, name+"="+labels[name])
		}
	}
	return about
}

// shortSubject is subjectOf with short IDs, one label in a line.
func shortSubject(labels map[string]string) g.Node {
	return g.Group(mapped(subjectLabels(labels), func(pair string) g.Node {
		name, value, _ := strings.Cut(pair, "=")
		return h.Code(g.Text(name+"="), shortID(value), g.Text(" "))
	}))
}

// notified returns which receivers were notified of a firing period, and its summary. If nobody was, it says which other firing period suppressed it.
func (v *view) notified(e firingPeriod, all []firingPeriod) (who, summary string) {
	for _, a := range v.All {
		if e.end.IsZero() && sameAlert(notify.LabelSet(a.Labels), e.labels) {
			summary = v.titleOf(a)
		}
	}
	var names []string
	if v.site.Notified == nil {
		return "–", summary
	}
	sent := v.site.Notified()
	for _, n := range sent {
		during := !n.At.Before(e.began.Add(-time.Minute)) && (e.end.IsZero() || n.At.Before(e.end))
		if i := slices.IndexFunc(n.Alerts, e.has); during && i >= 0 {
			names = status.AppendNew(names, n.Receiver)
			if summary == "" && i < len(n.Summaries) {
				summary = n.Summaries[i]
			}
		}
	}
	switch by := v.suppressor(e, all); {
	case len(names) > 0:
		return strings.Join(names, ", "), summary
	case by != "":
		return "nobody: suppressed by " + by, summary
	case e.end.IsZero() && v.silenced(e.labels) != "":
		return "nobody: " + v.silenced(e.labels), summary
	case e.end.IsZero() && v.At.Sub(v.firedAt(e)) < 2*time.Minute:
		return "nobody yet", summary
	case len(sent) > 0 && !e.end.IsZero() && e.end.Before(sent[0].At):
		return "not known", summary // only the last messages are kept
	}
	return "nobody", summary
}

// has reports whether the labels of a notified alert are those of a tier.
func (e *firingPeriod) has(notified model.LabelSet) bool {
	return slices.ContainsFunc(e.tiers, func(tier firingPeriod) bool { return sameAlert(notified, tier.labels) })
}

// suppressor returns the name of the alert that suppressed a firing period when it fired; empty if there is none.
func (v *view) suppressor(e firingPeriod, all []firingPeriod) string {
	during, fired := []map[string]string{e.labels}, v.firedAt(e)
	for _, other := range all {
		if !v.firedAt(other).After(fired.Add(time.Minute)) && (other.end.IsZero() || other.end.After(fired)) && !maps.Equal(other.labels, e.labels) {
			during = append(during, other.labels)
		}
	}
	if by := v.inhibition.Inhibitors(during)[0]; by >= 0 {
		return during[by]["alertname"]
	}
	return ""
}

// firedAt returns when the alert of a firing period began to fire: its expression must be true for the time of its rule.
func (v *view) firedAt(e firingPeriod) (first time.Time) {
	for _, tier := range append(e.tiers, firingPeriod{labels: e.labels, began: cmp.Or(e.end, v.At)}) {
		at := tier.began
		if r := v.ruleOf(tier.labels); r != nil {
			at = at.Add(r.For.Duration())
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// overAt returns when the fault of a firing period that has ended was over: the alert may have fired longer, by the keep_firing_for of its rule.
func (v *view) overAt(e firingPeriod) (last time.Time) {
	tiers := e.tiers
	if len(tiers) == 0 {
		tiers = []firingPeriod{e}
	}
	for _, tier := range tiers {
		at := cmp.Or(tier.over, tier.end)
		if r := v.ruleOf(tier.labels); r != nil && tier.over.IsZero() && at.Add(-r.KeepFiringFor.Duration()).After(e.began) {
			at = at.Add(-r.KeepFiringFor.Duration())
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// ruleOf returns the rule of an alert with these labels; nil if there is none any more.
func (v *view) ruleOf(labels map[string]string) *alerting.Rule {
	for _, group := range v.Groups {
		for i := range group.Rules {
			r := &group.Rules[i]
			same := func(name string) bool { return r.Labels[name] == labels[name] }
			if r.Name == labels["alertname"] && same("severity") && same("within") && same("scope") {
				return r
			}
		}
	}
	return nil
}

// sameAlert reports whether the labels of a notified alert are those of a firing period, which has no label of a replica.
func sameAlert(notified model.LabelSet, fired map[string]string) bool {
	for name, value := range fired {
		if name != "alertstate" && name != "__name__" && string(notified[model.LabelName(name)]) != value {
			return false
		}
	}
	return true
}
