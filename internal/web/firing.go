package web

import (
	"cmp"
	"maps"
	"slices"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

// severities are the levels of the label severity. AvaxWatchdog has none: it fires
// when all is well.
var severities = map[string]level{"page": bad, "critical": bad, "warn": warn, "warning": warn, "info": note, "none": well}

// severityOf reads the label. What somebody else's rules call otherwise is no
// less than what can wait.
func severityOf(labels map[string]string) level {
	if l, known := severities[labels["severity"]]; known {
		return l
	}
	return warn
}

// alarm is how in-process alerting stands.
type alarm struct {
	firing, pending, broken int // alerts, and rules that cannot be evaluated
	watchdog                bool
	evaluated               bool // some rule ever was
	deaf                    []alerting.Receiver
	receivers               int // that were ever sent something
	level                   level
}

func alarmOf(groups []alerting.Group, receivers []alerting.Receiver) alarm {
	a := alarm{receivers: len(receivers)}
	for _, g := range groups {
		a.evaluated = a.evaluated || !g.Evaluated.IsZero()
		for _, r := range g.Rules {
			if r.LastError != "" {
				a.broken++
			}
			for _, one := range r.Alerts {
				switch l := severityOf(one.Labels); {
				case one.State != alerting.Firing:
					a.pending++
				case l == well:
					a.watchdog = true
				default:
					a.firing++
					a.level = max(a.level, l)
				}
			}
		}
	}
	for _, r := range receivers {
		if !r.Up {
			a.deaf = append(a.deaf, r)
		}
	}
	return a
}

func (a alarm) firingText() string {
	if a.firing == 0 {
		return "No alert fires"
	}
	return plural(a.firing, "alert fires", "alerts fire")
}

// addAlerts tells what fires in this process and the page did not find itself:
// what one cause sets off is told once. Whom nobody can page comes before.
func (p *page) addAlerts(groups []alerting.Group, receivers []alerting.Receiver) {
	firing := map[string][]alerting.Alert{}
	for _, g := range groups {
		for _, r := range g.Rules {
			for _, a := range r.Alerts {
				if a.State == alerting.Firing && severityOf(a.Labels) > well {
					firing[r.Name] = append(firing[r.Name], a)
				}
			}
		}
	}
	a := alarmOf(groups, receivers)
	p.addDelivery(a)
	found := maps.Clone(p.problems)
	for _, name := range slices.Sorted(maps.Keys(firing)) {
		worst := well
		for _, one := range firing[name] {
			worst = max(worst, severityOf(one.Labels))
		}
		switch own := found[name]; {
		case own != nil:
			own.Fires, own.Level = true, max(own.Level, worst)
		case found.covers(name, worst), p.explained[name] && len(found) > 0:
		default:
			p.problems[name] = firingProblem(name, worst, firing[name])
		}
	}
	if !a.evaluated {
		p.sums = append(p.sums, "no alert rule evaluated yet")
	} else if a.firing > 0 {
		p.sums = append(p.sums, a.firingText())
	}
}

// addDelivery tells whether a page would reach anybody.
func (p *page) addDelivery(a alarm) {
	l := warn
	if len(a.deaf) == a.receivers {
		l = bad
	}
	for _, r := range a.deaf {
		p.problems.add("AvaxAlertmanagerDown", l, 1, place{Text: r.Name + " for " + span(p.Now.Sub(r.Since)), Page: "alerts", Anchor: "alertmanagers"})
	}
	if a.broken > 0 {
		p.problems["rules"] = &problem{
			kind: kind{one: "alert rule cannot be evaluated", many: "alert rules cannot be evaluated"}, rank: kindOf("AvaxAlertmanagerDown"),
			count: a.broken, Level: bad, Places: []place{{Text: "see why", Page: "alerts", Anchor: "rules"}},
		}
	}
}

// firingProblem is an alert in its own words, each of them once: its severities
// may tell the same.
func firingProblem(name string, worst level, alerts []alerting.Alert) *problem {
	p := &problem{
		kind: kind{alert: name, one: name + " alert", many: name + " alerts"}, rank: len(kinds),
		Level: worst, Runbook: alerts[0].Annotations["runbook_url"], Fires: true,
	}
	if i := kindOf(name); i >= 0 {
		p.kind, p.rank = kinds[i], i
	}
	for _, a := range alerts {
		text := cmp.Or(a.Annotations["summary"], name)
		l := severityOf(a.Labels)
		if i := slices.IndexFunc(p.Places, func(at place) bool { return at.Text == text }); i >= 0 {
			p.Places[i].Level = max(p.Places[i].Level, l)
			continue
		}
		p.Places = append(p.Places, place{Text: text, Page: "alerts", Anchor: name, Level: l})
	}
	p.count = len(p.Places)
	return p
}
