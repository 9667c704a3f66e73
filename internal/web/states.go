package web

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// state is what the newest samples say about a node: a fact, with or without an alert.
type state struct {
	node    string
	level   level
	text    string
	silent  bool     // whether the node does not answer
	failure *failure // why it does not answer; may be nil
}

// nodeStates returns the states of the nodes, worst first. answered returns when a node last answered.
func (f *snapshot) nodeStates(answered func(node string) time.Time) (states []state) {
	chains := maps.Clone(f.lists("node", "chain", isZero, "avax_node_chain_bootstrapped"))
	checks := f.lists("node", "check", isOne, "avax_node_health_check_failing")
	failures := map[string]*failure{}
	for _, j := range f.jobs {
		node := j.Last.Target.Node
		if chain := j.Last.Target.Chain; scrape.OutcomeOf(j.Last.Err) == scrape.Bootstrapping && chain != "" {
			chains[node] = appendNew(slices.Clip(chains[node]), chain)
		}
		if j.Last.Err != nil && f.isDown(node) && failures[node] == nil {
			failures[node] = failureOf(j.Last.Err)
		}
	}
	for _, name := range f.by("avax_node_up", "node").names() {
		s := state{node: name, level: well, text: "up"}
		slices.SortFunc(chains[name], compareChains)
		switch {
		case f.isDown(name):
			s = f.notUp(name, answered(name), failures[name])
		case len(chains[name]) > 0:
			s.level, s.text = warn, "bootstrapping "+brief(chains[name])
		case len(checks[name]) > 0:
			s.level, s.text = warn, "unhealthy: "+plural(len(checks[name]), "check fails", "checks fail")
		}
		states = append(states, s)
	}
	slices.SortStableFunc(states, func(a, b state) int { return cmp.Compare(b.level, a.level) })
	return states
}

// notUp returns the state of a node that did not answer the last probe. A node that rejects the exporter may be up.
func (f *snapshot) notUp(name string, answered time.Time, why *failure) state {
	s := state{node: name, level: bad, text: "no answer", silent: true, failure: why}
	if why != nil && (why.outcome == scrape.Forbidden || why.outcome == scrape.RateLimited) {
		s.level, s.text, s.silent = warn, "rejects the exporter", false
	}
	if answered.IsZero() {
		s.text += " since the exporter started"
	} else {
		s.text += " for " + exact(f.now.Sub(answered))
	}
	return s
}

// silent returns the names of the nodes that do not answer.
func silent(states []state) (names []string) {
	for _, s := range states {
		if s.silent {
			names = append(names, s.node)
		}
	}
	return names
}

// verdict is the headline of a page.
type verdict struct {
	level level
	title string
	text  string // first action
}

// headline returns the worse of the nodes' states and the alerts. A node that does not answer comes first, because other alerts may be
// its effects.
func (v *view) headline() verdict {
	if len(v.silent) > 0 {
		return v.silentHeadline()
	}
	alerts := v.alertHeadline()
	if len(v.states) > 0 && v.states[0].level > alerts.level {
		s := v.states[0]
		return verdict{s.level, s.node + ": " + s.text, alerts.text}
	}
	return alerts
}

func (v *view) alertHeadline() verdict {
	switch {
	case errors.Is(v.err, errNoSource):
		return verdict{note, "Alerts are not evaluated here", "Set AVAX_PROMETHEUS_URL to the Prometheus that evaluates them, or AVAX_ALERTING=on."}
	case v.err != nil:
		return verdict{bad, "Alerts are unknown", "The facts on this page are current. To see alerts, " + v.remedy()}
	case len(v.problems) > 0 && !v.problems[0].worst().kept():
		worst := v.problems[0].worst()
		title := titleOf(worst) + ", " + stateOf(worst, v.now)
		if i := slices.IndexFunc(v.states, func(s state) bool { return s.level > well && s.node == worst.Labels["node"] }); i >= 0 && !worst.firing {
			title = v.states[i].node + ": " + v.states[i].text + "; " + v.fires(worst)
		}
		return verdict{worst.level, title, v.action(worst)}
	case v.ran < v.jobCount || v.jobCount == 0:
		return verdict{note, "Starting", fmt.Sprintf("%d of %d collectors have run.", v.ran, v.jobCount)}
	case len(v.broken) > 0:
		return verdict{bad, plural(len(v.broken), "alert rule", "alert rules") + " cannot be evaluated", "See the rules on the alerts page."}
	case !v.evaluated:
		return verdict{note, "Starting", "The alert rules have not been evaluated yet."}
	case len(v.problems) > 0:
		worst := v.problems[0].worst()
		return verdict{well, "No active alerts", titleOf(worst) + ": " + stateOf(worst, v.now) + "."}
	}
	return verdict{level: well, title: "No active alerts"}
}

// remedy returns what to do if the alerts cannot be read.
func (v *view) remedy() string {
	if v.site.remote() {
		return "check that the Prometheus of AVAX_PROMETHEUS_URL runs and answers."
	}
	return "read the log of the exporter."
}

// silentHeadline is the headline while nodes do not answer. It contains when the alert about them pages.
func (v *view) silentHeadline() verdict {
	s := v.states[slices.IndexFunc(v.states, func(s state) bool { return s.silent })]
	found := verdict{level: bad, title: s.node + ": " + s.text}
	if n := len(v.silent); n > 1 {
		found.title = plural(n, "node does", "nodes do") + " not answer: " + brief(v.silent)
	}
	if s.failure != nil {
		found.text = s.failure.What + ". " + s.failure.Do
	}
	i := slices.IndexFunc(v.problems, func(p *problem) bool { return p.worst().rank == rankCause })
	switch {
	case v.site.DefaultNode:
		found.title, found.text = "No node is configured", "Set AVAX_NODES, such as AVAX_NODES=alpha=http://127.0.0.1:9650. The default address does not answer."
	case errors.Is(v.err, errNoSource):
	case v.err != nil:
		found.title += "; alerts are unknown"
	case i < 0:
		found.title += "; no alert yet"
	default:
		a := v.problems[i].worst()
		found.title += "; " + v.fires(a)
		found.text = v.action(a)
	}
	return found
}

// fires returns since when an alert fires, or when it will.
func (v *view) fires(a *active) string {
	what := "alerts"
	if a.level == bad {
		what = "pages"
	}
	if a.firing {
		return what + " since " + clockTime(v.now, a.fires())
	}
	if left := a.fires().Sub(v.now); left > 0 {
		return what + " in " + exact(left)
	}
	return what + " with the next evaluation"
}

// action returns the first action that the alert recommends, or how to configure a node if none is configured.
func (v *view) action(a *active) string {
	if v.site.DefaultNode && slices.Contains(v.silent, a.Labels["node"]) {
		return "Set AVAX_NODES: no node is configured, and the default address does not answer."
	}
	return a.action()
}
