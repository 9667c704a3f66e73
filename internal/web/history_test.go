package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

// series returns a series with one value a minute from a time on.
func series(from time.Time, labels model.Metric, values ...float64) *model.SampleStream {
	s := &model.SampleStream{Metric: labels}
	for i, v := range values {
		s.Values = append(s.Values, model.SamplePair{Timestamp: model.TimeFromUnixNano(from.Add(time.Duration(i) * time.Minute).UnixNano()),
			Value: model.SampleValue(v)})
	}
	return s
}

// The cost of an incident is the downtime that it added, and the reward that was within reach before and is not after it.
func TestFiringPeriodShowsWhatItCost(t *testing.T) {
	from := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	alpha, bravo := model.Metric{"node": "alpha", "node_id": "NodeID-A"}, model.Metric{"node": "bravo", "node_id": "NodeID-B"}
	downtimes := model.Matrix{series(from, bravo, 0, 0, 0, 0, 0, 0), series(from, alpha, 60, 60, 60, 360, 1860, 3600)}
	rewards := model.Matrix{series(from, bravo, 7, 7, 7, 7, 7, 7), series(from, alpha, 1204, 1204, 1204, 1204, 0, 0)}
	begins := func(minutes float64) time.Time { return from.Add(time.Duration(minutes * float64(time.Minute))) }
	for _, c := range []struct {
		name string
		it   firingPeriod
		want string
	}{
		{"ended", firingPeriod{labels: map[string]string{"node": "alpha"}, began: begins(1.5), end: begins(4.5)}, "30 min of the downtime budget used; reward at risk 1,204 AVAX, 1,204 AVAX of it lost"},
		{"ended before the reward was lost", firingPeriod{labels: map[string]string{"node_id": "NodeID-A"}, began: begins(1.5), end: begins(3.5)},
			"5 min of the downtime budget used; reward at risk 1,204 AVAX, none of it lost"},
		{"fires", firingPeriod{labels: map[string]string{"node": "alpha"}, began: begins(3.5), end: time.Time{}}, "54 min of the downtime budget used; reward at risk 1,204 AVAX, 1,204 AVAX of it lost"},
		{"no downtime", firingPeriod{labels: map[string]string{"node": "bravo"}, began: begins(1.5), end: begins(4.5)}, ""},
		{"another node", firingPeriod{labels: map[string]string{"node": "charlie"}, began: begins(1.5), end: begins(4.5)}, ""},
		{"no value before it", firingPeriod{labels: map[string]string{"node": "alpha"}, began: begins(-1), end: begins(4.5)}, ""},
		{"about no node", firingPeriod{labels: map[string]string{"chain": "C"}, began: begins(1.5), end: begins(4.5)}, ""},
	} {
		if got := c.it.cost(downtimes, rewards); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The history has the begin that the page shows, says why nobody was notified, and has pages of fifty.
func TestHistoryIsCompleteAndSaysWhyNobodyWasNotified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(36 * time.Hour)
		s := siteWith(t, `avax_node_up{node="a"} 0`)
		down := rule("AvaxNodeDown", "page", alerting.Firing, map[string]string{"node": "a", "summary": "a: no answer"})
		slow := rule("AvaxExporterSlow", "warn", alerting.Firing, map[string]string{"summary": "here:9865: `up` is too slow"})
		peers := rule("AvaxPeersLow", "warn", alerting.Firing, map[string]string{"node": "a", "summary": "a: only 3 peers"})
		began := time.Now().Add(-29*time.Minute - 7*time.Second)
		down.Alerts[0].ActiveAt, peers.Alerts[0].ActiveAt, slow.Alerts[0].ActiveAt = began, began, began
		old := rule("Old", "warn", alerting.Firing)
		source := newSource(t, group(down, peers, slow, old))
		firing := func(from, to time.Duration, value float64) func(time.Duration) float64 {
			return func(ago time.Duration) float64 {
				if ago <= from && ago > to {
					return value
				}
				return stale
			}
		}
		past := func(name, severity, node string, from, to time.Duration, began time.Time) {
			source.past(t, stripHistory, firing(from, to, 1), "__name__", "ALERTS", "alertname", name, "alertstate", "firing", "severity", severity, "node", node)
			source.past(t, stripHistory, firing(from, to, float64(began.Unix())), "__name__", "ALERTS_FOR_STATE", "alertname", name, "severity", severity, "node", node)
		}
		past("AvaxNodeDown", "page", "a", 25*time.Minute, -time.Minute, began)
		past("AvaxPeersLow", "warn", "a", 25*time.Minute, -time.Minute, began)
		for series, value := range map[string]float64{"ALERTS": 1, "ALERTS_FOR_STATE": float64(began.Unix())} {
			labels := []string{"__name__", series, "alertname", "AvaxExporterSlow", "severity", "warn"}
			if series == "ALERTS" {
				labels = append(labels, "alertstate", "firing")
			}
			source.past(t, stripHistory, firing(25*time.Minute, -time.Minute, value), labels...)
		}
		for i := range 120 {
			past("Old", "warn", fmt.Sprintf("n%03d", i), 90*time.Minute, 80*time.Minute, time.Now().Add(-91*time.Minute))
		}
		source.read(t, s)
		s.Notified = func() []notify.Sent {
			return []notify.Sent{{At: time.Now().Add(-24 * time.Minute), Receiver: "pager", Alerts: []model.LabelSet{{"alertname": "AvaxNodeDown", "severity": "page",
				"node": "a"}}, Summaries: []string{"a: no answer"}}}
		}
		page := read(t, ask(t, s, http.MethodGet, "/alerts").Body)
		rows := rowsIn(page, "history", "Began", "Ended", "Notified")
		if len(rows) != 50 {
			t.Fatalf("%d rows on the first page", len(rows))
		}
		for i, want := range []string{"AvaxExporterSlow here:9865: up is too slow | 11:30 UTC | still fires | nobody",
			"AvaxNodeDown node=a a: no answer | 11:30 UTC | still fires | pager",
			"AvaxPeersLow node=a a: only 3 peers | 11:30 UTC | still fires | nobody: suppressed by AvaxNodeDown"} {
			if rows[i] != want {
				t.Errorf("row %q, want %q", rows[i], want)
			}
		}
		demand(t, page, "a: no answer</strong> <span class=\"dim\">since 11:30 UTC", "Page 1 of 3, 123 alerts.", "?page=2&past=#history",
			"<b>AvaxExporterSlow</b> <span>here:9865: <code>up</code> is too slow</span>", "!`")
		if rows := rowsIn(read(t, ask(t, s, http.MethodGet, "/alerts?page=3").Body), "history"); len(rows) != 23 {
			t.Errorf("%d rows on the last page", len(rows))
		}
		if rows := rowsIn(read(t, ask(t, s, http.MethodGet, "/alerts?past=n007").Body), "history"); len(rows) != 1 || rows[0] != "Old node=n007" {
			t.Errorf("filtered rows %q", rows)
		}
		demand(t, read(t, ask(t, s, http.MethodGet, "/node/a").Body), "nobody: suppressed by AvaxNodeDown", "!Page 1")
	})
}

// A time without the exporter has its dates, also if it ended today.
func TestAGapOfDaysHasItsDates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(60 * time.Hour)
		s := siteWith(t, `avax_node_up{node="a"} 1`)
		sourced(t, s, group())
		s.Gap = func() (from, to time.Time, cause string) {
			return time.Now().Add(-50 * time.Hour), time.Now().Add(-3 * time.Hour), "the exporter did not run"
		}
		demand(t, read(t, ask(t, s, http.MethodGet, "/alerts").Body),
			"rules were not evaluated from 2000-01-01 10:00:00 to 2000-01-03 09:00:00 UTC because the exporter did not run")
	})
}

func TestSubjectsKeepValuesWithSpaces(t *testing.T) {
	var b strings.Builder
	if err := shortSubject(map[string]string{"owner": "Acme Corp", "node": "a"}).Render(&b); err != nil || strings.Count(b.String(), "=") != 2 ||
		!strings.Contains(b.String(), "Acme Corp") {
		t.Errorf("%s %v", &b, err)
	}
}
