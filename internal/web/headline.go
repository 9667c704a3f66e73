package web

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// headline is the title of a page, with what to do.
type headline struct {
	severity status.Severity
	title    string
	text     string // first action
}

// headline returns the worse of the alerts and what the newest samples say. A node that does not answer comes first, because other alerts may be
// its effects, unless that has been known for a day and something else needs a person.
func (v *view) headline() headline {
	alerts := v.alertHeadline()
	firingBad := status.Urgency{Severity: status.Bad}
	otherFirst := v.allAcknowledged() && len(v.Problems) > 0 && v.Problems[0].Worst().Urgency() == firingBad
	if len(v.notAnswering) > 0 && !otherFirst {
		return v.notAnsweringHeadline()
	}
	facts := v.nodesHeadline()
	if other := v.factHeadline(); other.severity > facts.severity {
		facts = other
	}
	if facts.severity <= alerts.severity { // so a headline that says “No active alerts” appears only if there are none
		return alerts
	}
	facts.text = cmp.Or(facts.text, alerts.text)
	return facts
}

// nodesHeadline says what the worst node reports, or of which nodes there is no data.
func (v *view) nodesHeadline() headline {
	if len(v.Nodes) == 0 {
		return headline{}
	}
	n := v.Nodes[0]
	found := headline{severity: n.State.Severity, title: n.Name + ": " + n.State.Text}
	if n.Up.Known && n.State.Severity == status.Note { // factHeadline says what there is no data of
		return headline{}
	}
	if n.Up.Known || n.State.Severity < status.Warn {
		return found
	}
	var unread []string
	for _, n := range v.Nodes {
		if !n.Up.Known {
			unread = append(unread, n.Name)
		}
	}
	if len(unread) > 1 {
		found.title = words.Plural(len(unread), "node", "nodes") + " of " + words.Number(len(v.Nodes)) + " have no data: " + words.Brief(unread)
	}
	cause := status.FailureOf(n.State.Err)
	found.text = cause.What + ": " + cause.Err.Error() + ". " + cause.Do
	return found
}

// factHeadline says what the worst L1 or validator reports, or what else there is no data of: nothing is well that nobody has seen.
func (v *view) factHeadline() (worst headline) {
	say := func(name string, fact status.State) {
		if fact.Severity > worst.severity {
			worst = headline{severity: fact.Severity, title: name + ": " + fact.Text}
			if fact.Err != nil {
				worst.text = fact.Err.Error()
			}
		}
	}
	for _, l := range v.L1s {
		say(l.Chain, l.State)
	}
	for _, one := range v.Validators {
		say(cmp.Or(v.NameOf(one.NodeID, ""), one.NodeID), one.Fact())
	}
	for _, d := range v.Delegations {
		say("Delegation of "+d.Owner+" to "+cmp.Or(v.NameOf(d.NodeID, ""), d.NodeID), v.FactOf(d))
	}
	if gaps := v.Gaps(); len(gaps) > 0 && worst.severity < status.Note {
		worst = v.gapHeadline(gaps)
	}
	return worst
}

// gapHeadline says what there is no data of.
func (v *view) gapHeadline(gaps []status.Gap) headline {
	about := mapped(gaps, func(g status.Gap) string { return g.About })
	return headline{status.Note, "No active alerts, but no data: " + words.Brief(about), gaps[0].About + ": " + gaps[0].Text(v.At) + "."}
}

// allAcknowledged reports whether each node that does not answer has an alert that has fired for a day, or that a person has silenced.
func (v *view) allAcknowledged() bool {
	return v.alertsErr == nil && !slices.ContainsFunc(v.notAnswering, func(node string) bool {
		return !slices.ContainsFunc(v.All, func(a *status.Active) bool { return a.Acknowledged && a.Labels["node"] == node })
	})
}

// alertHeadline says what the worst alert says, or why there are no alerts.
func (v *view) alertHeadline() headline {
	switch {
	case errors.Is(v.alertsErr, errNoSource):
		return headline{status.Note, "Alerts are not evaluated here", "Set AVAX_PROMETHEUS_URL to the Prometheus that evaluates them, or AVAX_ALERTING=on."}
	case v.alertsErr != nil:
		return headline{status.Bad, "Alerts are unknown", "The facts on this page are current. To see alerts, " + v.remedy()}
	case len(v.Problems) > 0 && !v.Problems[0].Worst().Kept():
		return v.worstHeadline(v.Problems[0].Worst())
	case v.site.Empty != nil && v.site.Empty():
		return headline{status.Note, "No node configured here now", "Add nodes to AVAX_NODES_FILE. The exporter reads it within ten seconds."}
	case v.ran < v.jobCount || v.jobCount == 0:
		return v.startingHeadline()
	case len(v.Broken) > 0:
		return headline{status.Bad, words.Plural(len(v.Broken), "alert rule", "alert rules") + " cannot be evaluated", "See the rules on the alerts page."}
	case !v.Evaluated:
		return v.unevaluatedHeadline()
	}
	if quiet, least := v.Quiet(func(string) bool { return true }); len(quiet) > 0 {
		return quietHeadline(words.Brief(quiet)+": no new block", least)
	}
	if len(v.Problems) > 0 {
		worst := v.Problems[0].Worst()
		return headline{status.Well, "No active alerts", v.titleOf(worst) + ": " + stateOf(worst, v.At) + "."}
	}
	return headline{severity: status.Well, title: "No active alerts"}
}

// A start ends. What it still lacks after these times is a fault.
const (
	rulesPatience     = time.Minute     // until a Prometheus has the rules
	evaluatedPatience = 5 * time.Minute // until rules are evaluated: their groups may have long intervals
	firstRunPatience  = 5 * time.Minute // until each collector has run
)

// startingHeadline is the headline until every collector has run.
func (v *view) startingHeadline() headline {
	ran := fmt.Sprintf("%d of %d collectors have run.", v.ran, v.jobCount)
	if since := v.site.unfinished.Load(); since != nil && v.At.Sub(*since) > firstRunPatience {
		return headline{status.Warn, words.Plural(v.jobCount-v.ran, "collector has", "collectors have") + " not run for " + words.Span(v.At.Sub(*since)),
			ran + " Read the log of the exporter. It may lack CPU, or an upstream does not answer."}
	}
	return headline{status.Note, "Starting", ran}
}

// unevaluatedHeadline is the headline until rules are evaluated.
func (v *view) unevaluatedHeadline() headline {
	ago := v.At.Sub(v.site.began)
	switch {
	case v.site.remote() && len(v.Groups) == 0 && ago > rulesPatience:
		return headline{status.Bad, "The server of AVAX_PROMETHEUS_URL has none of the alert rules: nothing can alert", alerting.NoRules}
	case ago > evaluatedPatience:
		return headline{status.Bad, "The alert rules have not been evaluated for " + words.Span(ago) + ": nothing can alert", "To see alerts, " + v.remedy()}
	}
	return headline{status.Note, "Starting", "The alert rules have not been evaluated yet."}
}

// worstHeadline is about the worst alert.
func (v *view) worstHeadline(worst *status.Active) headline {
	title := v.titleOf(worst)
	if worst.Deadline.IsZero() {
		title += ", " + stateOf(worst, v.At)
	}
	if n := v.Node(worst.Labels["node"]); n.State.Severity >= status.Warn && !worst.Firing {
		title = n.Name + ": " + n.State.Text + "; " + v.whenItFires(worst)
	}
	severity := worst.Severity
	for _, p := range v.Problems { // the first problem is what costs now: a forecast may be more severe
		if !p.Worst().Kept() {
			severity = max(severity, p.Worst().Severity)
		}
	}
	return headline{severity, title, v.action(worst)}
}

// quietHeadline is the headline while chains have no new block and no alert is active.
func quietHeadline(what string, least time.Duration) headline {
	return headline{status.Note, what + " for " + words.Seconds(least.Seconds()) + "; no active alerts",
		"All nodes here agree. Whether the chain is idle or has halted cannot be told apart yet. Send a transaction: if no block follows, it has halted."}
}

// remedy returns what to do if the alerts cannot be read.
func (v *view) remedy() string {
	if v.site.remote() {
		return "check that the Prometheus of AVAX_PROMETHEUS_URL runs and answers."
	}
	return "read the log of the exporter."
}

// notAnsweringHeadline is the headline while nodes do not answer. It contains when the alert about them pages.
func (v *view) notAnsweringHeadline() headline {
	first := v.Nodes[slices.IndexFunc(v.Nodes, func(n *status.Node) bool { return n.State.NoAnswer })]
	title := first.Name + ": " + first.State.Text
	if n := len(v.notAnswering); n > 1 {
		title = words.Plural(n, "node does", "nodes do") + " not answer: " + words.Brief(v.notAnswering)
	}
	return v.nodeHeadline(title, first, func(*status.Active) bool { return true })
}

// nodeHeadline is the headline about a node that does not answer. The alert that it quotes is one that names the node, or another one that the
// page is about too.
func (v *view) nodeHeadline(title string, n *status.Node, about func(*status.Active) bool) headline {
	found := headline{severity: status.Bad, title: title}
	if err := n.State.Err; err != nil {
		cause := status.FailureOf(err)
		found.text = cause.What + ". " + cause.Do
	}
	var alert *status.Active
	for _, p := range v.Problems {
		for _, a := range p.Alerts {
			if alert == nil && a.Order == status.OrderCause && about(a) {
				alert = a
			}
		}
	}
	switch {
	case v.site.DefaultNode:
		found.title, found.text = "No node is configured", "Set AVAX_NODES, such as AVAX_NODES=alpha=http://127.0.0.1:9650. The default address does not answer."
	case errors.Is(v.alertsErr, errNoSource):
	case v.alertsErr != nil:
		found.title += "; alerts are unknown"
	case alert == nil:
		found.title += "; no alert yet"
	default:
		found.title += "; " + v.whenItFires(alert)
		found.text = v.action(alert)
	}
	return found
}

// whenItFires returns since when an alert fires, or when it will.
func (v *view) whenItFires(a *status.Active) string {
	what := "alerts"
	if a.Severity == status.Bad {
		what = "pages"
	}
	if a.Firing {
		return what + " since " + words.ClockTime(v.At, a.Fires())
	}
	if left := a.Fires().Sub(v.At); left > 0 {
		return what + " in " + words.Exact(left)
	}
	return what + " with the next evaluation"
}

// action returns the first action that the alert recommends, or how to configure a node if none is configured.
func (v *view) action(a *status.Active) string {
	if v.site.DefaultNode && slices.Contains(v.notAnswering, a.Labels["node"]) {
		return "Set AVAX_NODES: no node is configured, and the default address does not answer."
	}
	return strings.TrimSpace(a.Action() + " " + v.amount(a))
}

// amount returns how much AVAX the validator or the L1 of an alert about balances needs; empty if this is not known, or if the action says
// what these days cost.
func (v *view) amount(a *status.Active) string {
	days := fmt.Sprintf("%d days", staking.TopUpDays)
	if a.Kept() || !v.AboutBalance(a) || strings.Contains(a.Action(), days) {
		return ""
	}
	var sum uint64
	for id, amount := range v.topUps(v.L1(a.Labels["chain"])) {
		if of := a.Labels["validation_id"]; of == "" || of == id {
			sum += amount
		}
	}
	if sum == 0 {
		return ""
	}
	return words.AVAX(float64(sum)/1e9) + " last for " + days + "."
}
