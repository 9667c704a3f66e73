package app_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/section"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// TestAllIncidents runs all incidents, and compares the tables of docs/rules.md with the notifications and the status page.
func TestAllIncidents(t *testing.T) {
	testworld.Full(t)
	all := incidents()
	sent, shown := make([][]string, len(all)), make([][]string, len(all))
	t.Run("run", func(t *testing.T) {
		for i, d := range all {
			t.Run(d.what, func(t *testing.T) {
				t.Parallel()
				o := d.run(t)
				sent[i], shown[i] = o.row(), append([]string{d.what}, o.shown...)
			})
		}
	})
	compareTable(t, "incidents", columns, sent, differ)
	compareTable(t, "incidents-shown", shownColumns, shown, differsOnThePage)
}

// compareTable compares the rows of a table in the docs with the rows of this run. A row is nil if its incident was not run. With -update,
// it writes the rows to the docs.
func compareTable(t *testing.T, name string, columns []string, rows [][]string, differ func(was, is []string) string) {
	t.Helper()
	const file = "../../docs/rules.md"
	old := must.Get(section.Read(file, name))(t)
	written := map[string][]string{}
	for line := range strings.Lines(old) {
		if cells := strings.Split(strings.Trim(line, "| \n"), " | "); len(cells) == len(columns) {
			written[cells[0]] = cells
		}
	}
	table := "\n| " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat("---|", len(columns)) + "\n"
	for i, d := range incidents() {
		row, was := rows[i], written[d.what]
		if row == nil {
			row = was
		}
		if row == nil {
			continue
		}
		table += "| " + strings.Join(row, " | ") + " |\n"
		if what := differ(was, row); what != "" && !testworld.Update() {
			t.Errorf("%s: %s; if this is intended, run `make incidents TESTFLAGS=-update`\nwas %q\nis  %q", d.what, what, was, row)
		}
	}
	if testworld.Update() {
		must.Do(t, section.Write(file, name, table+"\n"))
	}
}

var shownColumns = []string{"what happens", "after 30 s", "after 2 min", "when the notifications are sent"}

// differsOnThePage returns the differences of the status page. It tolerates differences that depend on timing: at the first times, a
// collector may not have run yet, and an alert may be pending or not.
func differsOnThePage(was, is []string) string {
	if len(was) != len(is) {
		return "the table has no such row"
	}
	first := func(cell string) string {
		for name := range strings.SplitSeq(cell, ", ") {
			if name != "–" && !strings.HasSuffix(name, " pending") {
				return name
			}
		}
		return ""
	}
	if first(was[3]) != first(is[3]) {
		return "the status page begins with something else"
	}
	return ""
}

var (
	durations = regexp.MustCompile(`-?(\d+[hms])+`)
	counts    = regexp.MustCompile(` ×\d+`)
)

// differ returns the differences between the alerts of two runs, or between their times. It tolerates differences in the number of
// alerts of a kind and in the suppressed alerts. Times may differ by the period of a collector: for a page by at most five minutes.
func differ(was, is []string) string {
	if len(was) != len(is) {
		return "the table has no such row"
	}
	for i := range 3 {
		names := func(cell string) string {
			parts := strings.Split(counts.ReplaceAllString(durations.ReplaceAllString(cell, ""), ""), ", ")
			slices.Sort(parts)
			return strings.Join(parts, ", ")
		}
		if names(was[i]) != names(is[i]) {
			return "other notifications"
		}
	}
	for i, tolerance := range map[int]time.Duration{1: 5 * time.Minute, 2: 5 * time.Minute, 4: 10 * time.Minute} {
		then, now := durations.FindAllString(was[i], -1), durations.FindAllString(is[i], -1)
		for j := range min(len(then), len(now)) {
			a, errA := time.ParseDuration(then[j])
			b, errB := time.ParseDuration(now[j])
			if errA == nil && errB == nil && (a-b).Abs() > tolerance {
				return fmt.Sprintf("%v became %v", a, b)
			}
		}
	}
	return ""
}

// columns are the columns of row.
var columns = []string{"what happens", "pages, after", "also notified, after", "fires, but its cause suppresses it", "all resolved, after its end"}

// row returns the outcome in columns.
func (o outcome) row() []string {
	var paged, noted, silent []string
	counts := map[string]int{} // of notifications or, if there was none, of alerts
	notified := map[string]bool{}
	key := func(e *episode) string { return fmt.Sprint(e.name(), e.labels["severity"], e.notified.IsZero()) }
	for _, e := range o.episodes {
		if notification := fmt.Sprint(key(e), e.group, e.notified); e.notified.IsZero() || !notified[notification] {
			notified[notification] = true
			counts[key(e)]++
		}
	}
	quiet, never := time.Duration(0), false
	for _, e := range o.episodes {
		never = never || e.fires()
		quiet = max(quiet, e.ended.Sub(o.recovered))
		n := counts[key(e)]
		counts[key(e)] = 0
		if n == 0 {
			continue // the first of its kind is listed
		}
		text := e.name()
		if n > 1 {
			text += fmt.Sprintf(" ×%d", n)
		}
		since := e.notified
		if since.IsZero() {
			since = e.began
		}
		text += " " + short(since.Sub(o.at))
		switch {
		case e.notified.IsZero():
			silent = append(silent, text)
		case e.labels["severity"] == "page":
			paged = append(paged, text)
		default:
			noted = append(noted, text+" ("+e.labels["severity"]+")")
		}
	}
	over := short(quiet)
	if never || len(o.episodes) == 0 {
		over = "–"
	}
	cell := func(list []string) string {
		slices.Sort(list)
		return cmp.Or(strings.Join(list, ", "), "–")
	}
	return []string{o.what, cell(paged), cell(noted), cell(silent), over}
}

// short formats a time to a quarter of a minute.
func short(d time.Duration) string {
	text := d.Round(15 * time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// name returns the alert with the labels of its tier.
func (e *episode) name() string {
	name := e.labels["alertname"]
	if within := e.labels["within"]; within != "" {
		name += " (" + within + ")"
	}
	return name
}
