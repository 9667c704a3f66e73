package web

import (
	"errors"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var collectorMeanings = [][2]string{
	{"State", "How many of the last runs succeeded. “Late”: the collector has not run for three periods."},
	{"Last run", "For each collector, the oldest last run of its targets, and the longest duration of a run."},
}

// collectorSections shows the state of the collectors: first the failures and their causes, then all collectors. It reads only
// the jobs, so it also works if the source of alerts fails.
func collectorSections(jobs []*metric.Job, j *judgement, now time.Time) g.Node {
	failing := failures(jobs)
	shown := failing[:min(len(failing), maxRows)]
	tables := ownTables(metric.Tables(jobs, now))
	return g.Group{
		g.If(len(failing) > 0, section("failing", "Failing collectors", nil,
			h.Div(h.Class("cards"), g.Map(shown, func(f *failure) g.Node {
				m := j.about(subject{{"collector", f.collectors[0]}, {"target", f.targets[0]}})
				runbook := j.runbook(subject{{"collector", f.collectors[0]}, {"target", f.targets[0]}})
				return h.Article(h.Class("card "+m.class()),
					h.Header(h.H3(g.Text(f.title()))), f.text(),
					h.P(h.Class("dim"), g.Text("Last success: "+f.lastGood(now)+". "), g.If(runbook != "", link(runbook, "runbook"))))
			})),
			more(len(failing)-len(shown), " more causes"))),
		g.If(len(tables) > 0, section("facts", "Details", nil, g.Map(tables[:min(len(tables), maxTables)], detailTable), more(len(tables)-maxTables, " more tables"))),
		section("collectors", "Collectors", collectorMeanings, h.Details(h.Summary(g.Text(collectorSum(jobs))), collectorTable(j, jobs, now))),
	}
}

func detailTable(t metric.JobTable) g.Node {
	shown := t.Rows[:min(len(t.Rows), maxDetails)]
	return h.Details(h.Summary(g.Text(t.About)), table("facts", t.About, t.Columns[0], mapped(shown, func(cells []string) tableRow {
		out := []cell{}
		for i, text := range cells[1:] {
			out = append(out, textCell(t.Columns[i+1], text, mark{}))
		}
		return tableRow{header: g.Text(cells[0]), cells: out}
	})), more(t.LeftOut+len(t.Rows)-len(shown), " more"))
}

func collectorSum(jobs []*metric.Job) string {
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

func collectorTable(j *judgement, jobs []*metric.Job, now time.Time) g.Node {
	type runs struct {
		name                         string
		targets, series, fails, late int
		oldest                       time.Time
		longest                      time.Duration
	}
	var all []*runs
	for _, job := range jobs { // sorted by collector
		if len(all) == 0 || all[len(all)-1].name != job.Last.Collector {
			all = append(all, &runs{name: job.Last.Collector, oldest: job.Last.At})
		}
		c := all[len(all)-1]
		c.targets++
		for _, chunk := range job.Fresh(now) {
			c.series += len(chunk.Samples)
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
	return table("runs", "Collectors", "Collector", mapped(all, func(c *runs) tableRow {
		state := "good"
		switch {
		case c.late > 0:
			state = number(c.late) + " late"
		case c.fails > 0:
			state = number(c.fails) + " failed"
		}
		m := j.about(subject{{"collector", c.name}})
		return tableRow{"", m, link(manual("metrics.md#"+c.name), c.name), []cell{
			textCell("Targets", number(c.targets), mark{}), textCell("State", state, m), textCell("Last run", since(now, c.oldest), mark{}),
			textCell("Took", took(c.longest), mark{}), textCell("Series", number(c.series), mark{}),
		}}
	}))
}

// failure is a cause with all jobs that fail because of it. For example, all collectors of a node fail if the node is down.
type failure struct {
	remedy.Remedy
	outcome    scrape.Outcome
	err        error // of one of the jobs
	targets    []string
	collectors []string
	good       time.Time // start of the most recent successful run
}

func (f *failure) title() string { return brief(f.collectors) + " of " + brief(f.targets) }

func (f *failure) text() g.Node {
	return h.Div(h.Class("why"), h.P(h.Strong(g.Text(f.What+"."))), h.Code(h.Class("error"), g.Text(f.err.Error())), h.P(g.Text(f.Do)))
}

func (f *failure) lastGood(now time.Time) string {
	if f.good.IsZero() {
		return "never since the exporter started"
	}
	return since(now, f.good)
}

func failureOf(err error) *failure {
	return &failure{Remedy: remedy.Of(err), outcome: scrape.OutcomeOf(err), err: err}
}

// failures groups failed jobs by cause: the same outcome at one upstream. That nothing offers a call is no failure.
func failures(jobs []*metric.Job) []*failure {
	byCause := map[string]*failure{}
	var all []*failure
	for _, j := range jobs {
		if j.Last.Err == nil || errors.Is(j.Last.Err, metric.ErrNotOffered) {
			continue
		}
		one := failureOf(j.Last.Err)
		cause := upstreamOf(&j.Last) + "\x00" + one.What + one.Do
		if one.ByText {
			cause += one.err.Error()
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

// upstreamOf returns the name of the node that caused the error of a run, or else of the node that the run is about.
func upstreamOf(r *metric.Run) string {
	if call := (*nodes.CallError)(nil); errors.As(r.Err, &call) {
		return call.Node.Name()
	}
	return r.Target.Node
}
