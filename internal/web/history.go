package web

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	g "maragu.dev/gomponents"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// history reads the past of a page from the source of alerts.
type history struct {
	ctx    context.Context
	source alerting.Source // nil: no history
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
	if s, ok := h.source.(interface{ History() time.Duration }); ok {
		return max(leastHistory, s.History())
	}
	return leastHistory
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

// fine evaluates an expression over the whole history.
func (h *history) fine(expr string) model.Matrix {
	step := h.fineStep()
	return h.query(expr, step, int(h.long()/step))
}

func (h *history) fineStep() time.Duration {
	const steps = 1000
	return max(15*time.Second, h.long()/steps).Round(time.Second)
}

// episode is a time during which an alert fired.
type episode struct {
	labels     map[string]string
	began, end time.Time // end is zero if the alert still fires
}

// episodes returns when alerts of these names fired, the latest first. Times are exact to a step.
func (h *history) episodes(names []string) (all []episode) {
	step := h.fineStep()
	for _, stream := range h.fine(`max without (instance, pod) (ALERTS{alertstate="firing",severity!="none",` + among("alertname", names) + `})`) {
		labels := map[string]string{}
		for name, value := range stream.Metric {
			labels[string(name)] = string(value)
		}
		var last time.Time
		for _, v := range stream.Values {
			at := v.Timestamp.Time()
			if last.IsZero() || at.Sub(last) > step {
				all = append(all, episode{labels: labels, began: at})
			}
			last = at
			all[len(all)-1].end = at.Add(step)
		}
		if e := &all[len(all)-1]; !e.end.Before(h.now) {
			e.end = time.Time{}
		}
	}
	slices.SortFunc(all, func(a, b episode) int { return cmp.Or(b.began.Compare(a.began), strings.Compare(a.name(), b.name())) })
	return all
}

func (e episode) name() string { return e.labels["alertname"] + " " + e.labels["severity"] }

// cost returns what happened to a validator during the episode, from the histories of its downtime and of the reward that it can earn: empty
// if it had no downtime.
func (e episode) cost(downtimes, rewards model.Matrix) string {
	before, after, ok := e.change(downtimes)
	used := after - before
	if !ok || used < 60 {
		return ""
	}
	text := words.Span(time.Duration(used)*time.Second) + " of downtime"
	if before, after, ok := e.change(rewards); ok {
		text += fmt.Sprintf("; reward at risk %.0f AVAX, of which %.0f lost", before, before-after)
	}
	return text
}

// change returns the value of the episode's node or validator before the episode and at its end.
func (e episode) change(matrix model.Matrix) (before, after float64, ok bool) {
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

// episodeTable shows past alerts, and who was notified. isIts decides by labels which alerts it shows.
func (v *view) episodeTable(isIts func(label func(string) string) bool) g.Node {
	if v.past.source == nil {
		return nil
	}
	var names []string // a Prometheus may have other alerts
	for _, group := range v.Groups {
		for _, r := range group.Rules {
			if r.Type == alerting.AlertingRule {
				names = appendNew(names, r.Name)
			}
		}
	}
	all := slices.DeleteFunc(v.past.episodes(names), func(e episode) bool { return !isIts(func(name string) string { return e.labels[name] }) })
	shown := all[:min(len(all), maxRows)]
	var downtimes, rewards model.Matrix
	if len(shown) > 0 {
		downtimes, rewards = v.past.fine("avax:downtime_used_seconds"), v.past.fine("avax:reward_reachable_avax")
	}
	title := "Alerts of the last " + words.Span(v.past.long())
	if err := cmp.Or(v.err, v.past.err); err != nil {
		return section("history", title, nil, cannotRead(err, "The history cannot be read."))
	}
	return section("history", title, nil,
		g.If(len(all) == 0, dim("No alert fired.")),
		g.If(len(all) > 0, table("", title, "Alert", mapped(shown, func(e episode) tableRow {
			ended := "fires"
			if !e.end.IsZero() {
				ended = words.ClockTime(v.At, e.end) + ", after " + words.Span(e.end.Sub(e.began))
			}
			return tableRow{header: named(e.labels["alertname"], subjectOf(e.labels)), cells: []cell{
				textCell("Severity", e.labels["severity"], status.Urgency{}), textCell("Began", words.ClockTime(v.At, e.began), status.Urgency{}),
				textCell("Ended", ended, status.Urgency{}), textCell("Cost", cmp.Or(e.cost(downtimes, rewards), "–"), status.Urgency{}),
				textCell("Notified", v.notified(e), status.Urgency{}),
			}}
		}))),
		more(len(all)-len(shown), " more"))
}

// subjectOf returns the labels that say what an alert is about.
func subjectOf(labels map[string]string) string {
	var about []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if !slices.Contains([]string{"alertname", "alertstate", "severity", "job", "instance", "__name__"}, name) {
			about = append(about, name+"="+labels[name])
		}
	}
	return strings.Join(about, " ")
}

// notified returns which receivers were notified of an episode.
func (v *view) notified(e episode) string {
	if v.site.Notified == nil {
		return "–"
	}
	var names []string
	for _, n := range v.site.Notified() {
		during := !n.At.Before(e.began.Add(-time.Minute)) && (e.end.IsZero() || n.At.Before(e.end))
		if during && slices.ContainsFunc(n.Alerts, func(labels model.LabelSet) bool { return sameAlert(labels, e.labels) }) {
			names = appendNew(names, n.Receiver)
		}
	}
	if len(names) == 0 {
		return "nobody"
	}
	return strings.Join(names, ", ")
}

// sameAlert reports whether the labels of a notified alert are those of an episode, which has no label of a replica.
func sameAlert(notified model.LabelSet, episode map[string]string) bool {
	for name, value := range episode {
		if name != "alertstate" && name != "__name__" && string(notified[model.LabelName(name)]) != value {
			return false
		}
	}
	return true
}
