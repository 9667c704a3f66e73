package backtest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/common/model"
)

// Summary is one row of the report: the incidents of an alert with one severity.
type Summary struct {
	Alert    string `json:"alert"`
	Severity string `json:"severity"`
	// Fired is the number of incidents.
	Fired int `json:"fired"`
	// Brief is the number of incidents that ended within briefly by themselves.
	Brief     int `json:"brief"`
	Inhibited int `json:"inhibited"` // incidents that were inhibited from begin to end
	Notified  int `json:"notified"`  // notifications that contain the alert
	Pending   int `json:"pending"`   // times that the alert was pending without firing; of all severities
	// Longest and Total are the durations of the incidents in the range, in seconds.
	Longest float64 `json:"longest_seconds"`
	Total   float64 `json:"total_seconds"`
}

// briefly is the time after which an incident no longer counts as ended by itself.
const briefly = 15 * time.Minute

// Summaries returns a row for each alert that fired or was pending, pages first, then by number.
func (r *Result) Summaries() []Summary {
	type key struct{ alert, severity string }
	rows := map[key]*Summary{}
	for i, incident := range r.Incidents {
		k := key{incident.Alert, incident.Severity()}
		if rows[k] == nil {
			rows[k] = &Summary{Alert: k.alert, Severity: k.severity, Pending: r.Pending[k.alert]}
		}
		s, took := rows[k], incident.during(r)
		s.Fired++
		s.Total += took.Seconds()
		s.Longest = max(s.Longest, took.Seconds())
		if !incident.Resolved.IsZero() && incident.Resolved.Sub(incident.Fired) <= briefly {
			s.Brief++
		}
		if incident.Inhibited >= took {
			s.Inhibited++
		}
		for _, n := range r.Notifications {
			if slices.Contains(n.Firing, i) {
				s.Notified++
			}
		}
	}
	for alert, n := range r.Pending {
		if !slices.ContainsFunc(r.Incidents, func(i Incident) bool { return i.Alert == alert }) {
			rows[key{alert, ""}] = &Summary{Alert: alert, Pending: n}
		}
	}
	order := []string{"", "info", "warn", "page"}
	return slices.SortedFunc(func(yield func(Summary) bool) {
		for _, s := range rows {
			if !yield(*s) {
				return
			}
		}
	}, func(a, b Summary) int {
		rank := func(s Summary) int { return slices.Index(order, s.Severity) }
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(b.Fired, a.Fired), cmp.Compare(b.Pending, a.Pending), cmp.Compare(a.Alert, b.Alert))
	})
}

// PerWeek returns the number of notifications of a severity per week.
func (r *Result) PerWeek(severity string) float64 {
	n := 0
	for _, sent := range r.Notifications {
		if sent.Severity == severity {
			n++
		}
	}
	const week = 7 * 24 * time.Hour
	return float64(n) / (float64(r.To.Sub(r.From)) / float64(week))
}

// Print writes the report for people. With list it includes every incident.
func (r *Result) Print(w io.Writer, list bool) error {
	p := bufio.NewWriter(w)
	fmt.Fprintf(p, "%s to %s (%s)\n", stamp(r.From), stamp(r.To), model.Duration(r.To.Sub(r.From).Round(time.Minute)))
	fired, sent := 0, 0 // without those that are no problem
	for _, i := range r.Incidents {
		if i.Severity() != none {
			fired++
		}
	}
	for _, n := range r.Notifications {
		if n.Severity != none {
			sent++
		}
	}
	fmt.Fprintf(p, "%s, %s; per week: %.1f pages, %.1f warnings, %.1f notes\n", count(fired, "alert"), count(sent, "notification"),
		r.PerWeek("page"), r.PerWeek("warn"), r.PerWeek("info"))
	if rows := r.Summaries(); len(rows) > 0 {
		fmt.Fprintln(p)
		t := tabwriter.NewWriter(p, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "ALERT\tSEVERITY\tFIRED\tENDED WITHIN 15m\tINHIBITED\tNOTIFIED\tONLY PENDING\tLONGEST\t")
		for _, s := range rows {
			longest := ""
			if s.Fired > 0 {
				longest = model.Duration(time.Duration(s.Longest) * time.Second).String()
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t\n", s.Alert, s.Severity, s.Fired, s.Brief, s.Inhibited, s.Notified, s.Pending, longest)
		}
		_ = t.Flush() // p keeps the error
	}
	if list {
		r.list(p)
	}
	r.gaps(p)
	for _, text := range r.Errors {
		fmt.Fprintf(p, "\nFailed, and left out at these times: %s\n", text)
	}
	return p.Flush()
}

// list prints the incidents.
func (r *Result) list(p *bufio.Writer) {
	fmt.Fprintln(p)
	for _, i := range r.Incidents {
		took := "still firing"
		if !i.Resolved.IsZero() {
			took = "for " + model.Duration(i.Resolved.Sub(i.Fired)).String()
		}
		inhibited := ""
		if i.Inhibited > 0 {
			inhibited = ", inhibited for " + model.Duration(i.Inhibited).String()
		}
		fmt.Fprintf(p, "%s  %-4s  %s %s%s\n    %s\n", stamp(i.Fired), i.Severity(), i.Alert, took, inhibited, cmp.Or(i.Summary, i.Labels.String()))
	}
}

// gaps prints which alerts could not be judged. Alerts with the same gap share a line.
func (r *Result) gaps(p *bufio.Writer) {
	lines := map[string][]string{}
	for _, g := range r.Gaps {
		switch {
		case !g.Judged:
			line := "Not judged, because there are no samples of " + strings.Join(g.Missing, ", ")
			lines[line] = append(lines[line], g.Alert)
		case len(g.Missing) > 0:
			line := "Judged in part, without " + strings.Join(g.Missing, ", ")
			lines[line] = append(lines[line], g.Alert)
		}
		if g.Judged && !g.Begin.IsZero() {
			line := "Judged only from " + stamp(g.Begin) + ", because there are no older samples"
			lines[line] = append(lines[line], g.Alert)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(p, "\n%s:\n  %s\n", line, strings.Join(lines[line], ", "))
	}
}

// stamp formats a time for people.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// WriteJSON writes the result for programs.
func (r *Result) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r.document())
}

// document returns the result in the format of WriteJSON.
func (r *Result) document() any {
	type incident struct {
		Alert     string            `json:"alert"`
		Labels    map[string]string `json:"labels"`
		Summary   string            `json:"summary,omitempty"`
		Active    time.Time         `json:"active"`
		Fired     time.Time         `json:"fired"`
		Resolved  *time.Time        `json:"resolved"` // null: still firing
		Inhibited float64           `json:"inhibited_seconds"`
	}
	document := struct {
		From          time.Time      `json:"from"`
		To            time.Time      `json:"to"`
		Alerts        []Summary      `json:"alerts"`
		Incidents     []incident     `json:"incidents"`
		Notifications []Notification `json:"notifications"`
		Gaps          []Gap          `json:"gaps"`
		Errors        []string       `json:"errors"`
	}{r.From, r.To, r.Summaries(), []incident{}, r.Notifications, r.Gaps, r.Errors}
	for _, i := range r.Incidents {
		one := incident{i.Alert, i.Labels.Map(), i.Summary, i.Active, i.Fired, &i.Resolved, i.Inhibited.Seconds()}
		if i.Resolved.IsZero() {
			one.Resolved = nil
		}
		document.Incidents = append(document.Incidents, one)
	}
	return document
}
