package web

import (
	"errors"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// remedy says in plain words how a call ended, and what to do about it.
type remedy struct {
	What string
	Do   string
	// service replaces Do where the upstream is a service and no node.
	service string
	// byText tells that two errors are one problem only if they read the same.
	byText bool
}

var remedies = map[scrape.Outcome]remedy{
	scrape.Unreachable: {
		What:    "No connection",
		Do:      "Is the process up, and is its address in AVAX_NODES right? If it is up, look at DNS, at the firewall between, and at the node's --http-host: by default it listens on its own host alone.",
		service: "Is its address in the configuration right? Look at DNS, firewall and proxy of the exporter's host, and whether the service is down for others too.",
	},
	scrape.Timeout: {
		What:    "No answer in time",
		Do:      "It hangs or is overloaded, or a firewall drops packets: look at the node's CPU, disk and log. If it is merely slow, raise AVAX_TIMEOUT, or give the collector a longer period in AVAX_SCHEDULES.",
		service: "It is slow, or a firewall drops packets. If it stays slow, raise AVAX_TIMEOUT.",
	},
	scrape.Forbidden: {
		What:    "The exporter is not let in",
		Do:      "A node refuses host names that it does not know: write its IP address into AVAX_NODES, set AVAX_NODE_HOST to a name that it allows, or start it with --http-allowed-hosts. A proxy before it wants credentials: in the URL, or in AVAX_NODE_HEADERS_FILE.",
		service: "It wants a key, or another one; or the request goes to the wrong address.",
	},
	scrape.Rejected: {
		What:   "The question was refused",
		Do:     "The reason stands above in its own words. If this release does not offer the method, turn the collector off with AVAX_COLLECTORS=-name.",
		byText: true,
	},
	scrape.RateLimited: {
		What:    "Asked too often",
		Do:      "The exporter waits as long as it was told to. If it lasts, raise the limit of the proxy before the node, or give the collectors longer periods in AVAX_SCHEDULES.",
		service: "The exporter waits as long as it was told to. If it lasts, give the collector a longer period in AVAX_SCHEDULES.",
	},
	scrape.Unavailable: {
		What:    "It says that it cannot answer now",
		Do:      "A proxy answers for a node that is down, or the node itself is in trouble: look at the node's log, then at the proxy's.",
		service: "The service is in trouble. Wait: the exporter goes on asking.",
	},
	scrape.Bootstrapping: {
		What: "The chain is still bootstrapping",
		Do:   "Wait: it answers once that is done. The runbook tells how to see whether it moves.",
	},
	scrape.NotFound: {
		What:    "There is no such chain or API there",
		Do:      "Correct the chain in AVAX_CHAINS, let the node track its subnet with --track-subnets, or turn the API on.",
		service: "Is its address right, and does it cover this network and chain?",
		byText:  true,
	},
	scrape.Malformed: {
		What:    "Not the answer that was asked for",
		Do:      "Is this the address of a node's API, by default on port 9650? A proxy or a login page may stand between. If the node itself says this, please report it: its release answers otherwise than is known.",
		service: "Is this the address of the service? A proxy or a login page may stand between.",
		byText:  true,
	},
	scrape.LocalLimit: {
		What: "The exporter's host lacks descriptors, ports or buffers",
		Do:   "Raise the limit of open files of the exporter (LimitNOFILE), and look for clients that hold many connections to it. This says nothing about the node.",
	},
	scrape.TooLarge: {
		What: "The answer is too large",
		Do:   "Raise AVAX_MAX_BODY.",
	},
}

// noNode is the remedy where not even the API is found that tells who a node is.
var noNode = remedy{
	What: "No node's API is at this address",
	Do: "Write the node's address into AVAX_NODES without a path, such as http://host:9650, and with the node's own port. " +
		"If it is a node, its info API is off (--api-info-enabled).",
}

// mistake is the remedy where no upstream is to blame.
var mistake = remedy{
	What:   "The collector itself failed",
	Do:     "The log has more. If it lasts, please report it with the text above.",
	byText: true,
}

// tooMany is the remedy where a collector has found more than it may serve.
var tooMany = remedy{
	What:   "More series than the collector may serve",
	Do:     "The rest is served, the families named above are not. Do what stands above.",
	byText: true,
}

var collectorMeanings = [][2]string{
	{"State", "How many of the last runs succeeded. “Late” is a collector that has not run for three periods."},
	{"Last run", "When the oldest of the last runs began, and the longest time that one took."},
}

// collectors shows how the collectors fare: what fails and why, then all of them.
// It comes from the store, so it is true whatever becomes of the source.
func (s *Site) collectors(j *judgement, now time.Time) g.Node {
	jobs := s.Store.Jobs()
	failing := failures(jobs)
	shown := failing[:min(len(failing), mostRows)]
	tables := ownTables(s.Store.Tables(now))
	return g.Group{
		g.If(len(failing) > 0, section("failing", "Failing collectors", nil,
			h.Div(h.Class("cards"), g.Map(shown, func(f *failure) g.Node {
				m := j.about(subject{{"collector", f.collectors[0]}, {"target", f.targets[0]}})
				runbook := j.runbook(subject{{"collector", f.collectors[0]}, {"target", f.targets[0]}})
				return h.Article(h.Class("card "+m.class()),
					h.Header(h.H3(g.Text(brief(f.collectors)+" of "+brief(f.targets)))), f.text(),
					h.P(h.Class("dim"), g.Text("Last success: "+f.lastGood(now)+". "), g.If(runbook != "", link(runbook, "runbook"))))
			})),
			more(len(failing)-len(shown), " more causes"))),
		g.If(len(tables) > 0, section("facts", "Details", nil, g.Map(tables[:min(len(tables), mostTables)], factTable), more(len(tables)-mostTables, " more tables"))),
		section("collectors", "Collectors", collectorMeanings, h.Details(h.Summary(g.Text(collectorSum(jobs))), collectorTable(j, jobs, now))),
	}
}

func factTable(t snapshot.Table) g.Node {
	shown := t.Rows[:min(len(t.Rows), mostFacts)]
	return h.Details(h.Summary(g.Text(t.About)), table("facts", t.About, t.Columns, g.Map(shown, func(cells []string) g.Node {
		out := []cell{}
		for i, text := range cells[1:] {
			out = append(out, textCell(t.Columns[i+1], text, mark{}))
		}
		return tableRow("", mark{}, g.Text(cells[0]), out...)
	})), more(t.LeftOut+len(t.Rows)-len(shown), " more"))
}

func collectorSum(jobs []snapshot.Job) string {
	good := 0
	for _, j := range jobs {
		if j.Last.Err == nil {
			good++
		}
	}
	if len(jobs) == 0 {
		return "No collector has run yet"
	}
	return number(good) + " of " + plural(len(jobs), "collector run", "collector runs") + " succeeded"
}

func collectorTable(j *judgement, jobs []snapshot.Job, now time.Time) g.Node {
	type runs struct {
		name                         string
		targets, series, fails, late int
		oldest                       time.Time
		longest                      time.Duration
	}
	var all []*runs
	for _, job := range jobs { // ordered by collector
		if len(all) == 0 || all[len(all)-1].name != job.Last.Collector {
			all = append(all, &runs{name: job.Last.Collector, oldest: job.Last.At})
		}
		c := all[len(all)-1]
		c.targets++
		for _, chunk := range job.Fresh(now) {
			c.series += chunk.Series
		}
		if job.Last.At.Before(c.oldest) {
			c.oldest = job.Last.At
		}
		c.longest = max(c.longest, job.Last.Took)
		switch {
		case job.Last.Err != nil:
			c.fails++
		case !now.Before(job.Good.Until):
			c.late++
		}
	}
	return table("runs", "Collectors", []string{"Collector", "Targets", "State", "Last run", "Took", "Series"}, g.Map(all, func(c *runs) g.Node {
		state := "good"
		switch {
		case c.late > 0:
			state = number(c.late) + " late"
		case c.fails > 0:
			state = number(c.fails) + " failed"
		}
		m := j.about(subject{{"collector", c.name}})
		return tableRow("", m, link(manual("metrics.md#"+c.name), c.name),
			textCell("Targets", number(c.targets), mark{}), textCell("State", state, m), textCell("Last run", since(now, c.oldest), mark{}),
			textCell("Took", took(c.longest), mark{}), textCell("Series", number(c.series), mark{}))
	}))
}

// failure is one cause with everything that it stops: a dead node fails all of
// its collectors.
type failure struct {
	remedy
	err        string // of one of the jobs
	targets    []string
	collectors []string
	good       time.Time // of the job that worked last
}

func (f *failure) text() g.Node {
	return h.Div(h.Class("why"), h.P(h.Strong(g.Text(f.What+"."))), h.Code(h.Class("error"), g.Text(f.err)), h.P(g.Text(f.Do)))
}

func (f *failure) lastGood(now time.Time) string {
	if f.good.IsZero() {
		return "never since the exporter started"
	}
	return since(now, f.good)
}

// Remedy says what to do about an error of a collector.
func Remedy(err error) string { return failureOf(err).Do }

// failureOf reads an error.
func failureOf(err error) *failure {
	outcome := scrape.OutcomeOf(err)
	r := remedies[outcome]
	var call *scrape.Error
	known := errors.As(err, &call)
	switch {
	case known && strings.HasPrefix(call.Op, "GET /v1/") && r.service != "": // a node is asked under /ext
		r.Do = r.service
	case known && outcome == scrape.NotFound && strings.HasPrefix(call.Op, "info."):
		r = noNode
	case errors.Is(err, metric.ErrTooMany):
		r = tooMany
	case !known && outcome == scrape.Malformed: // nobody can name it
		r = mistake
	}
	return &failure{remedy: r, err: err.Error()}
}

// failures puts together what has one cause: what ends alike at one upstream.
func failures(jobs []snapshot.Job) []*failure {
	byCause := map[string]*failure{}
	var all []*failure
	for _, j := range jobs {
		if j.Last.Err == nil {
			continue
		}
		one := failureOf(j.Last.Err)
		cause := j.Last.Target.Node + "\x00" + one.What + one.Do
		if one.byText {
			cause += one.err
		}
		f := byCause[cause]
		if f == nil {
			f = one
			byCause[cause] = f
			all = append(all, f)
		}
		f.targets = appendNew(f.targets, j.Last.Target.String())
		f.collectors = appendNew(f.collectors, j.Last.Collector)
		if j.Good.At.After(f.good) {
			f.good = j.Good.At
		}
	}
	return all
}
