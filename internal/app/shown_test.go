package app_test

import (
	"html"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// moments are the times of requests for the status page, from the start of an incident. The last is when all expected alerts are
// sent.
var moments = []time.Duration{30 * time.Second, 2 * time.Minute}

var problem = regexp.MustCompile(`<li class="([a-z]+)( pending)?" id="([^"]+)">`)

var (
	pagingOnce sync.Once
	paging     map[string]bool
)

// pagingAlerts returns the names of the alerts that a rule pages for.
func pagingAlerts(t *testing.T) map[string]bool {
	t.Helper()
	pagingOnce.Do(func() {
		paging = map[string]bool{}
		for _, r := range testworld.Rules(t, alerts.Rules) {
			paging[r.Alert] = paging[r.Alert] || r.Labels["severity"] == "page"
		}
	})
	return paging
}

// shown returns the problems on the status page, worst first.
func shown(t *testing.T, w *world) string {
	t.Helper()
	time.Sleep(2 * time.Second) // a page is shared for one second
	_, page := w.Get(t, "/")
	page = html.UnescapeString(page)
	_, rest, _ := strings.Cut(page, `<ul class="problems">`)
	list, _, _ := strings.Cut(rest, "</ul>")
	var problems []string
	pages := pagingAlerts(t)
	for _, m := range problem.FindAllStringSubmatch(list, -1) {
		class, pending, name := m[1], m[2], m[3]
		if class == "bad" && !pages[name] {
			t.Errorf("status page shows %s as urgent, but no rule pages for it", name)
		}
		if class != "bad" {
			class = " (" + strings.ReplaceAll(class, "note", "info") + ")"
		} else {
			class = ""
		}
		problems = append(problems, name+class+pending)
	}
	if len(problems) == 0 {
		return "–"
	}
	return strings.Join(problems, ", ")
}
