package status

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Incident is one fault as a person reads it. It joins what the newest samples say and the alerts about the same. Every page shows this.
type Incident struct {
	Subjects []string // nodes, L1s, validators or delegations that have the fault; empty if only an alert says what has it
	Fact     string   // what the newest samples say; empty if only alerts say it
	Cause    *Active  // the alert that leads; nil: none is active
	Severity Severity
	NoAnswer bool      // nodes do not answer
	Unread   bool      // there are no samples of nodes
	Since    time.Time // the first sign of the fault; zero if it is not known
	Pages    time.Time // when it pages, or has paged; zero if it is not known, or no page is on its way
	AtLatest bool      // Pages is the latest time at which it pages
	Do       string    // the first action; the alert's own if one is active
	Err      error     // why it is so; may be nil
	Effects  []*Active // pending alerts that the fact explains; they are in no problem

	has   Severity // of what the newest samples say, and of the alert; that of a pending page counts as a warning
	named bool     // whether a fact about nodes leads
	known bool     // for a day, or a person has silenced it
	over  bool     // only an alert remembers it
}

// Expected is when faults began, and when they page if nothing changes: as the rules record it before an alert is active, and before that from the states of
// the nodes.
type Expected map[[2]string]*Times // by name of the alert and name of the node

// Times are those of a fault; zero: not known.
type Times struct {
	Since, Pages time.Time
	AtLatest     bool // it may page before
}

// ExpectedQuery returns the series of ExpectedOf.
const ExpectedQuery = `{__name__=~"avax:fault_(since|pages)_timestamp_seconds"}`

// ExpectedOf reads the result of ExpectedQuery.
func ExpectedOf(vector model.Vector) Expected {
	all := Expected{}
	for _, s := range vector {
		of := entry(all, [2]string{string(s.Metric["alert"]), string(s.Metric["node"])}, func() *Times { return &Times{} })
		at := &of.Pages
		if s.Metric[model.MetricNameLabel] == "avax:fault_since_timestamp_seconds" {
			at = &of.Since
		}
		if t := words.UnixTime(float64(s.Value)); at.IsZero() || t.Before(*at) { // replicas
			*at = t
		}
	}
	return all
}

// fact is a state, and what has it.
type fact struct {
	State
	names []string // labels node, upstream, chain, node_id or tx_id of alerts about it
	shown []string // the same as a person knows them

	unread    bool
	alerted   bool                     // whether an alert is about each of them; else about none. What is silent has alerts that are about several
	announced map[string]time.Duration // the alerts that page about a node that does not answer, and within what time
}

// facts returns the states that need a person, each with those that have the same one, the worst first.
func (st *Status) facts(al *Alerts) (all []*fact) {
	add := func(shown string, s State, unread bool, names ...string) {
		if s.Severity < Warn && (s.Severity < Note || !unread) {
			return
		}
		one := &fact{State: s, names: names, shown: []string{shown}, unread: unread}
		one.alerted = !s.NoAnswer && slices.ContainsFunc(al.All, func(a *Active) bool { return !a.Over() && one.has(a) && al.reads(a, s.about) })
		if i := slices.IndexFunc(all, one.same); i >= 0 {
			all[i].join(one)
		} else {
			all = append(all, one)
		}
	}
	for _, n := range st.Nodes {
		if n.State.about != failingCheck.Family || !st.onlyL1sFail(n) {
			add(n.Name, n.State, !n.Up.Known, n.Name)
		}
	}
	for _, l := range st.L1s {
		if !st.missesOwn(l) && !st.unasked(l) {
			add(l.Chain, l.State, false, l.Chain)
		}
	}
	for _, v := range st.Validators {
		if fact := v.Fact(); fact.Text != notConnected || !st.silent(v.NodeID) {
			add(cmp.Or(st.NameOf(v.NodeID, ""), v.NodeID), fact, false, v.NodeID)
		}
	}
	for _, d := range st.Delegations {
		if v := st.validators[d.NodeID]; v != nil && !d.RewardReachable.Is(0) && (v.Present.Known || v.Fact().Text == notConnected && st.silent(d.NodeID)) {
			continue // the validator has the fact
		}
		add("delegation of "+d.Owner+" to "+cmp.Or(st.NameOf(d.NodeID, ""), d.NodeID), st.FactOf(d), false, d.TxID)
	}
	return all
}

// same reports whether others have the same fact.
func (f *fact) same(o *fact) bool {
	return f.about == o.about && f.alerted == o.alerted && f.Severity == o.Severity && f.neverAnswered() == o.neverAnswered() &&
		(f.NoAnswer || f.unread || f.Text == o.Text) && (f.about != nil || f.unread && o.unread)
}

// neverAnswered reports whether nodes have not answered since the exporter started, and no rule knows that they did before. That is not news.
func (s State) neverAnswered() bool { return s.NoAnswer && s.Since.IsZero() }

// join adds those that another fact is about.
func (f *fact) join(o *fact) {
	f.names, f.shown = append(f.names, o.names...), append(f.shown, o.shown...)
	if o.Since.Before(f.Since) && !o.Since.IsZero() {
		f.Since = o.Since
	}
}

// silent reports whether the node with an ID does not answer, lacks peers itself, or has another ID now: that it is not connected is an effect.
func (st *Status) silent(id string) bool {
	n := st.nodeByName[st.NodeOf(id)]
	return n != nil && (n.Down() || n.lacksPeers() || n.shortOfStake()) || slices.ContainsFunc(st.Nodes, func(n *Node) bool { return n.former == id })
}

// has reports whether an alert is about what has the fact.
func (f *fact) has(a *Active) bool {
	return slices.ContainsFunc([]string{"node", "upstream", "chain", "node_id", "tx_id"}, func(label string) bool {
		return slices.Contains(f.names, a.Labels[label])
	})
}

// isAbout reports whether an alert is about the fact. An alert without a node is about all nodes.
func (f *fact) isAbout(al *Alerts, a *Active) bool {
	return !a.Over() && f.about != nil && (f.has(a) || a.Labels["node"]+a.Labels["chain"] == "") && al.reads(a, f.about) && f.is(a)
}

// is reports whether an alert that reads what the fact is about is the alert about it: that a node went down repeatedly is another fault than its silence.
func (f *fact) is(a *Active) bool {
	_, announced := f.announced[a.Rule.Name]
	return announced || len(f.announced) == 0
}

// explains reports whether an alert that does not fire yet is an effect: the node does not answer or rejects the exporter, or its chain bootstraps.
func (f *fact) explains(a *Active) bool {
	return !a.Firing && a.SuppressedBy == nil && f.has(a) &&
		(f.NoAnswer || f.about == requests || f.about == chainBootstrapped.Family && a.Labels["chain"]+a.Labels["check"] != "")
}

// alone gives an alert about nodes that went down together, of which one is still down, the action of the alert about this one.
func (f *fact) alone(al *Alerts, together *Active) {
	if together == nil || together.Labels["node"] != "" || !f.NoAnswer || len(f.names) != 1 {
		return
	}
	for _, a := range al.All {
		if a.Root() == together && f.has(a) && al.reads(a, f.about) {
			together.do = a.Action()
		}
	}
}

// Incidents returns the faults, the worst first. Nodes that do not answer lead, because other faults may be their effects, unless that is known for a day or
// silenced. It orders the problems of the alerts in the same way. A fact other than silence that an alert about the same subject exceeds is left to this alert.
func (st *Status) Incidents(al *Alerts, when Expected) (all []*Incident) {
	when = st.Expect(al, when)
	st.compare(al)
	claimed := map[*Active]bool{}
	for _, f := range st.facts(al) {
		if f.NoAnswer {
			f.announced = al.pagesWithin(f.about)
		}
		one := &Incident{
			Subjects: f.shown, Fact: f.Text, Severity: f.Severity, NoAnswer: f.NoAnswer, Unread: f.unread, Since: f.Since, Do: f.Do, Err: f.Err, named: f.about != nil,
		}
		if st.claim(al, f, one, claimed) {
			continue
		}
		f.alone(al, one.Cause)
		one.complete(al, when, f)
		one.known = one.Cause != nil && one.Cause.Acknowledged || f.neverAnswered() || f.NoAnswer && !slices.ContainsFunc(f.names, func(node string) bool {
			return !slices.ContainsFunc(al.All, func(a *Active) bool { return a.Acknowledged && a.Labels["node"] == node })
		})
		exceeded := slices.ContainsFunc(al.All, func(a *Active) bool {
			return one.Cause == nil && !f.NoAnswer && !claimed[a] && !a.Over() && a.Severity >= f.Severity && f.has(a) && (a.Firing || f.about == nil)
		})
		if !exceeded {
			all = append(all, one)
		}
	}
	for _, p := range al.Problems {
		one := &Incident{}
		for _, a := range p.Alerts {
			over := st.isOver(al, a)
			if !claimed[a] && !a.Over() && (one.Cause == nil || one.over && !over) {
				one.Cause, one.over = a, over
			}
		}
		if one.Cause != nil {
			one.complete(al, when, nil)
			one.known = one.Cause.Acknowledged
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b *Incident) int { return compareIncidents(a, b, st.At) })
	al.order(all)
	return all
}

// claim gives an incident the alerts about its fact, and the effects. It reports whether the fact is itself an effect of what another alert is about, which
// suppresses them: this alert leads.
func (st *Status) claim(al *Alerts, f *fact, one *Incident, claimed map[*Active]bool) (ofOther bool) {
	for _, a := range al.All {
		switch root := a.Root(); {
		case f.isAbout(al, a):
			if root.Over() {
				root = a
			}
			claimed[a] = true
			if al.reads(root, f.about) && !f.is(root) {
				continue // the silence leads, and has no alert of its own
			}
			one.Cause = cmp.Or(one.Cause, root)
			ofOther = ofOther || !f.NoAnswer && st.nodeByName[f.names[0]] != nil && root != a && !al.reads(root, f.about)
		case f.explains(a):
			one.Effects = append(one.Effects, a)
			claimed[a] = true
		}
	}
	return ofOther
}

// compare compares alerts with the newest samples, which the rules find some time later: nodes answer again, chains are bootstrapped, a node has its key again,
// or is silent again while its alert is kept.
func (st *Status) compare(al *Alerts) {
	for _, a := range al.All {
		var left time.Time
		denied := false
		n, silence := st.nodeByName[cmp.Or(a.Labels["node"], a.Labels["upstream"])], al.reads(a, nodeUp.Family)
		switch {
		case n != nil && silence && n.State.NoAnswer:
			a.returned = !a.KeepFiringSince.IsZero()
		case n != nil && silence && a.Value == 0: // else it restarts repeatedly
			left, denied = n.left[nodeUp.Family], n.Up.Is(1)
		case n != nil && al.reads(a, chainBootstrapped.Family):
			left, denied = n.left[chainBootstrapped.Family], n.bootstrapped()
		case n != nil && al.reads(a, nodeIdentity.Family):
			left = n.left[nodeIdentity.Family]
		case n != nil && al.reads(a, requests) && n.Up.Is(1) && !n.rejects && n.since.After(a.ActiveAt):
			left = n.since
		case n != nil && n.Up.Is(1) && al.reads(a, failingCheck.Family) && a.Value == 1 && n.passes(a.Labels["check"]): // else it fails repeatedly
			left = n.Healthy.At
		case n != nil && n.Up.Is(1) && al.reads(a, diskFree.Family) && n.passes("diskspace") && n.DiskFree.Known && !n.diskFull():
			left, denied = n.left[diskFree.Family], true
		case a.Labels["node"] == "" && silence && len(st.NotAnswering()) == 0: // about several nodes
			denied = !slices.ContainsFunc(st.Nodes, func(n *Node) bool { return !n.Up.Is(1) })
			for _, n := range st.Nodes {
				if at := n.left[nodeUp.Family]; at.After(left) {
					left = at
				}
			}
		}
		if left.IsZero() && denied {
			left = a.HeldSince // it fires only because it did before an interruption
		}
		if !a.Kept() {
			a.left = left
		}
		if n := st.startOf(a); n != nil {
			a.ranked = min(a.ranked, max(n.State.Severity, Note))
		}
	}
	al.uncover()
}

// startOf returns the node of whose process's start what is pending about it, for minutes to come, may be a part: what others know of it is older. It ranks as
// the state of the node.
func (st *Status) startOf(a *Active) *Node {
	n := st.nodeByName[cmp.Or(a.Labels["node"], st.NodeOf(a.Labels["node_id"]))]
	if n == nil || !st.isJustBack(n) || a.Firing || a.ActiveAt.Before(n.since) || a.Fires().Sub(st.At) <= soon {
		return nil
	}
	return n
}

// uncover shows the alerts that fired before what suppresses them: once this is over, they still fire, and are known to the receivers.
func (al *Alerts) uncover() {
	for _, a := range al.All {
		if root := a.Root(); root != a && root.Over() && a.Firing && !a.Over() && a.Fires().Before(root.Since()) {
			a.SuppressedBy = nil
		}
	}
	al.group()
}

// isOver reports whether the node of an alert has answered for backFor, so that only the expression of the alert remembers the fault, such as a loop of
// restarts. What is over does not lead.
func (st *Status) isOver(al *Alerts, a *Active) bool {
	n := st.nodeByName[a.Labels["node"]]
	return n != nil && n.Up.Is(1) && !n.since.IsZero() && st.At.Sub(n.since) >= backFor && al.reads(a, nodeUp.Family)
}

// Expect adds to what the rules have recorded what follows from the states of nodes: a rule says within what time it pages. The rules find a state some time
// after its first sample. From the rules it takes what the states cannot tell, because this process started later, or does not know what a node has to run:
// since when nodes do not answer, and that a chain is missed that a node without a validator ran before.
func (st *Status) Expect(al *Alerts, when Expected) Expected {
	all := Expected{}
	aboutSilence, aboutChains := al.namesAbout(nodeUp.Family), al.namesAbout(chainBootstrapped.Family)
	for key, of := range when {
		all[key] = of
		n := st.nodeByName[key[1]]
		switch {
		case n == nil || of.Since.IsZero():
		case n.State.NoAnswer && slices.Contains(aboutSilence, key[0]) && (n.State.Since.IsZero() || of.Since.Before(n.State.Since)):
			n.State.silentSince(st.At, of.Since)
		case n.State.Severity < Warn && slices.Contains(aboutChains, key[0]) && len(n.stopped(of.Since)) > 0:
			n.State = notRunning("no longer runs " + words.Brief(n.stopped(of.Since)))
			n.State.Since, n.State.pages = of.Since, true
		}
	}
	slices.SortStableFunc(st.Nodes, worstFirst)
	for _, n := range st.Nodes {
		if s := n.State; s.pages && !s.Since.IsZero() {
			for name, within := range al.pagesWithin(s.about) {
				key := [2]string{name, n.Name}
				switch of := all[key]; {
				case of == nil:
					all[key] = &Times{s.Since, s.Since.Add(within), true}
				case of.Pages.IsZero():
					all[key] = &Times{of.Since, s.Since.Add(within), true}
				}
			}
		}
	}
	return all
}

// order removes the effects of incidents from the problems, and sorts the problems like their incidents. Problems whose cause is over come last.
func (al *Alerts) order(all []*Incident) {
	place := map[string]int{}
	effects := map[*Active]bool{}
	for at, i := range all {
		if name := i.Problem(); name != "" {
			if _, has := place[name]; !has {
				place[name] = at
			}
		}
		for _, a := range i.Effects {
			effects[a], a.ranked = true, min(a.ranked, i.has)
		}
	}
	al.Problems = slices.DeleteFunc(al.Problems, func(p *Problem) bool {
		p.Alerts = slices.DeleteFunc(p.Alerts, func(a *Active) bool { return effects[a] })
		return len(p.Alerts) == 0
	})
	of := func(p *Problem) int {
		if at, has := place[p.Name]; has {
			return at
		}
		return len(all)
	}
	slices.SortStableFunc(al.Problems, func(a, b *Problem) int { return cmp.Compare(of(a), of(b)) })
}

// complete sets since when the incident lasts, when it pages, and what to do.
func (i *Incident) complete(al *Alerts, when Expected, f *fact) {
	earliest := func(at *time.Time, other time.Time) {
		if !other.IsZero() && (at.IsZero() || other.Before(*at)) {
			*at = other
		}
	}
	if i.has = i.Severity; i.Cause != nil {
		i.has = max(i.has, i.Cause.ranked)
		i.Do, i.Severity = cmp.Or(i.Cause.Action(), i.Do), max(i.Severity, i.Cause.Severity)
		for _, a := range al.All { // the tiers of the alert, and the alerts of other nodes with the same fault
			if !a.Over() && a.Rule.Name == i.Cause.Rule.Name && (a.sameSubject(i.Cause) || f != nil && f.isAbout(al, a)) {
				earliest(&i.Since, a.Since())
				if a.Severity == Bad {
					earliest(&i.Pages, a.Fires())
				}
			}
		}
	}
	if f == nil {
		i.Since = i.Cause.Since() // as its title says
	}
	if f == nil || f.about == nil {
		return
	}
	var latest time.Time
	paged := i.Cause != nil && i.Cause.Firing && i.Cause.Severity == Bad // then it is known when
	for _, name := range al.namesAbout(f.about) {
		for _, node := range f.names {
			if of := when[[2]string{name, node}]; of != nil {
				earliest(&i.Since, of.Since)
				switch {
				case paged:
				case of.AtLatest:
					earliest(&latest, of.Pages)
				default:
					earliest(&i.Pages, of.Pages)
				}
			}
		}
	}
	if i.Pages.IsZero() && !latest.IsZero() {
		i.Pages, i.AtLatest = latest, true
	}
}

// namesAbout returns the names of the alerts whose values are computed from a family first.
func (al *Alerts) namesAbout(f *metric.Family) (names []string) {
	for _, g := range al.Groups {
		for i := range g.Rules {
			if r := &g.Rules[i]; al.reads(&Active{Rule: r}, f) {
				names = AppendNew(names, r.Name)
			}
		}
	}
	return names
}

// pagesWithin returns within what time from the first sign alerts about a family page, by name: as their rules say, and an evaluation finds it.
func (al *Alerts) pagesWithin(f *metric.Family) map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, g := range al.Groups {
		for i := range g.Rules {
			r := &g.Rules[i]
			if within, err := model.ParseDuration(r.Annotations[alerts.PagesWithin]); err == nil && al.reads(&Active{Rule: r}, f) {
				step := max(g.Interval.Duration(), 1)
				all[r.Name] = (time.Duration(within)+step-1)/step*step + step
			}
		}
	}
	return all
}

// sameSubject reports whether two alerts are about the same.
func (a *Active) sameSubject(b *Active) bool {
	tier := []string{"severity", "within", "scope", "noticed"}
	for name, value := range a.Labels {
		if b.Labels[name] != value && !slices.Contains(tier, name) {
			return false
		}
	}
	return true
}

func compareIncidents(a, b *Incident, now time.Time) int {
	return cmp.Or(later(!a.leads(), !b.leads()), cmp.Compare(b.rank(now), a.rank(now)), later(a.over, b.over), later(a.known, b.known),
		cmp.Compare(b.fires(), a.fires()), later(!a.named, !b.named), later(a.Cause == nil, b.Cause == nil))
}

// soon is the time before a page in which it ranks as one. Before that, a warning that fires leads: there is something to do now.
const soon = 5 * time.Minute

// rank is the severity that the incident has, or will have soon.
func (i *Incident) rank(now time.Time) Severity {
	switch {
	case i.over:
		return min(i.has, Warn)
	case !i.Pages.IsZero() && i.Pages.Sub(now).Truncate(time.Second) <= soon: // as its text says
		return Bad
	}
	return i.has
}

// Shown returns the severity of the title: that of the problem below it. A page that is on its way counts as a warning until soon before it.
func (i *Incident) Shown() Severity {
	if i.Cause != nil && i.Cause.Firing {
		return i.Severity
	}
	return i.has
}

// fires returns by which severity its alert is sorted if it fires already, and not about a loss to come.
func (i *Incident) fires() Severity {
	if i.Cause == nil || !i.Cause.Firing || !i.Cause.Deadline.IsZero() {
		return off
	}
	return i.Cause.ranked
}

// leads reports whether nodes do not answer, and that is news.
func (i *Incident) leads() bool { return i.NoAnswer && !i.known }

// Problem returns the name of the problem that shows the alert of the incident; empty if none does: there is no alert, or what suppresses it is over.
func (i *Incident) Problem() string {
	if i.Cause == nil || i.Cause.Root() != i.Cause && i.Cause.Root().Over() {
		return ""
	}
	return i.Cause.Root().Rule.Name
}

// Next returns what happens next, and when: when the incident pages, or since when.
func (i *Incident) Next(now time.Time) string {
	fires := i.Cause != nil && i.Cause.Firing
	switch left := i.Pages.Sub(now); {
	case i.Pages.IsZero() && fires:
		return "alerts since " + words.ClockTime(now, i.Cause.Fires())
	case i.Pages.IsZero() && i.Cause != nil:
		return due("alerts", i.Cause.Fires().Sub(now))
	case i.Pages.IsZero():
		return ""
	case fires && i.Cause.Severity == Bad:
		return "pages since " + words.ClockTime(now, i.Pages)
	case i.AtLatest && left > 0:
		return "pages within " + words.Exact(left)
	default:
		return due("pages", left)
	}
}

func due(what string, left time.Duration) string {
	if left > 0 {
		return what + " in " + words.Exact(left)
	}
	return what + " with the next evaluation"
}
