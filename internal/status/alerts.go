package status

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Severity is the urgency of an alert. Its text is a CSS class of the page.
type Severity int

const (
	off  Severity = iota // no urgency
	Well                 // no problem
	Note
	Warn
	Bad
)

func (l Severity) String() string { return [...]string{"off", "well", "note", "warn", "bad"}[l] }

// severities are the severities by value of the label severity. With off, an alert is not a problem, such as the alert
// that always fires.
var severities = map[string]Severity{
	"page": Bad, "critical": Bad, "warn": Warn, "warning": Warn, "ticket": Warn, "info": Note, "note": Note, "none": off,
}

// SeverityOf returns the severity for the label severity. An unknown severity counts as a warning.
func SeverityOf(labels map[string]string) Severity {
	if l, known := severities[labels["severity"]]; known {
		return l
	}
	return Warn
}

// Active is a firing or pending alert.
type Active struct {
	alerting.Alert
	Rule         *alerting.Rule
	Severity     Severity
	Firing       bool
	Order        order
	SuppressedBy *Active // alert that suppresses this alert
	// Deadline is when the loss begins that the alert forecasts; zero if the alert is about the present.
	Deadline     time.Time
	Acknowledged bool // it has fired for a day or longer, or is silenced

	ranked Severity // by which alerts are sorted, and colored until they fire; see rank

	incident int // see incidents

	chains []string // for which it stands, as its rule says

	do string // what to do instead of the action of the rule: see fact.alone

	left     time.Time // since when the samples of its node deny it, which the rules have not found yet; zero if they do not
	returned bool      // it is kept, and the newest samples say that its cause has returned
}

// order is the first key of the order of alerts.
type order int

const (
	OrderCause    order = iota // a node does not answer: other alerts may be its effects
	orderNoAnswer              // other alerts about this node
	orderOther
	orderKept // the cause is over
)

const (
	// knownAfter is how long an alert fires until it no longer leads: those who read the page know it.
	knownAfter = 24 * time.Hour
	// together is the maximum time between the beginnings of two alerts of one incident.
	together = 10 * time.Minute
)

// A rule says in the annotation forecast that its value is the time of a loss to come, or the time until then.
const (
	forecast   = "forecast"
	forecastAt = "at"
	forecastIn = "in"
)

// deadline returns the time of the loss that an alert forecasts; zero if the alert is about the present, or the time is past.
func deadline(r *alerting.Rule, value float64, now time.Time) (at time.Time) {
	switch kind := r.Annotations[forecast]; {
	case kind == forecastAt:
		at = words.UnixTime(value)
	case kind == forecastIn && value < math.MaxInt64/1e9:
		at = now.Add(time.Duration(value * float64(time.Second)))
	}
	if !at.After(now) {
		return time.Time{}
	}
	return at
}

// Kept reports whether the alert only fires because of keep_firing_for: its cause is over.
func (a *Active) Kept() bool { return !a.KeepFiringSince.IsZero() && !a.returned }

// Over reports whether the cause of the alert is over.
func (a *Active) Over() bool { return a.Kept() || !a.left.IsZero() }

// OverSince returns since when the cause is over.
func (a *Active) OverSince() time.Time {
	switch {
	case a.Kept() && !a.HeldSince.IsZero():
		return a.HeldSince
	case a.Kept():
		return a.KeepFiringSince
	}
	return a.left
}

// Ends reports whether the alert is over, or is a pending effect of one that is over: the rules have not evaluated it since.
func (a *Active) Ends() bool { return a.Over() || !a.Firing && a.Root().Over() }

// Urgency returns the color of the alert. An alert whose cause is over is no problem, and is not green: it may return.
func (a *Active) Urgency() Urgency {
	if a.Ends() {
		return Urgency{Severity: Note}
	}
	if !a.Firing {
		return Urgency{a.ranked, true}
	}
	return Urgency{Severity: a.Severity}
}

// ShowsTime reports whether the summary shows the deadline as a time, not as what is left until then.
func (a *Active) ShowsTime() bool { return a.Rule.Annotations[forecast] == forecastAt }

// Since returns the time of the first sign of the fault: that in the annotation since, else when the expression became true.
func (a *Active) Since() time.Time { return alerts.SinceOf(a.Annotations[alerts.Since], a.ActiveAt) }

// Fires returns when a pending alert will fire if its expression stays true.
func (a *Active) Fires() time.Time { return a.ActiveAt.Add(a.Rule.For.Duration()) }

// Action returns the first action that the alert recommends. There is none if its cause is over.
func (a *Active) Action() string {
	if a.Over() {
		return ""
	}
	if do := cmp.Or(a.do, a.Annotations["action"]); do != "" {
		return do
	}
	text := strings.TrimSpace(a.Annotations["description"])
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}

// Root returns the alert that suppresses the alert and is not suppressed itself: the alert itself if none suppresses it.
func (a *Active) Root() *Active {
	for a.SuppressedBy != nil {
		a = a.SuppressedBy
	}
	return a
}

// StandsFor reports whether the alert is about a chain that it names without a label: about several chains at once.
func (a *Active) StandsFor(chain string) bool { return slices.Contains(a.chains, chain) }

// Whole returns the alert that says the same of several chains at once, if one suppresses the alert; else the alert itself.
func (a *Active) Whole() *Active {
	if root := a.Root(); root.Rule.Name == a.Rule.Name && len(root.chains) > 0 {
		return root
	}
	return a
}

// shown reports whether the page shows the alert by itself. It shows a suppressed alert only by its name. A firing alert that
// a pending one of the same name suppresses is shown too, because it is notified.
func (a *Active) shown() bool {
	root := a.Root()
	return root == a || a.Firing && !root.Firing && a.Rule.Name == root.Rule.Name
}

// suppressesItself reports whether the alerts that suppress the alert form a circle.
func (a *Active) suppressesItself() bool {
	seen := map[*Active]bool{}
	for by := a.SuppressedBy; by != nil && !seen[by]; by = by.SuppressedBy {
		seen[by] = true
	}
	return seen[a]
}

// Problem holds the alerts of one name that are shown, worst first.
type Problem struct {
	Name       string
	Alerts     []*Active
	Suppressed []*Active
}

func (p *Problem) Worst() *Active { return p.Alerts[0] }

// From returns the problem with this alert before the others, if it is one of its alerts.
func (p *Problem) From(first *Active) *Problem {
	at := slices.Index(p.Alerts, first)
	if at <= 0 {
		return p
	}
	from := *p
	from.Alerts = slices.Concat(p.Alerts[at:at+1], p.Alerts[:at], p.Alerts[at+1:])
	return &from
}

// Alerts is the evaluation of the rules.
type Alerts struct {
	Groups    []alerting.Group
	Problems  []*Problem // worst first
	All       []*Active  // with the suppressed ones, worst first
	Evaluated bool       // whether at least one rule was evaluated
	Broken    []alerting.Rule
	Firing    int
	Pending   int
	Over      int // of which the cause is over

	byLabel  map[[2]string][]*Active
	families map[*alerting.Rule]string // the first family from which the value of a rule is computed
	recorded alerting.Recordings       // of Groups
}

// class compares what costs more first: by order, then by severity, then what is new before what is known for a day, the present before a
// forecast, firing before pending (their names sort so), and what will page before what will warn.
func class(a, b *Active) int {
	return cmp.Or(
		cmp.Compare(a.Order, b.Order), cmp.Compare(b.ranked, a.ranked), later(a.Acknowledged, b.Acknowledged),
		later(!a.Deadline.IsZero(), !b.Deadline.IsZero()),
		strings.Compare(a.State, b.State), cmp.Compare(b.Severity, a.Severity),
	)
}

func later(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// compare sorts by class. In a class, the newest incident comes first, and in an incident its first alert. The nearest forecast comes first.
func compare(a, b *Active) int {
	return cmp.Or(
		class(a, b), a.Deadline.Compare(b.Deadline), cmp.Compare(b.incident, a.incident), a.ActiveAt.Compare(b.ActiveAt),
		strings.Compare(a.Annotations["summary"], b.Annotations["summary"]),
	)
}

// sortAlerts sorts by what costs most now.
func sortAlerts(all []*Active, now time.Time) {
	rank(all, now)
	slices.SortStableFunc(all, func(a, b *Active) int { return cmp.Or(class(a, b), a.ActiveAt.Compare(b.ActiveAt)) })
	for i, a := range all { // alerts of a class that began within ten minutes of each other are one incident
		if i > 0 {
			a.incident = all[i-1].incident
			if class(all[i-1], a) != 0 || a.ActiveAt.Sub(all[i-1].ActiveAt) > together {
				a.incident++
			}
		}
	}
	slices.SortStableFunc(all, compare)
}

// rank ranks a present loss as high as a forecast about the same subject: the forecast does not lead while its subject already loses. What is pending ranks
// as a warning until soon before it fires.
func rank(all []*Active, now time.Time) {
	forecasts := map[[2]string]Severity{}
	subjects := func(a *Active, do func(subject [2]string)) {
		for _, name := range []string{"chain", "node", "node_id", "validation_id"} {
			if value := a.Labels[name]; value != "" {
				do([2]string{name, value})
			}
		}
	}
	for _, a := range all {
		if a.ranked = a.Severity; !a.Deadline.IsZero() {
			subjects(a, func(s [2]string) { forecasts[s] = max(forecasts[s], a.Severity) })
		}
	}
	for _, a := range all {
		if a.Firing && a.Severity == Warn && a.Deadline.IsZero() && !a.Acknowledged {
			subjects(a, func(s [2]string) { a.ranked = max(a.ranked, forecasts[s]) })
		}
		if !a.Firing && a.Fires().Sub(now) > soon {
			a.ranked = min(a.ranked, Warn)
		}
	}
}

// AlertsOf groups the active alerts by name. The inhibition decides which alerts suppress which. A pending alert suppresses as it will when
// it fires, so that the page shows a cause before its effects. notAnswering are the nodes that do not answer. silenced reports whether a person has silenced an
// alert with these labels: it is known then.
func AlertsOf(groups []alerting.Group, inhibition notify.Inhibition, notAnswering []string, silenced ...func(labels map[string]string) bool) *Alerts {
	al := &Alerts{Groups: groups, byLabel: map[[2]string][]*Active{}, families: map[*alerting.Rule]string{}, recorded: alerting.RecordingsOf(groups)}
	now := evaluatedAt(groups)
	for _, g := range groups {
		al.Evaluated = al.Evaluated || !g.Evaluated.IsZero()
		for i := range g.Rules {
			r := &g.Rules[i]
			if r.LastError != "" {
				al.Broken = append(al.Broken, *r)
			}
			for _, one := range r.Alerts {
				if a := al.activeOf(r, one, now, notAnswering, silenced); a.Severity != off {
					al.All = append(al.All, a)
				}
			}
		}
	}
	for _, a := range al.All {
		for name, value := range a.Labels {
			al.byLabel[[2]string{name, value}] = append(al.byLabel[[2]string{name, value}], a)
		}
		for _, chain := range a.chains {
			if chain != a.Labels["chain"] {
				al.byLabel[[2]string{"chain", chain}] = append(al.byLabel[[2]string{"chain", chain}], a)
			}
		}
		for _, node := range notify.NodesOf(func(name string) string { return a.Labels[name] }) {
			al.byLabel[[2]string{ofNode, node}] = append(al.byLabel[[2]string{ofNode, node}], a)
		}
	}
	suppress(al.All, inhibition, now)
	sortAlerts(al.All, now)
	al.group()
	return al
}

// activeOf returns an alert with its place in the order.
func (al *Alerts) activeOf(r *alerting.Rule, one alerting.Alert, now time.Time, notAnswering []string, silenced []func(map[string]string) bool) *Active {
	a := &Active{
		Alert: one, Rule: r, Severity: SeverityOf(one.Labels), Firing: one.State == alerting.Firing, Deadline: deadline(r, float64(one.Value), now),
		chains: slices.Compact(strings.Fields(one.Annotations[alerts.Chains])),
	}
	a.Acknowledged = a.Firing && now.Sub(a.Fires()) >= knownAfter ||
		slices.ContainsFunc(silenced, func(is func(map[string]string) bool) bool { return is(a.Labels) })
	node, has := a.Labels["node"]
	about := slices.Contains(notAnswering, node)
	switch {
	case a.Kept():
		a.Order = orderKept
	case a.Acknowledged:
		a.Order = orderOther
	case len(notAnswering) > 0 && (about || !has) && al.reads(a, nodeUp.Family):
		a.Order = OrderCause
	case about:
		a.Order = orderNoAnswer
	default:
		a.Order = orderOther
	}
	return a
}

// suppress sets which alert suppresses each one; none for alerts that suppress each other, and none that fires only long after people hear of the effect.
func suppress(all []*Active, inhibition notify.Inhibition, now time.Time) {
	late := inhibit(all, inhibition, now)
	if len(late) > 0 { // what they would suppress may have another cause
		inhibit(slices.DeleteFunc(slices.Clone(all), func(a *Active) bool { return slices.Contains(late, a) }), inhibition, now)
	}
	var mutual []*Active
	for _, a := range all {
		if a.suppressesItself() {
			mutual = append(mutual, a)
		}
	}
	for _, a := range mutual {
		a.SuppressedBy = nil
	}
}

// inhibit sets which of some alerts suppresses each of them, and returns those that fire only long after people hear of the effect.
func inhibit(some []*Active, inhibition notify.Inhibition, now time.Time) (late []*Active) {
	labels := make([]map[string]string, len(some))
	for i, a := range some {
		labels[i] = a.Labels
	}
	for i, by := range inhibition.Inhibitors(labels) {
		if by < 0 {
			continue
		}
		heard := now
		if at := some[i].Fires(); at.After(now) {
			heard = at
		}
		if cause := some[by]; cause.Firing || cause.Fires().Sub(heard) <= soon {
			some[i].SuppressedBy = cause
		} else {
			late = append(late, cause)
		}
	}
	return late
}

// count counts the alerts that are shown.
func (al *Alerts) count() {
	al.Firing, al.Pending, al.Over = 0, 0, 0
	for _, a := range al.All {
		switch {
		case !a.shown():
		case a.Over():
			al.Over++
		case a.Firing:
			al.Firing++
		default:
			al.Pending++
		}
	}
}

// group counts the alerts that are shown, and makes a problem of those with one name.
func (al *Alerts) group() {
	al.count()
	al.Problems = nil
	byName := map[string]*Problem{}
	for _, a := range al.All {
		if !a.shown() {
			continue
		}
		p := byName[a.Rule.Name]
		if p == nil {
			p = &Problem{Name: a.Rule.Name}
			byName[p.Name] = p
			al.Problems = append(al.Problems, p)
		}
		p.Alerts = append(p.Alerts, a)
	}
	for _, a := range al.All {
		if root := a.Root(); root.Rule.Name != a.Rule.Name {
			p := byName[root.Rule.Name]
			p.Suppressed = append(p.Suppressed, a)
		}
	}
}

// AboutBalance reports whether the value of an alert comes from the balances of an L1's validators.
func (al *Alerts) AboutBalance(a *Active) bool {
	return slices.ContainsFunc([]family{l1ValidatorActive, l1ValidatorBalance, l1ValidatorRunway, l1QuorumLoss},
		func(f family) bool { return al.reads(a, f.Family) })
}

// evaluatedAt returns the time of the last evaluation; now if none is known.
func evaluatedAt(groups []alerting.Group) (last time.Time) {
	for _, g := range groups {
		if g.Evaluated.After(last) {
			last = g.Evaluated
		}
	}
	if last.IsZero() {
		return time.Now()
	}
	return last
}

// With returns the problems with the accepted alerts, and the number of the other alerts that are not suppressed.
func (al *Alerts) With(accepted func(*Active) bool) (problems []*Problem, others int) {
	other := func(a *Active) bool { return !accepted(a) }
	for _, p := range al.Problems {
		alerts := slices.DeleteFunc(slices.Clone(p.Alerts), other)
		others += len(p.Alerts) - len(alerts)
		if len(alerts) > 0 {
			problems = append(problems, &Problem{p.Name, alerts, slices.DeleteFunc(slices.Clone(p.Suppressed), other)})
		}
	}
	return problems, others
}

// Explains reports whether collectors fail because of a problem: their node does not answer (down), their service does not, or the problem suppresses an
// alert about one of them.
func (al *Alerts) Explains(p *Problem, f *Failure, down bool) bool {
	return slices.ContainsFunc(p.Alerts, func(a *Active) bool {
		node, has := a.Labels["node"]
		return !a.Kept() && (down && (node == f.Node || !has) && al.reads(a, nodeUp.Family) ||
			f.Node == "" && a.Labels["upstream"] != "" && a.Labels["upstream"] == serviceOf(f.Collectors))
	}) || slices.ContainsFunc(p.Suppressed, func(a *Active) bool {
		return slices.Contains(f.Collectors, a.Labels["collector"]) && slices.Contains(f.Targets, a.Labels["target"])
	})
}

// Urgency is how bad the alerts about a subject are. Its text is a CSS class of the page.
type Urgency struct {
	Severity Severity
	Pending  bool // alerts of this severity are pending, none fires
}

func (m Urgency) Class() string {
	if m.Pending {
		return m.Severity.String() + " pending"
	}
	return m.Severity.String()
}

func (m Urgency) Worse(o Urgency) Urgency {
	if o.Severity > m.Severity || o.Severity == m.Severity && m.Pending && !o.Pending {
		return o
	}
	return m
}

// Subject is the labels of a row or cell. An alert is about this subject if it has the first label with the same value, and
// no other label of the subject with a different value.
type Subject [][2]string

// ofNode is the first label of the subject of all alerts about a node: its value is the name of the node, or its node ID. No alert has a label without a name.
const ofNode = ""

// AboutNode returns the worst urgency of the alerts about a node, about calling it and about what it validates. These are the alerts that its silence is
// about.
func (al *Alerts) AboutNode(name, id string) Urgency {
	return al.About(Subject{{ofNode, name}}).Worse(al.About(Subject{{ofNode, id}}))
}

// About returns the worst urgency of the alerts about a subject.
func (al *Alerts) About(s Subject) Urgency { return al.worst(s, func(*Active) bool { return true }) }

// AboutValues returns the worst urgency of the alerts about these values of a subject, absent ones included. An alert is about the first family from
// which its value is computed.
func (al *Alerts) AboutValues(s Subject, values ...Value) Urgency {
	return al.worst(s, func(a *Active) bool {
		return slices.ContainsFunc(values, func(v Value) bool { return al.reads(a, v.Family) })
	})
}

// reads reports whether the alert is about a family: the first from which its value is computed.
func (al *Alerts) reads(a *Active, family *metric.Family) bool {
	read, known := al.families[a.Rule]
	if !known {
		if all := al.recorded.ValueFamilies(a.Rule.Query); len(all) > 0 {
			read = all[0]
		}
		al.families[a.Rule] = read
	}
	return family != nil && family.Name == read
}

// AboutChain returns the worst urgency of the alerts about a chain of a node, and of those that stand for several chains.
func (al *Alerts) AboutChain(node, chain string) Urgency {
	return al.worst(Subject{{"chain", chain}, {"node", node}}, func(a *Active) bool { return a.Labels["node"] != "" || a.StandsFor(chain) })
}

func (al *Alerts) worst(s Subject, counts func(*Active) bool) Urgency {
	var m Urgency
	for _, a := range al.byLabel[s[0]] {
		one := a.Urgency()
		if one.Severity > Well && m.Worse(one) != m && agrees(s, a) && counts(a) {
			m = one
		}
	}
	return m
}

func agrees(s Subject, a *Active) bool {
	for _, l := range s {
		if value, has := a.Labels[l[0]]; has && value != l[1] && (l[0] != "chain" || !a.StandsFor(l[1])) {
			return false
		}
	}
	return true
}

// Runbook returns the runbook of the alert about the subject, or an empty string.
func (al *Alerts) Runbook(s Subject) string {
	for _, a := range al.byLabel[s[0]] {
		if link := a.Annotations["runbook_url"]; link != "" && agrees(s, a) {
			return link
		}
	}
	return ""
}
