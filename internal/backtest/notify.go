package backtest

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/notify"
)

// Notification is one message that Alertmanager would have sent.
type Notification struct {
	At       time.Time `json:"at"`
	Receiver string    `json:"receiver"`
	Group    string    `json:"group"`     // labels of the group
	Severity string    `json:"severity"`  // highest severity of the firing alerts
	Firing   []int     `json:"incidents"` // positions in Result.Incidents
}

// Notify adds the notifications that an Alertmanager with this configuration would have sent in the range, and how long each incident was
// inhibited in it. Silences, time intervals and messages that only report resolved alerts do not count.
func (r *Result) Notify(c *config.Config) {
	muted := r.inhibited(notify.InhibitionOf(c))
	root := dispatch.NewRoute(c.Route, nil)
	groups := map[string]*group{}
	for i := range r.Incidents {
		set := notify.LabelSet(r.Incidents[i].Labels.Map())
		for _, route := range root.Match(set) {
			labels := model.LabelSet{}
			for name, v := range set {
				if _, by := route.RouteOpts.GroupBy[name]; by || route.RouteOpts.GroupByAll {
					labels[name] = v
				}
			}
			key := route.Key() + labels.String()
			if groups[key] == nil {
				groups[key] = &group{route: route, labels: labels.String(), alerts: map[int]string{}}
			}
			groups[key].incidents = append(groups[key].incidents, i)
			groups[key].alerts[i] = r.Incidents[i].Labels.String()
		}
		r.Incidents[i].Inhibited = 0
		for _, m := range muted[i] {
			r.Incidents[i].Inhibited += max(0, m.to.Sub(later(m.from, r.From)))
		}
	}
	r.Notifications = []Notification{}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		r.Notifications = append(r.Notifications, groups[key].notifications(r, muted)...)
	}
	slices.SortStableFunc(r.Notifications, func(a, b Notification) int { return a.At.Compare(b.At) })
}

// group is a group of alerts of one route.
type group struct {
	route     *dispatch.Route
	labels    string
	incidents []int          // in the order in which they fired
	alerts    map[int]string // labels, by incident
}

// notifications follows Alertmanager's dispatcher: the first message after group_wait, then a look every group_interval, which sends
// if an alert began to fire since the last message or repeat_interval has passed. An alert that ended and fires again between two looks is no
// news. A group without firing alerts ends.
func (g *group) notifications(r *Result, muted map[int][]span) (sent []Notification) {
	o := g.route.RouteOpts
	told := map[string]bool{} // labels of the alerts in the last message that have fired at each look since
	var at, last time.Time
	for next := 0; ; {
		firing, active := []int{}, map[string]bool{}
		for _, i := range g.incidents {
			incident := r.Incidents[i]
			if !at.IsZero() && !incident.Fired.After(at) && (incident.Resolved.IsZero() || incident.Resolved.After(at)) {
				active[g.alerts[i]] = true
				if !slices.ContainsFunc(muted[i], func(m span) bool { return m.contains(at) }) {
					firing = append(firing, i)
				}
			}
		}
		maps.DeleteFunc(told, func(alert string, _ bool) bool { return !active[alert] })
		news := slices.ContainsFunc(firing, func(i int) bool { return !told[g.alerts[i]] })
		if len(firing) > 0 && (news || at.Sub(last) >= o.RepeatInterval) {
			if !at.Before(r.From) {
				sent = append(sent, Notification{At: at, Receiver: o.Receiver, Group: g.labels, Firing: firing, Severity: severity(r, firing)})
			}
			last = at
			told = map[string]bool{}
			for _, i := range firing {
				told[g.alerts[i]] = true
			}
		}
		if len(active) > 0 && at.Before(r.To) {
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
		at, told = r.Incidents[g.incidents[next]].Fired.Add(o.GroupWait), map[string]bool{}
		next++
	}
}

// none is the severity of an alert that is no problem, such as AvaxWatchdog.
const none = "none"

// severity returns the highest severity of incidents.
func severity(r *Result, incidents []int) (highest string) {
	for _, s := range []string{none, "info", "warn", "page"} {
		if slices.ContainsFunc(incidents, func(i int) bool { return r.Incidents[i].Severity() == s }) {
			highest = s
		}
	}
	return highest
}

// span is a time in which an incident was inhibited.
type span struct{ from, to time.Time }

func (s span) contains(t time.Time) bool { return !t.Before(s.from) && t.Before(s.to) }

// inhibited returns when each incident was inhibited by another, by position: between any two changes, the inhibitor is asked once.
func (r *Result) inhibited(by notify.Inhibition) map[int][]span {
	var changes []time.Time
	for _, i := range r.Incidents {
		changes = append(changes, i.Fired, i.end(r))
	}
	slices.SortFunc(changes, time.Time.Compare)
	changes = slices.CompactFunc(changes, time.Time.Equal)
	muted := map[int][]span{}
	for k := range max(0, len(changes)-1) {
		during := span{changes[k], changes[k+1]}
		var active []map[string]string
		var positions []int
		for i, incident := range r.Incidents {
			if (span{incident.Fired, incident.end(r)}).contains(during.from) {
				active, positions = append(active, incident.Labels.Map()), append(positions, i)
			}
		}
		for i, inhibitor := range by.Inhibitors(active) {
			if inhibitor >= 0 {
				muted[positions[i]] = append(muted[positions[i]], during)
			}
		}
	}
	return muted
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// during returns how long the incident lasted in the range.
func (i Incident) during(r *Result) time.Duration {
	return max(0, i.end(r).Sub(later(i.Fired, r.From)))
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
