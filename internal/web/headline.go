package web

import (
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

// headline is about the worst incident. Without one it says what there is no data of, or why there are no alerts.
func (v *view) headline() headline {
	none := v.alertHeadline()
	if len(v.incidents) > 0 && v.incidents[0].Shown() >= none.severity {
		found := v.incidentHeadline(v.incidents[0])
		for _, i := range v.incidents { // the first incident is what costs now: a forecast may be more severe
			found.severity = max(found.severity, i.Shown())
		}
		return found
	}
	if gaps := v.Gaps(); len(gaps) > 0 && none.severity < status.Note {
		return v.gapHeadline(gaps)
	}
	return none
}

// incidentHeadline says what has the fault, since when, what happens next, and what to do.
func (v *view) incidentHeadline(i *status.Incident) headline {
	found := headline{i.Shown(), v.incidentTitle(i), i.Do}
	if i.Cause != nil {
		found.text = v.action(i.Cause)
	}
	if found.text == "" && i.Err != nil {
		cause := status.FailureOf(i.Err)
		if found.text = cause.What + ". " + cause.Do; !i.NoAnswer {
			found.text = cause.What + ": " + cause.Err.Error() + ". " + cause.Do
		}
	}
	if i.NoAnswer && v.site.DefaultNode {
		return headline{i.Shown(), "No node is configured", defaultNode}
	}
	return found
}

const defaultNode = "Set AVAX_NODES, such as AVAX_NODES=alpha=http://127.0.0.1:9650. The default address does not answer."

// incidentTitle says what has the fault, since when, and what happens next.
func (v *view) incidentTitle(i *status.Incident) (title string) {
	switch {
	case i.Fact == "" && i.Cause.Deadline.IsZero():
		return v.titleOf(i.Cause) + ", " + stateOf(i.Cause, v.At)
	case i.Fact == "":
		return v.titleOf(i.Cause)
	case i.NoAnswer && len(i.Subjects) > 1:
		title = words.Plural(len(i.Subjects), "node does", "nodes do") + " not answer: " + words.Brief(i.Subjects)
	case len(i.Subjects) == 1 && i.Unread:
		title = i.Subjects[0] + ": " + i.Fact
	case i.Unread:
		return words.Plural(len(i.Subjects), "node", "nodes") + " of " + words.Number(len(v.Nodes)) + " have no data: " + words.Brief(i.Subjects)
	default:
		title = words.Brief(i.Subjects) + ": " + i.Fact
	}
	next := i.Next(v.At)
	switch {
	case errors.Is(v.alertsErr, errNoSource):
	case v.alertsErr != nil && i.NoAnswer:
		next = "alerts are unknown"
	case next == "" && i.NoAnswer:
		next = "no alert yet"
	}
	if next != "" {
		title += "; " + next
	}
	return title
}

// gapHeadline says what there is no data of.
func (v *view) gapHeadline(gaps []status.Gap) headline {
	about := mapped(gaps, func(g status.Gap) string { return g.About })
	return headline{status.Note, "No active alerts, but no data: " + words.Brief(about), gaps[0].About + ": " + gaps[0].Text(v.At) + "."}
}

// alertHeadline says why there are no alerts.
func (v *view) alertHeadline() headline {
	switch {
	case errors.Is(v.alertsErr, errNoSource):
		return headline{status.Note, "Alerts are not evaluated here", "Set AVAX_PROMETHEUS_URL to the Prometheus that evaluates them, or AVAX_ALERTING=on."}
	case v.alertsErr != nil:
		return headline{status.Bad, "Alerts are unknown", "The facts on this page are current. To see alerts, " + v.remedy()}
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
		return headline{status.Note, "No active alerts, " + words.Number(v.Over) + " just over", v.titleOf(worst) + ": " + stateOf(worst, v.At) + "."}
	}
	return headline{severity: status.Well, title: "No active alerts"}
}

// A start ends. What it still lacks after these times is a fault.
const (
	rulesPatience     = time.Minute     // until a Prometheus has the rules
	evaluatedPatience = 5 * time.Minute // until rules are evaluated: their groups may have long intervals
)

// startingHeadline is the headline until every collector has run.
func (v *view) startingHeadline() headline {
	text, fault := v.Starting()
	if what, remedy, _ := strings.Cut(text, ": "); fault {
		return headline{status.Warn, what, strings.ToUpper(remedy[:1]) + remedy[1:] + "."}
	}
	return headline{status.Note, "Starting", text + "."}
}

// unevaluatedHeadline is the headline until rules are evaluated.
func (v *view) unevaluatedHeadline() headline {
	ago, patience := v.At.Sub(v.site.began), evaluatedPatience
	if v.site.remote() && len(v.Groups) == 0 {
		patience = rulesPatience
	}
	switch {
	case ago <= patience:
	case patience == rulesPatience:
		return headline{status.Bad, "The server of AVAX_PROMETHEUS_URL has none of the alert rules: nothing can alert", alerting.NoRules}
	default:
		return headline{status.Bad, "The alert rules have not been evaluated for " + words.Span(ago) + ": nothing can alert", "To see alerts, " + v.remedy()}
	}
	return headline{status.Note, "Starting", "The alert rules have not been evaluated yet. From " +
		words.ClockTime(v.At, v.site.began.Add(patience)) + " on, that is a fault."}
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
	if a.Over() || !v.AboutBalance(a) || strings.Contains(a.Action(), days) {
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
