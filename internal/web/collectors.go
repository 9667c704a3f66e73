package web

import (
	"slices"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var collectorMeanings = [][2]string{
	{"State", "How many of the last runs succeeded. “Late”: the collector has not run for three periods."},
	{"Last run", "For each collector, the oldest last run of its targets, and the longest duration of a run."},
}

// collectorSections shows the state of the collectors: first the failures and their causes, then all collectors. It reads only
// the jobs, so it also works if the source of alerts fails.
func (v *view) collectorSections() g.Node {
	jobs, j, now := v.Jobs, v.Alerts, v.At
	failing := v.otherFailures()
	shown := failing[:min(len(failing), maxRows)]
	tables := slices.DeleteFunc(metric.Tables(jobs, now), func(t metric.JobTable) bool {
		return t.Collector == status.HealthCollector || len(t.Rows) == 0 // the node has a table of its failing checks
	})
	return g.Group{
		g.If(len(failing) > 0, section("failing", "Failing collectors", nil,
			h.Div(h.Class("cards"), g.Map(shown, func(f *status.Failure) g.Node {
				m := j.About(status.Subject{{"collector", f.Collectors[0]}, {"target", f.Targets[0]}})
				runbook := j.Runbook(status.Subject{{"collector", f.Collectors[0]}, {"target", f.Targets[0]}})
				return h.Article(h.Class("card "+m.Class()),
					h.Header(h.H3(g.Text(f.Title()))), failureText(f),
					h.P(h.Class("dim"), g.Text("Last success: "+lastGood(f, now)+". "), g.If(runbook != "", link(runbook, "runbook"))))
			})),
			more(len(failing)-len(shown), " more causes"))),
		g.If(len(tables) > 0, section("facts", "Details", nil, g.Map(tables[:min(len(tables), maxTables)], detailTable),
			more(len(tables)-maxTables, " more tables"))),
		section("collectors", "Collectors", collectorMeanings, h.Details(h.Summary(g.Text(collectorSum(jobs, now))), collectorTable(j, jobs, now))),
	}
}

func detailTable(t metric.JobTable) g.Node {
	shown := t.Rows[:min(len(t.Rows), maxDetails)]
	return h.Details(h.Summary(g.Text(t.About)), table("facts", t.About, t.Columns[0], mapped(shown, func(cells []string) tableRow {
		out := []cell{}
		for i, text := range cells[1:] {
			out = append(out, textCell(t.Columns[i+1], text, status.Urgency{}))
		}
		return tableRow{header: g.Text(cells[0]), cells: out}
	})), more(t.LeftOut+len(t.Rows)-len(shown), " more"))
}

// otherFailures returns the failures whose cause the page does not show elsewhere: the card of a node says why it cannot be read and which chains bootstrap,
// and a problem has its effects.
func (v *view) otherFailures() []*status.Failure {
	return slices.DeleteFunc(slices.Clone(v.failing), func(f *status.Failure) bool {
		n := v.Node(f.Node)
		return f.Node != "" && len(v.Nodes) <= maxCards && (n.Down() || n.State.Err != nil || scrape.OutcomeOf(f.Err) == scrape.Bootstrapping) ||
			slices.ContainsFunc(v.Problems, func(p *status.Problem) bool { return v.Explains(p, f, n.Down()) })
	})
}

func collectorSum(jobs []*metric.Job, now time.Time) string {
	good, late := 0, 0
	for _, j := range jobs {
		switch {
		case j.Last.Err != nil:
		case !now.Before(j.Good.Until):
			late++
		default:
			good++
		}
	}
	if len(jobs) == 0 {
		return "No collector has run yet"
	}
	text := words.Number(good) + " of " + words.Plural(len(jobs), "collector run", "collector runs") + " succeeded"
	if late > 0 {
		text += ", " + words.Number(late) + " overdue"
	}
	return text
}

func collectorTable(j *status.Alerts, jobs []*metric.Job, now time.Time) g.Node {
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
			state = words.Number(c.late) + " late"
		case c.fails > 0:
			state = words.Number(c.fails) + " failed"
		}
		m := j.About(status.Subject{{"collector", c.name}})
		return tableRow{"", m, link(manual("metrics.md#"+c.name), c.name), []cell{
			textCell("Targets", words.Number(c.targets), status.Urgency{}), textCell("State", state, m),
			textCell("Last run", words.Since(now, c.oldest), status.Urgency{}),
			textCell("Took", words.Took(c.longest), status.Urgency{}), textCell("Series", words.Number(c.series), status.Urgency{}),
		}}
	}))
}

func failureText(f *status.Failure) g.Node {
	return h.Div(h.Class("why"), h.P(h.Strong(g.Text(f.What+"."))), h.Code(h.Class("error"), g.Text(f.Err.Error())), h.P(g.Text(f.Do)))
}

func lastGood(f *status.Failure, now time.Time) string {
	if f.Good.IsZero() {
		return "never since the exporter started"
	}
	return words.Since(now, f.Good)
}
