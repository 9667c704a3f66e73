package web

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// course is the value of a series at a time; negative: none.
type course struct {
	labels labels.Labels
	at     func(ago time.Duration) float64
}

// add adds a sample of each series every five minutes in the last week.
func (s *stored) add(t *testing.T, all ...course) {
	t.Helper()
	for at := time.Now().Add(-alerting.WeekHistory).Truncate(alerting.WeekStep); at.Before(time.Now()); at = at.Add(alerting.WeekStep) {
		app := s.storage.Appender(t.Context())
		for _, c := range all {
			if v := c.at(time.Since(at)); v >= 0 {
				must.Get(app.Append(0, c.labels, at.UnixMilli(), v))(t)
			}
		}
		must.Do(t, app.Commit())
	}
}

// Week makes the samples those of a week.
func (s *stored) Week() alerting.Source { return s }

// Quarter makes the samples those of 90 days.
func (s *stored) Quarter() alerting.Source { return s }

// Pages show a week: each day of a node with its share, days without data as unknown, the course of downtime and runways, and alerts that ended days ago.
func TestPagesShowTheLastWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(30*24*time.Hour + 12*time.Hour) // Monday, 31 January 2000, noon
		s := siteWith(t, `avax_node_up{node="a"} 1
			avax_node_info{node="a",node_id="NodeID-a",version="v"} 1
			avax_node_up{node="new"} 1
			avax_validator_present{node_id="NodeID-a"} 1
			avax_validator_downtime_used_seconds{node_id="NodeID-a"} 36000
			avax_validator_downtime_budget_seconds{node_id="NodeID-a"} 72000
			avax_l1_weight{chain="one"} 100
			avax_l1_validator_weight{chain="one",node_id="NodeID-a",validation_id="V"} 100
			avax_l1_validator_runway_seconds{chain="one",node_id="NodeID-a",validation_id="V"} 86400`)
		source := newSource(t, group(rule("Down", "page", "inactive")))
		const day = 24 * time.Hour
		source.add(t,
			course{labels.FromStrings("__name__", "avax_node_up", "node", "a"), func(ago time.Duration) float64 {
				switch {
				case ago > 6*day, ago > 2*day && ago <= 2*day+3*time.Hour:
					return -1
				case ago > 3*day && ago <= 3*day+6*time.Hour:
					return 0
				}
				return 1
			}},
			course{labels.FromStrings("__name__", "avax_validator_downtime_used_seconds", "node_id", "NodeID-a"), func(ago time.Duration) float64 {
				return 36000 - ago.Hours()*100
			}},
			course{labels.FromStrings("__name__", "avax_l1_validator_runway_seconds", "chain", "one", "node_id", "NodeID-a", "validation_id", "V"),
				func(ago time.Duration) float64 { return 86400 + ago.Seconds() }},
			course{labels.FromStrings("__name__", "ALERTS", "alertname", "Down", "alertstate", "firing", "severity", "page", "node", "a"),
				func(ago time.Duration) float64 {
					if ago > 3*day && ago <= 3*day+6*time.Hour {
						return 1
					}
					return -1
				}})
		source.read(t, s)
		get := func(path string) string { return read(t, ask(t, s, http.MethodGet, path).Body) }
		days := []string{"<span>Wed</span>100 %</li>", `title="Fri 28 Jan: answered for 75 % of the time"><span>Fri</span>75 %</li>`,
			`<li class="up" title="Sat 29 Jan: answered for 100 % of the time, no data for 3 h"><span>Sat</span>100 %</li>`,
			`title="Tue 25 Jan: answered for 100 % of the time, no data for 11 h"`}
		demand(t, get("/"), append(days, "!new. Answered, by day")...)
		node := get("/node/a")
		demand(
			t,
			node,
			append(days, "Last 7 days", `<svg class="chart" role="img"`, "Downtime used in the last 7 days: from ", " to 10 h", "10 h of 20 h used", "!<script")...)
		if rows := rowsIn(node, "history", "Ended"); len(rows) != 1 || rows[0] != "Down node=a | 2000-01-28 12:00 UTC, after 6 h" {
			t.Errorf("history %q", rows)
		}
		demand(t, get("/l1/one"), "Time until the balance runs out in the last 7 days: from 7 days to 24 h")
	})
}
