package web

import (
	"context"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/snapshot"
)

// Limits of a page: beyond them it says how many more there are.
const (
	openNodes   = 24  // nodes that are not folded away
	mostRows    = 50  // of one table
	mostL1Rows  = 500 // of all tables of L1 validators together
	openL1s     = 3   // L1s that are open although they are well
	mostBudgets = 20  // validators with their reward budget
	mostFacts   = 20  // rows of a collector's own table
	mostTables  = 20  // of one kind
	mostCauses  = 50  // of failing collectors
	mostOfACard = 3   // causes on the card of a node that is down
)

// view is what the page shows.
type view struct {
	Version          string
	Alerting         bool // whether this process pages
	Now              time.Time
	Verdict          verdict
	Nodes, MoreNodes []*nodeView // worst first
	Validators       []*validatorView
	MoreValidators   int
	Budgets          []*budgetView
	MoreBudgets      int
	L1s              []*l1View
	Differences      []remark // between the own nodes
	// Tables of collectors: of who would vote no, of what the nodes differ in, and others.
	Dissenters, Variants, Facts tables
	Failing                     []*failure
	MoreFailing                 int
	Collectors                  []collectorView
}

// figure is a value with its name.
type figure struct {
	Name string
	cell
}

// remark is one thing that is wrong at its place.
type remark struct {
	Text, Alert string
	Level       level
}

// page gathers a view. Its parts add to the view what they show, to the problems
// what they find wrong, and to the sums what the verdict rests on.
type page struct {
	view
	facts
	nodes
	jobs     []snapshot.Job
	problems problems
	// explained are alerts some of whose causes are told by others.
	explained map[string]bool
	cut       map[string]bool              // IDs of own nodes that cannot be seen
	active    map[string][]activeValidator // of each L1
	own       map[labels]bool              // the own among them, by chain and node ID
	sums      []string
}

func (s *Site) view(now time.Time) view {
	p := s.pageAt(now)
	if s.Alerting != nil {
		p.addAlerts(s.groups(context.Background()), s.Alerting.Receivers())
	}
	return p.judged(s.Progress())
}

// pageAt is the page that the samples make.
func (s *Site) pageAt(now time.Time) *page {
	jobs := s.Store.Jobs()
	p := &page{
		view: view{Version: s.Version, Alerting: s.Alerting != nil, Now: now}, facts: factsOf(jobs, now), nodes: nodesOf(jobs), jobs: jobs,
		problems: problems{}, explained: map[string]bool{},
	}
	p.cut = p.cutOff()
	p.active, p.own = p.activeValidators()
	p.addNodes()
	p.addDifferences()
	p.addValidators()
	p.addBudgets()
	p.addL1s()
	p.addL1Sightings()
	p.addMoney()
	p.addTables(s.Store.Tables(now))
	p.addRuns()
	return p
}

// judged is the view with its verdict.
func (p *page) judged(ran, of int) view {
	p.Verdict = p.problems.judge(ran, of)
	p.Verdict.Sums = append(p.Verdict.Sums, p.sums...)
	return p.view
}

// sum tells "3 of 4 nodes up", where there is anything to tell.
func (p *page) sum(n, of int, one, many, state string) {
	if of > 0 {
		p.sums = append(p.sums, count(float64(n))+" of "+plural(of, one, many)+" "+state)
	}
}

// left is how many seconds it is until the moment, in Unix seconds; nil where
// there is none.
func (p *page) left(until *float64) *float64 {
	if until == nil {
		return nil
	}
	left := *until - float64(p.Now.UnixMilli())/1000
	return &left
}

// in shows the moment in which what is left is used up, which is never one of the
// past.
func (p *page) in(seconds float64) cell {
	if seconds <= 0 {
		return cell{Text: "now"}
	}
	at := float64(p.Now.UnixMilli())/1000 + seconds
	return moment(p.Now, &at, "")
}

// notTold is why a value is absent that a well node has.
const notTold = "no fresh answer: see what fails"

// brief names a few and counts the rest.
func brief(names []string) string {
	const few = 3
	if len(names) > few {
		return strings.Join(names[:few], ", ") + " and " + count(float64(len(names)-few)) + " more"
	}
	return strings.Join(names, ", ")
}
