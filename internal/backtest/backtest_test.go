package backtest

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/evaluation"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

var begin = time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)

// history is a Source with one value per scrape. A series without a value at a scrape returns false.
type history struct {
	every  time.Duration
	series map[string]func(since time.Duration) (float64, bool) // by text, such as avax_node_up{node="alpha"}
}

func (h history) Samples(_ context.Context, selector string, from, to time.Time) (found model.Matrix, err error) {
	matchers, err := evaluation.PromQL.ParseMetricSelector(selector)
	if err != nil {
		return nil, err
	}
	for text, valueAt := range h.series {
		ls, err := evaluation.PromQL.ParseMetric(text)
		if err != nil {
			return nil, err
		}
		ls = labels.NewBuilder(ls).Set("job", "avax").Set("instance", "a:9865").Labels()
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(ls.Get(m.Name)) }) {
			continue
		}
		stream := &model.SampleStream{Metric: model.Metric{}}
		ls.Range(func(l labels.Label) { stream.Metric[model.LabelName(l.Name)] = model.LabelValue(l.Value) })
		for at := begin.Add(7*time.Second + max(0, from.Sub(begin)).Truncate(h.every)); !at.After(to); at = at.Add(h.every) {
			if v, there := valueAt(at.Sub(begin)); there && at.After(from) {
				stream.Values = append(stream.Values, model.SamplePair{Timestamp: model.TimeFromUnixNano(at.UnixNano()), Value: model.SampleValue(v)})
			}
		}
		if len(stream.Values) > 0 {
			found = append(found, stream)
		}
	}
	return found, nil
}

func always(v float64) func(time.Duration) (float64, bool) {
	return func(time.Duration) (float64, bool) { return v, true }
}

// between returns v from one time to another, and otherwise else.
func between(from, to time.Duration, v, otherwise float64) func(time.Duration) (float64, bool) {
	return func(since time.Duration) (float64, bool) {
		if since >= from && since < to {
			return v, true
		}
		return otherwise, true
	}
}

func parse(t *testing.T, text string) *rulefmt.RuleGroups {
	t.Helper()
	groups, errs := rulefmt.Parse([]byte(text), false, model.UTF8Validation, evaluation.PromQL, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return groups
}

func evaluate(t *testing.T, h history, rules string, length time.Duration) *Result {
	t.Helper()
	return must.Get(Run(t.Context(), Options{Source: h, Groups: parse(t, rules), From: begin, To: begin.Add(length), Interval: 15 * time.Second}))(t)
}

const hour = time.Hour

// TestIncidentsHaveTheTimesOfTheHistory has an outage across the borders of windows.
func TestIncidentsHaveTheTimesOfTheHistory(t *testing.T) {
	h := history{15 * time.Second, map[string]func(time.Duration) (float64, bool){
		"up":                          always(1),
		`avax_node_up{node="alpha"}`:  between(5*hour, 7*hour, 0, 1),
		`avax_node_up{node="bravo"}`:  between(9*hour, 9*hour+2*time.Minute, 0, 1), // shorter than the rule's for
		`avax_node_up{node="charly"}`: between(30*hour, 40*hour, 0, 1),             // to the end
	}}
	r := evaluate(t, h, `
groups:
  - name: g
    rules:
      - {record: 'avax:down', expr: 'avax_node_up == 0'}
      - {alert: NodeDown, expr: 'avax:down', for: 5m, keep_firing_for: 10m, labels: {severity: page}, annotations: {summary: '{{ $labels.node }} is down; {{ with query "count(avax:down)" }}{{ . | first | value }}{{ end }} of 3'}}
`, 36*hour)
	type incident struct {
		node, summary   string
		fired, resolved time.Duration
	}
	var got []incident
	for _, i := range r.Incidents {
		got = append(got, incident{i.Labels.Get("node"), i.Summary, i.Fired.Sub(begin), max(0, i.Resolved.Sub(begin))})
	}
	// The scrape is 7 s after the outage, the first evaluation with it 8 s later.
	want := []incident{
		{"alpha", "alpha is down; 1 of 3", 5*hour + 15*time.Second + 5*time.Minute, 7*hour + 15*time.Second + 10*time.Minute},
		{"charly", "charly is down; 1 of 3", 30*hour + 15*time.Second + 5*time.Minute, 0},
	}
	if !slices.Equal(got, want) {
		t.Errorf("incidents %v, want %v", got, want)
	}
	if r.Pending["NodeDown"] != 1 || len(r.Errors) > 0 {
		t.Errorf("pending %v, errors %v", r.Pending, r.Errors)
	}
}

// TestEndedSeriesAreStaleAtTheNextScrape checks that a series does not live on for the lookback of five minutes.
func TestEndedSeriesAreStaleAtTheNextScrape(t *testing.T) {
	h := history{15 * time.Second, map[string]func(time.Duration) (float64, bool){
		"up":                                   always(1),
		`avax_node_bootstrapped{node="alpha"}`: func(since time.Duration) (float64, bool) { return 1, since < 3*hour || since > 4*hour },
	}}
	r := evaluate(t, h, `
groups:
  - {name: g, rules: [{alert: Gone, expr: 'absent(avax_node_bootstrapped)', labels: {severity: page}}]}
`, 6*hour)
	if len(r.Incidents) != 1 || r.Incidents[0].Fired.Sub(begin) != 3*hour+15*time.Second || r.Incidents[0].Resolved.Sub(begin) != 4*hour+15*time.Second {
		t.Errorf("incidents: %+v", r.Incidents)
	}
}

// TestRulesReadTheirOwnEarlierResults checks a rule that records how high a value was.
func TestRulesReadTheirOwnEarlierResults(t *testing.T) {
	h := history{15 * time.Second, map[string]func(time.Duration) (float64, bool){
		"up": always(1), "avax_exporters": between(2*hour, 2*hour+time.Minute, 3, 2),
	}}
	r := evaluate(t, h, `
groups:
  - name: g
    rules:
      - {alert: Lost, expr: 'avax:highest > avax_exporters', labels: {severity: warn}}
      - {record: 'avax:highest', expr: 'avax_exporters > last_over_time(avax:highest[1h]) or last_over_time(avax:highest[1h]) or avax_exporters'}
`, 12*hour)
	if len(r.Incidents) != 1 || r.Incidents[0].Fired.Sub(begin) != 2*hour+75*time.Second || !r.Incidents[0].Resolved.IsZero() {
		t.Errorf("incidents: %+v", r.Incidents)
	}
}

func TestMissingSeriesAreReportedAndNotSilent(t *testing.T) {
	h := history{15 * time.Second, map[string]func(time.Duration) (float64, bool){
		"up":             always(1),
		"avax_node_up":   always(1),
		"avax_node_disk": func(since time.Duration) (float64, bool) { return 1, since > 8*hour },
	}}
	r := evaluate(t, h, `
groups:
  - name: g
    rules:
      - {record: 'avax:lag', expr: 'avax_lag > 1'}
      - {alert: Down, expr: 'avax_node_up == 0'}
      - {alert: Lag, expr: 'avax:lag'}
      - {alert: Disk, expr: 'avax_node_disk < 0.1 and avax_node_up'}
      - {alert: Mixed, expr: 'avax_lag > avax_node_up'}
      - {alert: Either, expr: 'avax:lag or avax_node_up == 0 unless avax_lag'}
`, 12*hour)
	var got []string
	for _, g := range r.Gaps {
		line := g.Alert + " " + strings.Join(g.Missing, ",")
		if !g.Judged {
			line += " all"
		}
		if !g.Begin.IsZero() {
			line += " " + g.Begin.Sub(begin).String()
		}
		got = append(got, line)
	}
	want := []string{"Disk  8h0m7s", "Either avax_lag", "Lag avax_lag all", "Mixed avax_lag all"}
	if !slices.Equal(got, want) {
		t.Errorf("gaps %q, want %q", got, want)
	}
}

// TestFailingRuleLeavesOutItsTimesOnly has a rule that fails for a minute, in which two series match one. As in Prometheus, its alerts go on.
func TestFailingRuleLeavesOutItsTimesOnly(t *testing.T) {
	h := history{15 * time.Second, map[string]func(time.Duration) (float64, bool){
		"up":                                 always(1),
		`avax_node_up{node="alpha"}`:         between(hour, 4*hour, 0, 1),
		`avax_node_info{node="alpha",v="1"}`: always(1),
		`avax_node_info{node="alpha",v="2"}`: func(since time.Duration) (float64, bool) { return 1, since > 3*hour && since < 3*hour+time.Minute },
	}}
	r := evaluate(t, h, `
groups:
  - {name: g, rules: [{alert: Down, expr: 'avax_node_up * on (node) group_left (v) avax_node_info == 0', for: 1m}]}
`, 6*hour)
	if len(r.Incidents) != 1 || r.Incidents[0].Fired.Sub(begin) != hour+75*time.Second || r.Incidents[0].Resolved.Sub(begin) != 4*hour+15*time.Second {
		t.Errorf("incidents: %+v", r.Incidents)
	}
	if len(r.Errors) != 1 || !strings.HasPrefix(r.Errors[0], "Down: ") {
		t.Errorf("errors: %q", r.Errors)
	}
}

// TestLongIntervalsEvaluateEveryStep uses an interval that is longer than the longest window.
func TestLongIntervalsEvaluateEveryStep(t *testing.T) {
	h := history{15 * time.Second, map[string]func(time.Duration) (float64, bool){"up": always(1), "avax_node_up": between(6*hour, 12*hour, 0, 1)}}
	r, err := Run(t.Context(), Options{
		Source: h, From: begin, To: begin.Add(24 * hour), Interval: 3 * hour,
		Groups: parse(t, `groups: [{name: g, rules: [{alert: Down, expr: 'avax_node_up == 0'}]}]`),
	})
	if err != nil || len(r.Incidents) != 1 || r.Incidents[0].Fired.Sub(begin) != 9*hour || r.Incidents[0].Resolved.Sub(begin) != 15*hour {
		t.Errorf("%v, incidents: %+v", err, r.Incidents)
	}
}

// TestNotificationsFollowAlertmanager checks grouping, inhibition and the repetition.
func TestNotificationsFollowAlertmanager(t *testing.T) {
	c, err := config.Load(`
route:
  receiver: team
  group_by: [severity]
  group_wait: 30s
  group_interval: 5m
  repeat_interval: 4h
receivers: [{name: team}]
inhibit_rules:
  - {source_matchers: [alertname="Cause"], target_matchers: [alertname="Effect"], equal: [node]}
`)
	if err != nil {
		t.Fatal(err)
	}
	incident := func(alert, node string, from, to time.Duration) Incident {
		return Incident{
			Alert: alert, Labels: labels.FromStrings("alertname", alert, "node", node, "severity", "page"),
			Fired: begin.Add(from), Resolved: begin.Add(to),
		}
	}
	r := &Result{From: begin, To: begin.Add(24 * hour), Incidents: []Incident{
		incident("Cause", "alpha", hour, 6*hour),                  // notified, and again after four hours
		incident("Effect", "alpha", hour+10*time.Second, 2*hour),  // inhibited
		incident("Effect", "bravo", hour+time.Minute, 2*hour),     // at the next look
		incident("Short", "bravo", 8*hour, 8*hour+20*time.Second), // over before the first look
		incident("Effect", "alpha", 9*hour, 9*hour+6*time.Minute), // a new group
	}}
	r.Notify(c)
	var got []time.Duration
	for _, n := range r.Notifications {
		got = append(got, n.At.Sub(begin))
	}
	first := hour + 30*time.Second
	want := []time.Duration{first, first + 5*time.Minute, first + 4*hour + 5*time.Minute, 9*hour + 30*time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("notifications at %v, want %v", got, want)
	}
	if r.Incidents[1].Inhibited != hour-10*time.Second || r.Incidents[2].Inhibited != 0 {
		t.Errorf("inhibited for %v and %v", r.Incidents[1].Inhibited, r.Incidents[2].Inhibited)
	}
}

// At a look, an alert that ended and fires again is what the last message said. After a look at which it had ended, it is news.
func TestFlapBetweenTwoLooksIsNoNews(t *testing.T) {
	c := must.Get(config.Load(`
route: {receiver: team, group_by: [alertname], group_wait: 30s, group_interval: 1h, repeat_interval: 24h}
receivers: [{name: team}]
`))(t)
	for name, test := range map[string]struct {
		on   func(minute int) bool
		want []time.Duration
	}{
		"4 of 10 minutes":                       {func(m int) bool { return m%10 < 4 }, []time.Duration{0, 24 * hour}},
		"over at a look, and again at the next": {func(m int) bool { return m/60%4 < 2 && m < 360 }, []time.Duration{0, 4 * hour, 28 * hour}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Result{From: begin, To: begin.Add(36 * hour)}
			r.Incidents = []Incident{{Alert: "Flap", Labels: labels.FromStrings("alertname", "Flap", "node", "bravo"), Fired: begin}} // keeps the group
			on := false
			for m := range 36 * 60 {
				at := begin.Add(time.Duration(m) * time.Minute)
				if now := test.on(m); now != on {
					if on = now; on {
						r.Incidents = append(r.Incidents, Incident{Alert: "Flap", Labels: labels.FromStrings("alertname", "Flap", "node", "alpha"), Fired: at})
					} else {
						r.Incidents[len(r.Incidents)-1].Resolved = at
					}
				}
			}
			r.Notify(c)
			var got []time.Duration
			for _, n := range r.Notifications {
				got = append(got, (n.At.Sub(begin) - 30*time.Second).Truncate(hour))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Rules that read each other need the series that any of them reads.
func TestRulesInACycleShareTheirInputs(t *testing.T) {
	groups, err := ParseRules([]byte(`groups: [{name: g, rules: [
  {record: 'a:a', expr: one + on() b:b}, {record: 'b:b', expr: c:c or two}, {record: 'c:c', expr: a:a or three}, {alert: Any, expr: a:a > 0}]}]`), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := must.Get(newRun(Options{Groups: groups, Interval: time.Minute}))(t).plan
	if got := strings.Join(p.inputsOf()["Any"], " "); got != "one three two" {
		t.Errorf("inputs %s", got)
	}
	if there := map[string]time.Time{"one": begin, "three": begin}; !p.judged(there)["Any"] {
		t.Error("not judged, although a:a has a result by way of c:c and b:b")
	}
}

// BenchmarkBacktest evaluates the shipped rules over ten nodes, and reports the peak memory of the process until then.
// Each family that a rule reads has a series for each node and each primary chain.
func BenchmarkBacktest(b *testing.B) {
	groups := must.Get(ParseRules(alerts.Rules, nil))(b)
	p := must.Get(newRun(Options{Groups: groups, Interval: time.Minute}))(b).plan
	h := history{series: map[string]func(time.Duration) (float64, bool){}}
	for n := range 10 {
		for _, chain := range []string{"P", "X", "C"} {
			for _, name := range p.inputs {
				if !strings.ContainsAny(name, ":{") {
					h.series[fmt.Sprintf(`%s{node="node%d",chain=%q}`, name, n, chain)] = always(math.NaN()) // raises no alert
				}
			}
			h.series[fmt.Sprintf(`avax_chain_height{node="node%d",chain=%q}`, n, chain)] = func(since time.Duration) (float64, bool) { return since.Seconds(), true }
		}
		h.series[fmt.Sprintf(`avax_node_up{node="node%d"}`, n)] = func(since time.Duration) (float64, bool) { // down for an hour in ten days
			if int(since.Hours())%240 == 24*n {
				return 0, true
			}
			return 1, true
		}
	}
	h.series["up"], h.series["avax_exporter_targets"] = always(1), always(10)
	for _, of := range []struct {
		days  int
		every time.Duration
	}{{365, 5 * time.Minute}, {1, 15 * time.Second}} {
		b.Run(fmt.Sprintf("days=%d", of.days), func(b *testing.B) {
			h.every = of.every
			before := usage(b)
			for b.Loop() {
				r := must.Get(Run(b.Context(), Options{Source: h, Groups: groups, From: begin, To: begin.AddDate(0, 0, of.days), Interval: of.every}))(b)
				b.ReportMetric(float64(len(r.Incidents)), "alerts")
			}
			after := usage(b)
			b.ReportMetric(float64(after.Maxrss)/1000, "MB/peak")
			b.ReportMetric(float64(after.Utime.Sec+after.Stime.Sec-before.Utime.Sec-before.Stime.Sec), "CPU-s")
		})
	}
}

// usage returns the resource usage of this process.
func usage(b *testing.B) (u syscall.Rusage) {
	b.Helper()
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u
}

// The report counts what was sent in the range, and no alert that is no problem: the watchdog repeats its notification each minute.
func TestReportCountsTheRangeOnly(t *testing.T) {
	c := must.Get(config.Load(string(alertmanager.Config)))(t)
	labelled := func(alert, severity string) labels.Labels {
		return labels.FromStrings("alertname", alert, "node", "alpha", "severity", severity)
	}
	fired := begin.Add(-150 * time.Minute)
	r := &Result{From: begin, To: begin.Add(24 * hour), Incidents: []Incident{
		{Alert: "AvaxWatchdog", Labels: labelled("AvaxWatchdog", "none"), Fired: fired},
		{Alert: "AvaxNodeDown", Labels: labelled("AvaxNodeDown", "page"), Fired: fired},
		{Alert: "AvaxPeersLow", Labels: labelled("AvaxPeersLow", "warn"), Fired: fired, Resolved: begin.Add(10 * time.Minute)}, // inhibited
	}}
	r.Notify(c)
	var out strings.Builder
	must.Do(t, r.Print(&out, false))
	if line := strings.Split(out.String(), "\n")[1]; line != "2 alerts, 24 notifications; per week: 168.0 pages, 0.0 warnings, 0.0 notes" {
		t.Errorf("%s", line)
	}
	for _, s := range r.Summaries() {
		switch want := map[string]float64{"AvaxWatchdog": 24 * 3600, "AvaxNodeDown": 24 * 3600, "AvaxPeersLow": 600}[s.Alert]; {
		case s.Longest != want || s.Total != want:
			t.Errorf("%s: %v of %v seconds, want %v", s.Alert, s.Longest, s.Total, want)
		case s.Alert == "AvaxPeersLow" && (s.Inhibited != 1 || s.Brief != 0 || s.Notified != 0):
			t.Errorf("%+v", s)
		}
	}
}
