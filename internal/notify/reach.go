package notify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	amconfig "github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// Routing is what decides who is notified: the routes, and which receivers have integrations.
type Routing struct {
	root *dispatch.Route
	// receivers has the kinds of the integrations of each receiver, such as telegram.
	receivers map[string][]string
}

// ParseRouting returns the routes and receivers of a configuration in Alertmanager's format. It ignores the rest, which may be that of another
// version, or have its secrets left out.
func ParseRouting(config []byte) (r Routing, err error) {
	var conf struct {
		Route     *amconfig.Route        `yaml:"route"`
		Receivers []map[string]yaml.Node `yaml:"receivers"`
	}
	if err := yaml.Unmarshal(config, &conf); err != nil {
		return Routing{}, fmt.Errorf("routes: %w", err)
	}
	if conf.Route == nil {
		return Routing{}, fmt.Errorf("routes: the configuration has no route")
	}
	r = Routing{dispatch.NewRoute(conf.Route, nil), map[string][]string{}}
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
	// Limited has the names of the alerts whose routes all have time intervals.
	Limited []string
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
	bySeverity := map[string]*Reach{}
	for _, a := range alerts {
		of := bySeverity[a["severity"]]
		if of == nil {
			of = &Reach{Severity: a["severity"]}
			bySeverity[of.Severity] = of
		}
		got, always := false, false
		if set := LabelSet(a); !r.unintended(set) {
			for _, route := range r.root.Match(set) {
				if kinds := r.receivers[route.RouteOpts.Receiver]; len(kinds) > 0 {
					got = true
					always = always || len(route.RouteOpts.ActiveTimeIntervals)+len(route.RouteOpts.MuteTimeIntervals) == 0
					of.Receivers = append(of.Receivers, receiverText(route.RouteOpts, kinds))
				}
			}
		}
		switch {
		case !got:
			of.Lost = append(of.Lost, a["alertname"])
		case !always:
			of.Limited = append(of.Limited, a["alertname"])
		}
	}
	for _, severity := range slices.SortedFunc(maps.Keys(bySeverity), compareSeverities) {
		of := bySeverity[severity]
		slices.Sort(of.Receivers)
		of.Receivers = slices.Compact(of.Receivers)
		for _, names := range []*[]string{&of.Lost, &of.Limited} {
			slices.Sort(*names)
			*names = slices.Compact(*names)
		}
		all = append(all, *of)
	}
	return all
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
