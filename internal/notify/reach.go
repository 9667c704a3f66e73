package notify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	amconfig "github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/alertmanager/timeinterval"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// Routing is what decides who is notified: the routes, and which receivers have integrations.
type Routing struct {
	root *dispatch.Route
	// receivers has the kinds of the integrations of each receiver, such as telegram.
	receivers map[string][]string
	intervals *timeinterval.Intervener
}

// ParseRouting returns the routes and receivers of a configuration in Alertmanager's format. It ignores the rest, which may be that of another
// version, or have its secrets left out.
func ParseRouting(config []byte) (r Routing, err error) {
	var conf struct {
		Route     *amconfig.Route        `yaml:"route"`
		Receivers []map[string]yaml.Node `yaml:"receivers"`
		Intervals []interval             `yaml:"time_intervals"`
		Muted     []interval             `yaml:"mute_time_intervals"`
	}
	if err := yaml.Unmarshal(config, &conf); err != nil {
		return Routing{}, fmt.Errorf("routes: %w", err)
	}
	if conf.Route == nil {
		return Routing{}, fmt.Errorf("routes: the configuration has no route")
	}
	intervals := map[string][]timeinterval.TimeInterval{}
	for _, i := range append(conf.Intervals, conf.Muted...) {
		intervals[i.Name] = i.Intervals
	}
	r = Routing{dispatch.NewRoute(conf.Route, nil), map[string][]string{}, timeinterval.NewIntervener(intervals)}
	for _, fields := range conf.Receivers {
		name := fields["name"].Value
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			kind, isConfigs := strings.CutSuffix(field, "_configs")
			if list := fields[field]; isConfigs && len(list.Content) > 0 {
				r.receivers[name] = append(r.receivers[name], kind)
			}
		}
	}
	return r, nil
}

// interval is a named time interval of a configuration.
type interval struct {
	Name      string                      `yaml:"name"`
	Intervals []timeinterval.TimeInterval `yaml:"time_intervals"`
}

// RoutingOf returns the routes and receivers of a file that Check accepts.
func RoutingOf(c Config) (Routing, error) {
	text, err := c.text()
	if err != nil {
		return Routing{}, err
	}
	return ParseRouting(text)
}

// Reach says who gets the alerts of one severity.
type Reach struct {
	Severity string // value of the label; empty: the alerts without it
	// Receivers get them, as name (kind, kind), with the time intervals that limit the route.
	Receivers []string
	// Lost has the names of the alerts that reach no integration.
	Lost []string
	// Never has those of Lost that routes take, in time intervals that leave no time within a year.
	Never []string
	// Limited has the names of the alerts that reach nobody at some times, of which Quiet is the next.
	Limited []string
	Quiet   time.Time
}

// String returns a line such as page: phone (telegram), chat (slack).
func (r Reach) String() string {
	severity := cmp.Or(r.Severity, "without severity")
	switch {
	case len(r.Receivers) == 0:
		return severity + ": nobody"
	case len(r.Lost) > 0:
		return fmt.Sprintf("%s: %s; %d alerts reach nobody", severity, strings.Join(r.Receivers, ", "), len(r.Lost))
	}
	return severity + ": " + strings.Join(r.Receivers, ", ")
}

// Reached returns who gets these alerts, by severity: pages first.
func (r Routing) Reached(alerts []map[string]string) (all []Reach) {
	bySeverity, times := map[string]*Reach{}, map[string]notified{}
	for _, a := range alerts {
		of := bySeverity[a["severity"]]
		if of == nil {
			of = &Reach{Severity: a["severity"]}
			bySeverity[of.Severity] = of
		}
		var takes []dispatch.RouteOpts
		if set := LabelSet(a); !r.unintended(set) {
			for _, route := range r.root.Match(set) {
				if kinds := r.receivers[route.RouteOpts.Receiver]; len(kinds) > 0 {
					takes = append(takes, route.RouteOpts)
					of.Receivers = append(of.Receivers, receiverText(route.RouteOpts, kinds))
				}
			}
		}
		if len(takes) == 0 {
			of.Lost = append(of.Lost, a["alertname"])
			continue
		}
		var key string
		for _, o := range takes {
			key += fmt.Sprintf("%q %q;", o.ActiveTimeIntervals, o.MuteTimeIntervals)
		}
		when, known := times[key]
		if !known {
			when = r.notified(takes, time.Now())
			times[key] = when
		}
		switch {
		case when.never:
			of.Lost, of.Never = append(of.Lost, a["alertname"]), append(of.Never, a["alertname"])
		case !when.quiet.IsZero():
			of.Limited, of.Quiet = append(of.Limited, a["alertname"]), when.quiet
		}
	}
	for _, severity := range slices.SortedFunc(maps.Keys(bySeverity), compareSeverities) {
		of := bySeverity[severity]
		slices.Sort(of.Receivers)
		of.Receivers = slices.Compact(of.Receivers)
		for _, names := range []*[]string{&of.Lost, &of.Never, &of.Limited} {
			slices.Sort(*names)
			*names = slices.Compact(*names)
		}
		all = append(all, *of)
	}
	return all
}

// notified says when routes notify.
type notified struct {
	never bool
	quiet time.Time // the next time at which none does; zero if there is none
}

// notified asks each five minutes of a year whether a route notifies. A gap that is shorter is none.
func (r Routing) notified(routes []dispatch.RouteOpts, now time.Time) (n notified) {
	mutes := func(names []string, at time.Time) bool {
		within, _, err := r.intervals.Mutes(names, at)
		return within && err == nil
	}
	if slices.ContainsFunc(routes, func(o dispatch.RouteOpts) bool { return !limited(o) }) {
		return n
	}
	const step = 5 * time.Minute
	n.never = true
	for at := now.UTC().Truncate(step); at.Before(now.AddDate(1, 0, 0)) && (n.never || n.quiet.IsZero()); at = at.Add(step) {
		if slices.ContainsFunc(routes, func(o dispatch.RouteOpts) bool {
			return (len(o.ActiveTimeIntervals) == 0 || mutes(o.ActiveTimeIntervals, at)) && !mutes(o.MuteTimeIntervals, at)
		}) {
			n.never = false
		} else if n.quiet.IsZero() {
			n.quiet = at
		}
	}
	return n
}

// limited reports whether a route has time intervals.
func limited(o dispatch.RouteOpts) bool {
	return len(o.ActiveTimeIntervals)+len(o.MuteTimeIntervals) > 0
}

func receiverText(o dispatch.RouteOpts, kinds []string) string {
	parts := kinds
	if len(o.ActiveTimeIntervals) > 0 {
		parts = append(slices.Clone(parts), "only in "+strings.Join(o.ActiveTimeIntervals, ", "))
	}
	if len(o.MuteTimeIntervals) > 0 {
		parts = append(slices.Clone(parts), "not in "+strings.Join(o.MuteTimeIntervals, ", "))
	}
	return o.Receiver + " (" + strings.Join(parts, ", ") + ")"
}

// severities are those of the built-in rules, the worst first.
var severities = []string{"page", "warn", "info", "none"}

func compareSeverities(a, b string) int {
	rank := func(severity string) int {
		if i := slices.Index(severities, severity); i >= 0 {
			return i
		}
		return len(severities)
	}
	return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
}

// Unmatched returns the values of the label severity that routes ask for, and that no alert has.
func (r Routing) Unmatched(alerts []map[string]string) (values []string) {
	r.root.Walk(func(route *dispatch.Route) {
		for _, m := range route.Matchers {
			if m.Name != "severity" || m.Type != labels.MatchEqual && m.Type != labels.MatchRegexp {
				continue
			}
			if !slices.ContainsFunc(alerts, func(a map[string]string) bool { return m.Matches(a["severity"]) }) {
				values = append(values, m.Value)
			}
		}
	})
	slices.Sort(values)
	return slices.Compact(values)
}

// unintended reports whether an alert that always fires reaches people only because no route on its way asks for it. Such an alert is for a dead
// man's switch, and its notifications would never end.
func (r Routing) unintended(set model.LabelSet) bool {
	if set["severity"] != "none" || set["digest"] != "" {
		return false
	}
	var others []model.LabelSet
	for _, severity := range severities[:len(severities)-1] {
		other := set.Clone()
		other["alertname"], other["severity"] = "AvaxNodeDown", model.LabelValue(severity)
		others = append(others, other)
	}
	return !askedFor(r.root, set, others, false)
}

// askedFor reports whether a route that takes an alert, or one on the way to it, takes none of the other alerts. It goes the way of dispatch.Route.Match.
func askedFor(route *dispatch.Route, set model.LabelSet, others []model.LabelSet, before bool) bool {
	asks := before || !slices.ContainsFunc(others, func(other model.LabelSet) bool { return route.Matchers.Matches(other) })
	last := true
	for _, child := range route.Routes {
		if !child.Matchers.Matches(set) {
			continue
		}
		if last = false; askedFor(child, set, others, asks) {
			return true
		}
		if !child.Continue {
			break
		}
	}
	return last && asks
}
