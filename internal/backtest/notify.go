package backtest

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/alertmanager/config"
	amcommon "github.com/prometheus/alertmanager/config/common"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/inhibit"
	"github.com/prometheus/common/model"
)

// Notification is one message that Alertmanager would have sent.
type Notification struct {
	At       time.Time
	Receiver string
	Group    string // labels of the group
	Severity string // highest severity of the firing alerts
	Firing   []int  // positions of the incidents in Result.Incidents
}

// Notify adds the notifications that an Alertmanager with this configuration would have sent, and how long each incident was
// inhibited. Silences, time intervals and messages that only report resolved alerts do not count.
func (r *Result) Notify(c *config.Config) {
	muted := r.inhibited(c.InhibitRules)
	root := dispatch.NewRoute(c.Route, nil)
	groups := map[string]*group{}
	for i := range r.Incidents {
		set := r.Incidents[i].labelSet()
		for _, route := range root.Match(set) {
			labels := model.LabelSet{}
			for name, v := range set {
				if _, by := route.RouteOpts.GroupBy[name]; by || route.RouteOpts.GroupByAll {
					labels[name] = v
				}
			}
			key := route.Key() + labels.String()
			if groups[key] == nil {
				groups[key] = &group{route: route, labels: labels.String()}
			}
			groups[key].incidents = append(groups[key].incidents, i)
		}
		r.Incidents[i].Inhibited = length(muted[i])
	}
	r.Notifications = nil
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		r.Notifications = append(r.Notifications, groups[key].notifications(r, muted)...)
	}
	slices.SortStableFunc(r.Notifications, func(a, b Notification) int { return a.At.Compare(b.At) })
}

// group is a group of alerts of one route.
type group struct {
	route     *dispatch.Route
	labels    string
	incidents []int // in the order in which they fired
}

// notifications follows Alertmanager's dispatcher: the first message after group_wait, then a look every group_interval, which sends
// if an alert began to fire since the last message or repeat_interval has passed. A group without firing alerts ends.
func (g *group) notifications(r *Result, muted map[int][]span) (sent []Notification) {
	o := g.route.RouteOpts
	told := map[int]bool{}
	var at, last time.Time
	for next := 0; ; {
		firing, active := []int{}, false
		for _, i := range g.incidents {
			incident := r.Incidents[i]
			if !at.IsZero() && !incident.Fired.After(at) && (incident.Resolved.IsZero() || incident.Resolved.After(at)) {
				active = true
				if !slices.ContainsFunc(muted[i], func(m span) bool { return m.contains(at) }) {
					firing = append(firing, i)
				}
			}
		}
		news := slices.ContainsFunc(firing, func(i int) bool { return !told[i] })
		if len(firing) > 0 && (news || at.Sub(last) >= o.RepeatInterval) {
			sent = append(sent, Notification{At: at, Receiver: o.Receiver, Group: g.labels, Firing: firing, Severity: severity(r, firing)})
			last = at
			told = map[int]bool{}
			for _, i := range firing {
				told[i] = true
			}
		}
		if active && at.Before(r.To) {
			at = at.Add(o.GroupInterval)
			continue
		}
		// The group has ended. It begins again with the next incident.
		for next < len(g.incidents) && !at.IsZero() && !r.Incidents[g.incidents[next]].Fired.After(at) {
			next++
		}
		if next == len(g.incidents) || !at.IsZero() && !at.Before(r.To) {
			return sent
		}
		at, told = r.Incidents[g.incidents[next]].Fired.Add(o.GroupWait), map[int]bool{}
		next++
	}
}

// severity returns the highest severity of incidents.
func severity(r *Result, incidents []int) (highest string) {
	for _, s := range []string{"info", "warn", "page"} {
		if slices.ContainsFunc(incidents, func(i int) bool { return r.Incidents[i].Severity() == s }) {
			highest = s
		}
	}
	return highest
}

// span is a time in which an incident was inhibited.
type span struct{ from, to time.Time }

func (s span) contains(t time.Time) bool { return !t.Before(s.from) && t.Before(s.to) }

// inhibited returns when each incident was inhibited by another, by position.
func (r *Result) inhibited(configured []amcommon.InhibitRule) map[int][]span {
	muted := map[int][]span{}
	sets := make([]model.LabelSet, len(r.Incidents))
	for i := range sets {
		sets[i] = r.Incidents[i].labelSet()
	}
	for _, c := range configured {
		rule := inhibit.NewInhibitRule(c)
		for i, effect := range r.Incidents {
			if !rule.TargetMatchers.Matches(sets[i]) {
				continue
			}
			bothSides := rule.SourceMatchers.Matches(sets[i])
			for j, cause := range r.Incidents {
				from, to := later(effect.Fired, cause.Fired), earlier(effect.end(r), cause.end(r))
				if i == j || !from.Before(to) || !rule.SourceMatchers.Matches(sets[j]) || bothSides && rule.TargetMatchers.Matches(sets[j]) {
					continue
				}
				equal := true
				for name := range rule.Equal {
					equal = equal && sets[i][name] == sets[j][name]
				}
				if equal {
					muted[i] = append(muted[i], span{from, to})
				}
			}
		}
	}
	return muted
}

// length returns the total length of spans that may overlap.
func length(spans []span) (total time.Duration) {
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var until time.Time
	for _, s := range spans {
		if from := later(s.from, until); from.Before(s.to) {
			total += s.to.Sub(from)
			until = s.to
		}
	}
	return total
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// end returns when the incident ended, or the end of the range.
func (i Incident) end(r *Result) time.Time {
	if i.Resolved.IsZero() {
		return r.To
	}
	return i.Resolved
}

// Severity returns the label severity.
func (i Incident) Severity() string { return i.Labels.Get("severity") }

func (i Incident) labelSet() model.LabelSet {
	set := model.LabelSet{}
	for name, v := range i.Labels.Map() {
		set[model.LabelName(name)] = model.LabelValue(v)
	}
	return set
}
