package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

// level is the urgency of an alert. Its text is a CSS class of the page.
type level int

const (
	off  level = iota // no urgency
	well              // no problem
	note
	warn
	bad
)

func (l level) String() string { return [...]string{"off", "well", "note", "warn", "bad"}[l] }

// severities are the levels by value of the label severity. With the level off, an alert is not a problem, such as the alert
// that always fires.
var severities = map[string]level{
	"page": bad, "critical": bad, "warn": warn, "warning": warn, "ticket": warn, "info": note, "note": note, "none": off,
}

// severityOf returns the level for the label severity. An unknown severity counts as a warning.
func severityOf(labels map[string]string) level {
	if l, known := severities[labels["severity"]]; known {
		return l
	}
	return warn
}

// active is a firing or pending alert.
type active struct {
	alerting.Alert
	rule   *alerting.Rule
	level  level
	firing bool
	rank   rank
	by     *active // alert that suppresses this alert
}

// rank is the first key of the order of alerts.
type rank int

const (
	rankCause  rank = iota // a node does not answer: other alerts may be its effects
	rankSilent             // other alerts about this node
	rankOther
	rankKept // the cause is over
)

// kept reports whether the alert only fires because of keep_firing_for: its cause is over.
func (a *active) kept() bool { return !a.KeepFiringSince.IsZero() }

// mark returns the color of the alert. An alert whose cause is over is no problem.
func (a *active) mark() mark {
	if a.kept() {
		return mark{level: well}
	}
	return mark{a.level, !a.firing}
}

// fires returns when a pending alert will fire if its expression stays true.
func (a *active) fires() time.Time { return a.ActiveAt.Add(a.rule.For.Duration()) }

// action returns the first action that the alert recommends. There is none if its cause is over.
func (a *active) action() string {
	if a.kept() {
		return ""
	}
	if do := a.Annotations["action"]; do != "" {
		return do
	}
	text := strings.TrimSpace(a.Annotations["description"])
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}

// root returns the alert that suppresses the alert and is not suppressed itself: the alert itself if none suppresses it.
func (a *active) root() *active {
	for a.by != nil {
		a = a.by
	}
	return a
}

// shown reports whether the page shows the alert by itself. It shows a suppressed alert only by its name. A firing alert that
// a pending one of the same name suppresses is shown too, because it is notified.
func (a *active) shown() bool {
	root := a.root()
	return root == a || a.firing && !root.firing && a.rule.Name == root.rule.Name
}

// suppressesItself reports whether the alerts that suppress the alert form a circle.
func (a *active) suppressesItself() bool {
	seen := map[*active]bool{}
	for by := a.by; by != nil && !seen[by]; by = by.by {
		seen[by] = true
	}
	return seen[a]
}

// problem holds the alerts of one name that are shown, worst first.
type problem struct {
	name       string
	alerts     []*active
	suppressed []*active
}

func (p *problem) worst() *active { return p.alerts[0] }

// judgement is the evaluation of the rules.
type judgement struct {
	groups    []alerting.Group
	problems  []*problem // worst first
	evaluated bool       // whether at least one rule was evaluated
	broken    []alerting.Rule
	firing    int
	pending   int
	over      int // only kept firing

	byLabel  map[[2]string][]*active
	families map[*alerting.Rule]string // the first family from which the value of a rule is computed
}

// compare sorts by rank, then by severity, then firing before pending (their names sort so), then by age.
func compare(a, b *active) int {
	return cmp.Or(
		cmp.Compare(a.rank, b.rank), cmp.Compare(b.level, a.level), strings.Compare(a.State, b.State), a.ActiveAt.Compare(b.ActiveAt),
		strings.Compare(a.Annotations["summary"], b.Annotations["summary"]),
	)
}

// judge groups the active alerts by name. The inhibition decides which alerts suppress which. A pending alert suppresses as it will when
// it fires, so that the page shows a cause before its effects. silent are the nodes that do not answer.
func judge(groups []alerting.Group, inhibition notify.Inhibition, silent []string) *judgement {
	j := &judgement{groups: groups, byLabel: map[[2]string][]*active{}, families: map[*alerting.Rule]string{}}
	var all []*active
	var labels []map[string]string
	for _, g := range groups {
		j.evaluated = j.evaluated || !g.Evaluated.IsZero()
		for i := range g.Rules {
			r := &g.Rules[i]
			if r.LastError != "" {
				j.broken = append(j.broken, *r)
			}
			for _, one := range r.Alerts {
				a := &active{Alert: one, rule: r, level: severityOf(one.Labels), firing: one.State == alerting.Firing}
				if a.level == off {
					continue
				}
				node, has := a.Labels["node"]
				about := slices.Contains(silent, node)
				switch {
				case a.kept():
					a.rank = rankKept
				case len(silent) > 0 && (about || !has) && j.reads(a, "avax_node_up"):
					a.rank = rankCause
				case about:
					a.rank = rankSilent
				default:
					a.rank = rankOther
				}
				all, labels = append(all, a), append(labels, a.Labels)
				for name, value := range a.Labels {
					j.byLabel[[2]string{name, value}] = append(j.byLabel[[2]string{name, value}], a)
				}
			}
		}
	}
	for i, by := range inhibition.Inhibitors(labels) {
		if by >= 0 {
			all[i].by = all[by]
		}
	}
	var mutual []*active
	for _, a := range all {
		if a.suppressesItself() {
			mutual = append(mutual, a)
		}
	}
	for _, a := range mutual {
		a.by = nil
	}
	slices.SortStableFunc(all, compare)
	byName := map[string]*problem{}
	for _, a := range all {
		if !a.shown() {
			continue
		}
		switch {
		case a.kept():
			j.over++
		case a.firing:
			j.firing++
		default:
			j.pending++
		}
		p := byName[a.rule.Name]
		if p == nil {
			p = &problem{name: a.rule.Name}
			byName[p.name] = p
			j.problems = append(j.problems, p)
		}
		p.alerts = append(p.alerts, a)
	}
	for _, a := range all {
		if root := a.root(); root.rule.Name != a.rule.Name {
			p := byName[root.rule.Name]
			p.suppressed = append(p.suppressed, a)
		}
	}
	return j
}

// problemsWith returns the problems with the accepted alerts, and the number of the other alerts that are not suppressed.
func (j *judgement) problemsWith(accepted func(*active) bool) (problems []*problem, others int) {
	other := func(a *active) bool { return !accepted(a) }
	for _, p := range j.problems {
		alerts := slices.DeleteFunc(slices.Clone(p.alerts), other)
		others += len(p.alerts) - len(alerts)
		if len(alerts) > 0 {
			problems = append(problems, &problem{p.name, alerts, slices.DeleteFunc(slices.Clone(p.suppressed), other)})
		}
	}
	return problems, others
}

// mark is the color of a row or cell. The alerts about the row or cell determine it.
type mark struct {
	level   level
	pending bool // alerts of this level are pending, none fires
}

func (m mark) class() string {
	if m.pending {
		return m.level.String() + " pending"
	}
	return m.level.String()
}

func (m mark) worse(o mark) mark {
	if o.level > m.level || o.level == m.level && m.pending && !o.pending {
		return o
	}
	return m
}

// subject is the labels of a row or cell. An alert is about this subject if it has the first label with the same value, and
// no other label of the subject with a different value.
type subject [][2]string

// about returns the mark of a row.
func (j *judgement) about(s subject) mark { return j.mark(s, func(*active) bool { return true }) }

// color returns the mark of a cell with values of these families. An alert is about the first family from which its value is computed.
func (j *judgement) color(s subject, families ...string) mark {
	return j.mark(s, func(a *active) bool { return j.reads(a, families...) })
}

// reads reports whether the alert is about one of these families.
func (j *judgement) reads(a *active, families ...string) bool {
	read, known := j.families[a.rule]
	if !known {
		if all := alerting.ValueFamilies(j.groups, a.rule.Query); len(all) > 0 {
			read = all[0]
		}
		j.families[a.rule] = read
	}
	return slices.Contains(families, read)
}

func (j *judgement) mark(s subject, counts func(*active) bool) mark {
	var m mark
	for _, a := range j.byLabel[s[0]] {
		one := a.mark()
		if one.level > well && m.worse(one) != m && agrees(s, a.Labels) && counts(a) {
			m = one
		}
	}
	return m
}

func agrees(s subject, labels map[string]string) bool {
	for _, l := range s {
		if value, has := labels[l[0]]; has && value != l[1] {
			return false
		}
	}
	return true
}

// runbook returns the runbook of the alert about the subject, or an empty string.
func (j *judgement) runbook(s subject) string {
	for _, a := range j.byLabel[s[0]] {
		if link := a.Annotations["runbook_url"]; link != "" && agrees(s, a.Labels) {
			return link
		}
	}
	return ""
}
