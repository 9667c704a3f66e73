package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// level is how urgent something is; its text is a class in the page's style.
type level int

const (
	well level = iota
	note       // good to know
	warn       // can wait until the morning
	bad        // cannot
)

// off is what is neither well nor a problem.
const off level = -1

func (l level) String() string { return [...]string{"off", "well", "note", "warn", "bad"}[l-off] }

// kind is a kind of problem: an alert of alerts/rules.yml, with the values
// under or over which it is a note, a warning or bad. The page tells what is so
// now; an alert waits, and knows what was.
type kind struct {
	alert           string
	one, many       string
	note, warn, bad float64
	// covers are alerts that this one's cause sets off as well: the page judges
	// them too, and leaves them out where this is told.
	covers []string
}

const day = 24 * 60 * 60.0 // seconds

// kinds are what the page looks for, worst first among the equally urgent.
var kinds = []kind{
	{alert: "AvaxNodeDown", one: "node is down", many: "nodes are down"},
	{alert: "AvaxDataTooOld", one: "collector has stopped", many: "collectors have stopped"},
	{alert: "AvaxAlertmanagerDown", one: "Alertmanager takes no alerts", many: "Alertmanagers take no alerts"},
	{alert: "AvaxStakeUnreachable", one: "network is out of all your nodes’ reach", covers: []string{"AvaxConnectedStakeLow", "AvaxHeadStale", "AvaxHeadLag", "AvaxChainHalted"}},
	{alert: "AvaxChainHalted", one: "chain stands still on all nodes", many: "chains stand still on all nodes", covers: []string{"AvaxHeadStale", "AvaxHeadLag"}},
	{alert: "AvaxForkDetected", one: "node has forked off", many: "nodes have forked off", covers: []string{"AvaxHeadStale"}},
	{alert: "AvaxWrongNetwork", one: "node belongs to another network", many: "nodes belong to another network", covers: []string{"AvaxHeadStale"}},
	{alert: "AvaxDuplicateNodeID", one: "node ID is used twice", many: "node IDs are used twice"},
	{alert: "AvaxValidatorMissing", one: "validator is not in the set", many: "validators are not in the set"},
	{alert: "AvaxValidatorDisconnected", one: "validator is disconnected", many: "validators are disconnected", bad: 0.5},
	{alert: "AvaxChainNotBootstrapped", one: "chain is not bootstrapped", many: "chains are not bootstrapped"},
	{alert: "AvaxChainNotValidating", one: "chain is validated and not run", many: "chains are validated and not run"},
	{alert: "AvaxHeadStale", one: "chain is stuck on a node", many: "chains are stuck on a node", bad: 60, covers: []string{"AvaxHeadLag"}},
	{alert: "AvaxHeadLag", one: "chain is behind on a node", many: "chains are behind on a node", warn: 30, bad: 300},
	{alert: "AvaxRewardUnreachable", one: "reward is out of reach", many: "rewards are out of reach"},
	{alert: "AvaxRewardLost", one: "reward would not be paid today", many: "rewards would not be paid today", bad: 0.5, covers: []string{"AvaxRewardStakeLow"}},
	{alert: "AvaxRewardStakeLow", one: "reward is at risk", many: "rewards are at risk", warn: 0.95, bad: 0.8},
	{alert: "AvaxL1ActiveWeightLow", one: "L1 has too little active weight", many: "L1s have too little active weight", warn: 0.9, bad: 0.8},
	{
		alert: "AvaxL1ConnectedWeightLow", one: "L1 is reached too little", many: "L1s are reached too little", warn: 0.9, bad: 0.8,
		covers: []string{"AvaxL1NodeIsolated", "AvaxL1WarpQuorumAtRisk"},
	},
	{alert: "AvaxL1QuorumLossForecast", one: "L1 will lose its quorum", many: "L1s will lose their quorum", warn: 14 * day, bad: 3 * day},
	{alert: "AvaxL1ValidatorInactive", one: "L1 validator is inactive", many: "L1 validators are inactive"},
	{alert: "AvaxL1ValidatorDisconnected", one: "L1 validator is disconnected", many: "L1 validators are disconnected"},
	{alert: "AvaxConnectedStakeLow", one: "node reaches too little stake", many: "nodes reach too little stake", warn: 0.9, bad: 0.8, covers: []string{"AvaxHeadStale", "AvaxHeadLag"}},
	{alert: "AvaxNodeDiskLow", one: "disk is nearly full", many: "disks are nearly full"},
	{alert: "AvaxUnknownUpgradeSoon", one: "node does not know an upgrade that is near", many: "nodes do not know an upgrade that is near", warn: 7 * day, bad: 3 * day},
	{alert: "AvaxUpgradeScheduleMismatch", one: "upgrade schedule differs", many: "upgrade schedules differ", bad: 3 * day},
	{alert: "AvaxChainConfigDrift", one: "chain configuration differs", many: "chain configurations differ", bad: 1 * day},
	{alert: "AvaxL1RunwayLow", one: "L1 validator runs dry", many: "L1 validators run dry", warn: 30 * day, bad: 7 * day},
	{alert: "AvaxTopUpWalletLow", one: "wallet that tops up runs dry", warn: 30, bad: 7}, // days
	{alert: "AvaxDowntimeBudgetLow", one: "downtime budget is low", many: "downtime budgets are low", warn: 0.5, bad: 0.75},
	{alert: "AvaxL1UptimeLow", one: "L1 validator has a low uptime", many: "L1 validators have low uptimes", warn: 0.9, bad: 0.8},
	{alert: "AvaxStakeEndsSoon", one: "stake ends soon", many: "stakes end soon", note: 14 * day, warn: 7 * day, bad: 1 * day},
	{alert: "AvaxICMUndelivered", one: "route between chains is late", many: "routes between chains are late", warn: 10 * 60, bad: 30 * 60},
	{alert: "AvaxBenchedPeersHigh", one: "node benches many peers", many: "nodes bench many peers", warn: 0.05, bad: 0.2},
	{alert: "AvaxNodeIdentityChanged", one: "node has changed its identity", many: "nodes have changed their identity"},
	{alert: "AvaxHealthCheckFailing", one: "node calls itself unhealthy", many: "nodes call themselves unhealthy"},
	{alert: "AvaxVersionSkew", one: "version differs", many: "versions differ"},
	{alert: "AvaxUpstreamForbidden", one: "collector is not let in", many: "collectors are not let in"},
	{alert: "AvaxCollectorFailing", one: "collector fails", many: "collectors fail"},
	{alert: "AvaxVersionBehindNetwork", one: "node runs an old version", many: "nodes run an old version", note: 0.5, warn: 0.8},
	{alert: "AvaxUpgradeImminent", one: "upgrade is near", many: "upgrades are near", note: 1 * day},
}

func kindOf(alert string) int {
	return slices.IndexFunc(kinds, func(k kind) bool { return k.alert == alert })
}

// under tells how urgent the value makes the alert. An absent value is not urgent.
func under(alert string, v *float64) level {
	k := kinds[kindOf(alert)]
	switch {
	case v == nil:
		return well
	case *v < k.bad:
		return bad
	case *v < k.warn:
		return warn
	case *v < k.note:
		return note
	}
	return well
}

// over tells how urgent a value is that should be low.
func over(alert string, v *float64) level {
	k := kinds[kindOf(alert)]
	exceeds := func(bar float64) bool { return v != nil && bar > 0 && *v > bar }
	switch {
	case exceeds(k.bad):
		return bad
	case exceeds(k.warn):
		return warn
	case exceeds(k.note):
		return note
	}
	return well
}

// place is where a problem shows: on this page, unless it names another. One
// without an anchor shows nowhere else.
type place struct {
	Text, Page, Anchor string
	Level              level
}

// problem is a kind of problem with everything that has it.
type problem struct {
	kind
	rank    int // among the equally urgent
	count   int
	Level   level // of the most urgent one
	Places  []place
	Runbook string
	Fires   bool // its alert does, in this process
}

// Text counts: "2 nodes are down".
func (p problem) Text() string { return plural(p.count, p.one, p.many) }

// mostPlaces is how many places of one problem are named.
const mostPlaces = 5

// More is how many places are not named.
func (p problem) More() int { return max(0, len(p.Places)-mostPlaces) }

// Named are the places that are named.
func (p problem) Named() []place { return p.Places[:min(len(p.Places), mostPlaces)] }

// problems are what was found, one of each kind, by alert.
type problems map[string]*problem

// add counts n problems of a kind at one place; well is none.
func (ps problems) add(alert string, l level, n int, at place) {
	if l <= well {
		return
	}
	if ps[alert] == nil {
		rank := kindOf(alert)
		ps[alert] = &problem{kind: kinds[rank], rank: rank, Runbook: runbookOf(alert)}
	}
	p := ps[alert]
	p.count += n
	p.Level = max(p.Level, l)
	at.Level = l
	p.Places = append(p.Places, at)
}

// has tells whether there is a problem of one of these kinds.
func (ps problems) has(alerts ...string) bool {
	return slices.ContainsFunc(alerts, func(alert string) bool { return ps[alert] != nil })
}

// covers tells whether the alert's cause is told by another, as urgently.
func (ps problems) covers(alert string, l level) bool {
	for _, p := range ps {
		if p.Level >= l && slices.Contains(p.kind.covers, alert) {
			return true
		}
	}
	return false
}

// subject is what has a place on the page, with what is wrong about it.
type subject struct {
	Anchor  string
	Level   level // of the worst remark
	Remarks []remark
}

// remark says that something is wrong; well is nothing.
func (s *subject) remark(alert string, l level, text string) {
	if l > well {
		s.Remarks = append(s.Remarks, remark{text, alert, l})
		s.Level = max(s.Level, l)
	}
}

// wrong says so in the verdict as well.
func (s *subject) wrong(ps problems, alert string, l level, text, at string) {
	s.remark(alert, l, text)
	ps.add(alert, l, 1, place{Text: at, Anchor: s.Anchor})
}

// verdict is the answer to "is all well?".
type verdict struct {
	Level    level
	Title    string
	Waiting  bool     // not every collector has run
	Sums     []string // what it rests on
	Problems []problem
}

// Colour is that of the page's icon.
func (v verdict) Colour() string {
	return map[level]string{well: "2da44e", note: "4c8bf5", warn: "d4960c", bad: "d1242f"}[v.Level]
}

// judge says what is wrong, worst first. Nothing is called well before every
// collector has run.
func (ps problems) judge(ran, of int) verdict {
	v := verdict{}
	for _, p := range ps {
		slices.SortStableFunc(p.Places, func(a, b place) int { return cmp.Compare(b.Level, a.Level) })
		v.Problems = append(v.Problems, *p)
		v.Level = max(v.Level, p.Level)
	}
	slices.SortFunc(v.Problems, func(a, b problem) int {
		return cmp.Or(-cmp.Compare(a.Level, b.Level), cmp.Compare(a.rank, b.rank), cmp.Compare(a.alert, b.alert))
	})
	numbers := [bad + 1]int{}
	for _, p := range v.Problems {
		numbers[p.Level]++
	}
	var parts []string
	if n := numbers[bad]; n > 0 {
		parts = append(parts, plural(n, "urgent problem", "urgent problems"))
	}
	switch n := numbers[warn]; {
	case n > 0 && len(parts) > 0:
		parts = append(parts, count(float64(n))+" that can wait")
	case n > 0:
		parts = append(parts, plural(n, "problem that can wait", "problems that can wait"))
	}
	v.Title = strings.Join(parts, ", ")
	v.Waiting = ran < of || of == 0
	switch {
	case len(parts) == 0 && v.Waiting:
		v.Title, v.Level = "Waiting for the first answers", note
	case len(parts) == 0:
		v.Title, v.Level = "All is well", well
	}
	if v.Waiting {
		v.Sums = append(v.Sums, fmt.Sprintf("%d of %d collectors have run", ran, of))
	}
	return v
}
