package status

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/words"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// Gap is what is configured and has no valid samples.
type Gap struct {
	About     string // such as "peers of alpha"
	Collector string
	Target    metric.Target
	Since     time.Time // start of the last good run; zero: none since the exporter started
	Err       error     // of the last run; nil if it is overdue
}

// since says since when there is no data.
func (g Gap) since(now time.Time) string {
	if g.Since.IsZero() {
		return "no data since the exporter started"
	}
	return "no data for " + words.Span(now.Sub(g.Since))
}

// Text says since when there is no data, and why.
func (g Gap) Text(now time.Time) string {
	if g.Err == nil {
		return g.since(now) + ", because the collector is overdue"
	}
	return g.since(now) + ", because " + g.Err.Error()
}

// Gaps returns the jobs without samples that count, the longest gap first. A job that nothing offers has none, and no node is missing that does not answer.
func (st *Status) Gaps() (gaps []Gap) {
	for _, j := range st.Jobs {
		if n := st.nodeByName[j.Last.Target.Node]; n != nil && n.Down() {
			continue
		}
		if gap, is := st.gapOf(j); is {
			gaps = append(gaps, gap)
		}
	}
	slices.SortStableFunc(gaps, func(a, b Gap) int { return a.Since.Compare(b.Since) })
	return gaps
}

func (st *Status) gapOf(j *metric.Job) (Gap, bool) {
	if st.At.Before(j.Good.Until) && st.voices.count(j.Good) || errors.Is(j.Last.Err, metric.ErrNotOffered) {
		return Gap{}, false
	}
	err := j.Last.Err
	if !st.voices.count(&j.Last) {
		err = errBefore
	}
	return Gap{j.Last.Collector + " of " + j.Last.Target.String(), j.Last.Collector, j.Last.Target, j.Good.At, err}, true
}

// errBefore is the error of a collector that has not run since its node answers again.
var errBefore = errors.New("the node answers again, and the collector has not run since")

// unread returns the state of a target without a sample of a family.
func (st *Status) unread(about func(metric.Target) bool, f family) State {
	spec, _ := collectors.Find(f.Name)
	for _, j := range st.Jobs {
		if j.Last.Collector != spec.Name || !about(j.Last.Target) {
			continue
		}
		if gap, is := st.gapOf(j); is {
			return State{Severity: Warn, Text: gap.since(st.At), Err: cmp.Or(gap.Err, errOverdue)}
		}
		return State{Severity: Note, Text: "no data", Err: cmp.Or(j.Last.Err, fmt.Errorf("collector %s found none", spec.Name))}
	}
	text, fault := st.Starting()
	switch {
	case fault:
		return State{Severity: Warn, Text: "not read", Err: errors.New(text)}
	case text != "":
		return State{Severity: Note, Text: "not read yet", Err: errors.New(text)}
	}
	return State{Severity: Note, Text: "not read", Err: fmt.Errorf("collector %s has no job for it: it is off, or no node runs the chain", spec.Name)}
}

// errOverdue is the error of a target whose collector has not run for three periods.
var errOverdue = errors.New("the collector is overdue: the exporter is too slow, or was paused")

// WhyNone returns why there is no sample about a subject: that of validators, delegations or L1s. It is empty if the collector is not enabled.
func (st *Status) whyNone(f family, none string) string {
	spec, _ := collectors.Find(f.Name)
	found := false
	for _, j := range st.Jobs {
		if j.Last.Collector != spec.Name {
			continue
		}
		found = true
		if gap, is := st.gapOf(j); is {
			return gap.Text(st.At)
		}
	}
	if !found {
		return ""
	}
	return none
}

// NoValidators returns why no validator is shown; empty if none is to be shown.
func (st *Status) NoValidators() string {
	return st.whyNone(validatorPresent, "None of your nodes validates the primary network, and AVAX_VALIDATORS names no other node.")
}

// NoDelegations returns why no delegation is shown; empty if none is to be shown.
func (st *Status) NoDelegations() string {
	return strings.TrimSpace(st.whyNone(delegationFields[0].family, "The addresses of AVAX_WATCH_DELEGATORS have no delegation now.") + " " + st.Unknown())
}

// Unknown returns what is unknown of the monitored addresses, as sentences.
func (st *Status) Unknown() string {
	var sentences []string
	for _, text := range st.UnknownDelegators {
		sentences = append(sentences, strings.ToUpper(text[:1])+text[1:])
	}
	return strings.Join(sentences, " ")
}

// stateOf returns what the newest samples say about an L1. Its bounds are those of the protocol.
func (st *Status) stateOf(l *L1) State {
	below := func(of Value, quorum float64) bool { share := of.Of(l.Weight); return share.Known && share.V < quorum }
	share := func(of Value) string { return of.Of(l.Weight).Text(words.Percent) }
	switch {
	case !l.Weight.Known:
		return st.unread(func(t metric.Target) bool { return t.Chain == l.Chain }, l1Fields[0].family)
	case l.Weight.V == 0:
		return State{}
	case below(l.ActiveWeight, halts):
		return State{Severity: Bad, Text: "only " + share(l.ActiveWeight) + " of the weight is active: the L1 halts below 75 %",
			Do: "Top up the inactive validators on the P-Chain, the largest weight first. Anyone may pay."}
	case l.ProposersLeft.Is(0):
		return State{Severity: Bad, Text: "no validator can build the next block",
			Do: "Run `avax-exporter explain AvaxL1ProposersLow " + l.Chain + "`. Start one of the listed nodes."}
	case below(l.ConnectedWeight, halts):
		return State{Severity: Bad, Text: "only " + share(l.ConnectedWeight) + " of the weight is connected: the L1 halts below 75 %", Do: st.reconnect(l)}
	case l.Inactive.Known && l.Inactive.V > 0:
		return State{Severity: Warn, Text: words.Plural(int(l.Inactive.V), "validator is inactive", "validators are inactive"), Do: st.reconnect(l)}
	case below(l.ConnectedWeight, staking.Quorum):
		return State{Severity: Warn, Text: "only " + share(l.ConnectedWeight) + " of the weight is connected", Do: st.reconnect(l)}
	}
	return State{}
}

// reconnect returns what to do about the validators of an L1 that are inactive or not connected, by name.
func (st *Status) reconnect(l *L1) (do string) {
	var topUp, restart, call []string
	for _, v := range l.Validators {
		name := cmp.Or(st.NameOf(v.NodeID, v.ValidationID), v.NodeID)
		switch inactive, own := v.Active.Is(0), st.NodeOf(v.NodeID) != ""; {
		case !inactive && (v.Viewers == 0 || v.Connected > 0):
		case !own:
			call = append(call, name)
		case inactive:
			topUp = append(topUp, name)
		default:
			restart = append(restart, name)
		}
	}
	if len(topUp) > 0 {
		do = "Top up your own inactive validators: " + words.Brief(topUp) + ". "
	}
	if len(restart) > 0 {
		do += "Restart your own validators that are not connected: " + words.Brief(restart) + ". Restart no other node. "
	} else if len(topUp)+len(call) > 0 {
		do += "Restart none of your nodes. "
	}
	if len(call) > 0 {
		do += "Call the owners of " + words.Brief(call) + "."
	}
	return cmp.Or(strings.TrimSuffix(do, " "), "Find out which validators are inactive or not connected.")
}

// missesOwn reports whether an L1 has enough weight with the validators whose nodes of yours do not answer, do not run its chain, or have just come back: its
// samples may be older.
func (st *Status) missesOwn(l *L1) bool {
	away := st.weightOf(l, func(n *Node) bool { return n.Down() || st.isJustBack(n) || slices.Contains(n.notRun(), l.Chain) })
	return l.ConnectedWeight.Known && away > 0 && !(l.Inactive.V > 0) && l.ConnectedWeight.V+away >= staking.Quorum*l.Weight.V-1e-9
}

// unasked reports whether an L1 has no data because nodes do not answer, or reject the exporter, or did until they came back: that is an effect.
func (st *Status) unasked(l *L1) bool {
	err := l.State.Err
	return err != nil && (scrape.OutcomeOf(err).IsRejection() || !scrape.Answered(err)) &&
		slices.ContainsFunc(st.Nodes, func(n *Node) bool { return n.Down() || st.isJustBack(n) })
}

// weightOf returns the weight of the active validators of an L1 on your nodes for which is returns true.
func (st *Status) weightOf(l *L1, is func(*Node) bool) (weight float64) {
	for _, v := range l.Validators {
		if n := st.nodeByName[st.NodeOf(v.NodeID)]; n != nil && v.Active.Is(1) && is(n) {
			weight += v.Weight.V
		}
	}
	return weight
}

// isJustBack reports whether others may not report yet that they are connected to a node that answers again.
func (st *Status) isJustBack(n *Node) bool {
	return !n.Down() && !n.since.IsZero() && st.At.Sub(n.since) < 3*time.Minute
}

// isBack reports whether a validator's node has just come back: that others are not connected to it is what they saw before.
func (st *Status) isBack(id string) bool {
	n := st.nodeByName[st.NodeOf(id)]
	return n != nil && st.isJustBack(n)
}

// lacksQuorum reports whether nodes report themselves unhealthy because of a chain: too little weight of the L1 is active or connected, or was until your
// nodes came back: a health check may be older.
func (st *Status) lacksQuorum(chain string) bool {
	l := st.l1ByChain[chain]
	if l == nil {
		return false
	}
	below := func(of Value, less float64) bool {
		return of.Known && l.Weight.Known && l.Weight.V > 0 && of.V-less < staking.Quorum*l.Weight.V-1e-9
	}
	return below(l.ActiveWeight, 0) || below(l.ConnectedWeight, st.weightOf(l, st.isJustBack))
}

// onlyL1sFail reports whether all failing checks of a node are those of L1s that lack quorum, and of the router, which the polls of such L1s fill.
func (st *Status) onlyL1sFail(n *Node) bool {
	lacks := slices.ContainsFunc(slices.Collect(maps.Keys(n.chains)), st.lacksQuorum)
	return !slices.ContainsFunc(n.FailingChecks, func(c FailingCheck) bool { return !st.lacksQuorum(c.Name) && !(lacks && c.Name == "router") })
}

// halts is the share of the weight below which consensus stops.
const halts = 0.75

// Fact is what the newest samples say about a validator: bad if it loses its reward now. It has no text if all is well.
func (v *Validator) Fact() State {
	switch {
	case v.Present.Is(0):
		return State{Severity: Warn, Text: "not in the set", about: validatorPresent.Family, Do: words.StakeAgain} // the alert knows whether its period has ended
	case v.RewardReachable.Is(0):
		return State{Severity: Warn, Text: "reward out of reach", about: validatorReward.Family, Do: readDowntime}
	case v.Viewers > 0 && v.Connected == 0:
		severity := Bad
		if v.Viewers == 1 { // as of its alert: one node may be wrong
			severity = Warn
		}
		return State{Severity: severity, Text: notConnected, about: validatorConnected.Family, Do: words.CheckValidator}
	}
	return State{}
}

// readDowntime is what to do about a reward that is lost.
const readDowntime = "Find out when the validator was down, and avoid more downtime: the votes of the others decide."

// notConnected is the fact that no node is connected to a validator.
const notConnected = "not connected"

// Fact is what the newest samples say about a validator of an L1.
func (v *L1Validator) Fact() State {
	switch {
	case v.Active.Is(0):
		return State{Severity: Bad, Text: "inactive"}
	case v.Viewers > 0 && v.Connected == 0:
		return State{Severity: Warn, Text: notConnected} // as of its alert
	}
	return State{}
}

// FactOf is what the newest samples say about a delegation and its validator.
func (st *Status) FactOf(d *Delegation) State {
	if d.RewardReachable.Is(0) {
		return State{Severity: Bad, Text: "reward out of reach"}
	}
	if v := st.validators[d.NodeID]; v != nil {
		return v.Fact()
	}
	return State{}
}

// ValidatorOf returns the monitored validator with a node ID; nil if it is not monitored.
func (st *Status) ValidatorOf(id string) *Validator { return st.validators[id] }
