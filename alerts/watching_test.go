package alerts

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/value"
	promrules "github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// hold is the longest time for which a rule uses the newest sample of the exporter, if newer samples are missing.
const hold = 7 * time.Minute

// pace is how often Prometheus scrapes the exporter and evaluates the rules.
type pace struct{ scrape, evaluate time.Duration }

var paces = []pace{
	{15 * time.Second, 30 * time.Second}, {15 * time.Second, time.Minute},
	{time.Minute, 30 * time.Second}, {time.Minute, time.Minute},
	{2 * time.Minute, 30 * time.Second}, {2 * time.Minute, time.Minute},
}

// fault is a fault of the monitoring while what it monitors does not change.
type fault struct {
	name string
	// lost reports whether the scrape at a time fails. A Prometheus that is off does not scrape.
	lost func(at time.Duration) bool
	// off reports whether no rule is evaluated. A Prometheus that is off restarts afterwards.
	off     func(at time.Duration) bool
	restart bool
	span    time.Duration // longest time without a sample or an evaluation
}

// faults returns the faults of an alert that fires at begin and resolves at end.
func faults(p pace, begin, end time.Duration) (all []fault) {
	never := func(time.Duration) bool { return false }
	during := func(from, length time.Duration) func(time.Duration) bool {
		return func(at time.Duration) bool { return at > from && at <= from+length }
	}
	middle := begin + (end-begin)/2
	for i, at := range []time.Duration{begin - 4*p.scrape, begin - 2*p.scrape, begin - p.scrape, begin, begin + p.scrape, middle, end - p.scrape, end} {
		all = append(all, fault{fmt.Sprintf("one scrape lost, phase %d", i+1), during(at-p.scrape/2-time.Second, p.scrape), never, false, 2 * p.scrape})
	}
	for seed := range uint64(10) {
		lost, longest, run := map[time.Duration]bool{}, 0, 0
		random := rand.New(rand.NewPCG(seed, 1))
		for at := time.Duration(0); at <= end+time.Hour; at += p.scrape {
			run++
			if lost[at] = random.IntN(4) == 0; !lost[at] {
				run = 0
			}
			longest = max(longest, run)
		}
		all = append(all, fault{fmt.Sprintf("one scrape in four lost, seed %d", seed), func(at time.Duration) bool { return lost[at] }, never, false,
			time.Duration(longest+1) * p.scrape})
	}
	for _, f := range []struct {
		name   string
		length time.Duration
		off    bool
	}{
		{"exporter away for 40 s", 40 * time.Second, false},
		{"exporter away for 3 min", 3 * time.Minute, false},
		{"exporter paused for 4.5 min", 4*time.Minute + 30*time.Second, false},
		{"Prometheus away for 3:20", 3*time.Minute + 20*time.Second, true},
	} {
		for phase, at := range []time.Duration{begin - f.length/2, middle - f.length/2} {
			off, lost := never, during(at, f.length)
			if f.off {
				off = lost
			}
			all = append(all, fault{fmt.Sprintf("%s, phase %d", f.name, phase+1), lost, off, f.off, f.length + 2*p.scrape})
		}
	}
	for phase, at := range []time.Duration{begin - 30*time.Second, middle} {
		all = append(all, fault{fmt.Sprintf("rules one minute late, phase %d", phase+1), never, during(at, time.Minute), false, time.Minute + p.evaluate})
	}
	return all
}

// span is the time from the first to the last evaluation at which an alert fires.
type span struct{ from, to time.Duration }

// story is a case of the rule tests in which an alert fires, with its rules.
type story struct {
	of      *rule
	name    string
	input   []sequence
	rules   []rulefmt.Rule
	horizon time.Duration
}

// sequence is what a series would show if it were sampled at any time.
type sequence struct {
	labels labels.Labels
	values []float64 // a stale marker: no sample
	every  time.Duration
	// From pausedAt on, the series stays as it is for as long as paused says. Then it goes on.
	pausedAt, paused time.Duration
}

func (s sequence) at(t time.Duration) (float64, bool) {
	if t > s.pausedAt {
		t = max(s.pausedAt, t-s.paused)
	}
	i := int(t / s.every)
	if i >= len(s.values) || value.IsStaleNaN(s.values[i]) {
		return 0, false
	}
	return s.values[i], true
}

// storiesOf returns the cases in which the alert fires: those of steady_test.yml first, then the cheapest.
func (s *suite) storiesOf(t *testing.T, of *rule) (all []story) {
	t.Helper()
	for _, file := range s.tests {
		for _, c := range file.Tests {
			fires := slices.ContainsFunc(c.Alerts, func(a alertCase) bool {
				return a.Alertname == of.Alert && slices.ContainsFunc(a.ExpAlerts, func(e expAlert) bool {
					for name, value := range of.Labels {
						if e.Labels[name] != value {
							return false
						}
					}
					return true
				})
			})
			if !fires {
				continue
			}
			only := c
			only.Alerts = slices.DeleteFunc(slices.Clone(c.Alerts), func(a alertCase) bool { return a.Alertname != of.Alert })
			only.Queries = nil
			one := story{of: of, name: file.name + ": " + c.Name, horizon: c.last() + 25*time.Minute}
			for _, r := range s.needed(t, only, false) {
				fields := r.Rule
				fields.Annotations = nil
				one.rules = append(one.rules, fields)
			}
			for _, in := range c.Input {
				with, values, err := testworld.PromQL.ParseSeriesDesc(in.Series + " " + in.Values)
				if err != nil {
					t.Fatal(err)
				}
				seq := sequence{labels: with, every: time.Duration(c.Interval)}
				last, age := math.Float64frombits(value.StaleNaN), time.Duration(0)
				for _, v := range values {
					if age += seq.every; !v.Omitted {
						last, age = v.Value, 0
					} else if age >= 5*time.Minute {
						last = math.Float64frombits(value.StaleNaN)
					}
					seq.values = append(seq.values, last)
				}
				one.input = append(one.input, seq)
			}
			all = append(all, one)
			for _, a := range only.Alerts {
				if len(a.ExpAlerts) > 0 {
					all = append(all, one.longer(time.Duration(a.EvalTime), 25*time.Minute))
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b story) int {
		return cmp.Compare(a.cost(), b.cost())
	})
	return all
}

// cost orders stories. Those of steady_test.yml come first.
func (s story) cost() int {
	if strings.HasPrefix(s.name, "steady_test.yml") {
		return 0
	}
	return int(s.horizon) * len(s.rules) * len(s.input)
}

// longer returns the story with a time in which nothing changes.
func (s story) longer(at, by time.Duration) story {
	s.input = slices.Clone(s.input)
	for i := range s.input {
		s.input[i].pausedAt, s.input[i].paused = at, by
	}
	s.horizon += by
	return s
}

// play returns the spans in which each alert of the story's rule fires.
func (s story) play(t *testing.T, p pace, f fault) map[string][]span {
	t.Helper()
	var input []testworld.Series
	for _, seq := range s.input {
		var values strings.Builder
		shown, isUp := false, seq.labels.Get(model.MetricNameLabel) == "up"
		for at := time.Duration(0); at <= s.horizon; at += p.scrape {
			v, ok := seq.at(at)
			switch {
			case f.lost(at) && f.off(at): // nobody scrapes: no stale marker
				values.WriteString("_ ")
				continue
			case f.lost(at) && isUp && ok:
				v = 0
			case f.lost(at):
				ok = false
			}
			switch {
			case ok:
				fmt.Fprintf(&values, "%v ", v)
			case shown:
				values.WriteString("stale ")
			default:
				values.WriteString("_ ")
			}
			shown = ok
		}
		input = append(input, testworld.Series{Series: seq.labels.String(), Values: values.String()})
	}
	e := must.Get(testworld.NewEngine(t, time.Unix(0, 0).UTC(), p.scrape, input, p.evaluate, s.rules))(t)
	// Prometheus evaluates a group at a phase of its own: not in the same second as a scrape.
	const phase = 7 * time.Second
	for from := phase; from <= s.horizon; from += p.evaluate {
		if f.off(from) {
			continue
		}
		to := from
		for next := to + p.evaluate; next <= s.horizon && !f.off(next); next += p.evaluate {
			to = next
		}
		if from > phase && f.restart {
			e.Restart()
			must.Do(t, e.Run(from, min(from+p.evaluate, to)))
			e.Restore(min(from+p.evaluate, to))
			must.Do(t, e.Run(from+2*p.evaluate, to))
		} else {
			must.Do(t, e.Run(from, to))
		}
		from = to
	}
	found, since := map[string][]span{}, 0 // evaluations since a restart
	for at := phase; at <= s.horizon; at += p.evaluate {
		if f.off(at) {
			since = 1
			continue
		}
		since++
		for i, r := range e.Rules {
			if given := s.rules[i]; given.Alert != s.of.Alert || fmt.Sprint(given.Labels) != fmt.Sprint(s.of.Labels) {
				continue
			}
			for _, active := range e.Active(r, at) {
				if active.State != promrules.StateFiring {
					continue
				}
				key := active.Labels.String()
				spans := found[key]
				last := len(spans) - 1
				quiet := p.evaluate // no evaluation says that it is over
				if since <= 4 && f.restart {
					quiet = f.span + 4*p.evaluate // restored after the second evaluation
				}
				if last >= 0 && (at-spans[last].to <= quiet || s.silent(f, spans[last].to, at, p)) {
					spans[last].to = at
				} else {
					spans = append(spans, span{at, at})
				}
				found[key] = spans
			}
		}
	}
	return found
}

// silent reports whether there was no evaluation between two times.
func (s story) silent(f fault, from, to time.Duration, p pace) bool {
	for at := from + p.evaluate; at < to; at += p.evaluate {
		if !f.off(at) {
			return false
		}
	}
	return true
}

// deadline reports whether somebody must be notified of the alert within a time.
func (r *rule) deadline() bool {
	return r.Labels["severity"] == "page" || r.Labels["severity"] == "warn" && (r.For > 0 || r.Labels["within"] != "")
}

// aboutMonitoring lists alerts whose subject is the fault: whether Prometheus can scrape an exporter, and whether the rules are evaluated.
var aboutMonitoring = map[string]bool{"AvaxExporterDown": true, "AvaxThresholdInvalid": true}

// sampled lists the alerts that a lost scrape does change, with the reason.
var sampled = map[string]string{
	"AvaxHealthCheckFailing page": "a check that fails for a minute in eight is seen only if a scrape falls into that minute",
}

// TestFaultsOfMonitoringChangeNoAlert plays each page, and each warning with a deadline, with each fault of the monitoring. The alert fires in
// time, does not resolve while its cause lasts, resolves in time, and is sent once. -run 'TestFaults…/AvaxNodeDown' plays one alert.
func TestFaultsOfMonitoringChangeNoAlert(t *testing.T) {
	t.Parallel()
	suite := readSuite(t, "rules.yml")
	var mu sync.Mutex
	counts := map[string][2]int{} // by fault: played, right
	t.Cleanup(func() {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			t.Logf("%-34s %5d played, %5d right", name, counts[name][0], counts[name][1])
		}
	})
	for _, r := range suite.rules {
		if r.Alert == "" || !r.deadline() || aboutMonitoring[r.Alert] || sampled[r.name] != "" {
			continue
		}
		t.Run(strings.ReplaceAll(r.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			stories := suite.storiesOf(t, r)
			var one story
			var calm map[string][]span
			for _, s := range stories {
				if got := s.play(t, paces[0], fault{lost: never, off: never}); steady(got, s.horizon) != "" {
					one, calm = s, got
					break
				}
			}
			if calm == nil {
				t.Fatal("no test in which it fires once and for ten minutes: write one in steady_test.yml")
			}
			if one.horizon > 6*time.Hour {
				testworld.Full(t)
			}
			key := steady(calm, one.horizon)
			some := rand.New(rand.NewPCG(uint64(len(r.name)), uint64(len(r.Expr)))) // the same in each run
			for i, p := range paces {
				reference := calm
				if i > 0 {
					if testing.Short() {
						break
					}
					reference = one.play(t, p, fault{lost: never, off: never})
				}
				if len(reference[key]) != 1 {
					t.Errorf("%s: with scrapes every %v and evaluations every %v it fires %d times", one.name, p.scrape, p.evaluate, len(reference[key]))
					continue
				}
				want := reference[key][0]
				for j, f := range faults(p, want.from, want.to) {
					if f.span > hold { // docs/rules.md: nobody knows more after such a time
						continue
					}
					if testing.Short() && some.IntN(60) != 0 || i > 0 && j%len(paces) != i {
						continue
					}
					wrong := differs(one.play(t, p, f)[key], want, f, p, one.horizon)
					kind, _, _ := strings.Cut(f.name, ",")
					mu.Lock()
					c := counts[kind]
					c[0]++
					if wrong == "" {
						c[1]++
					}
					counts[kind] = c
					mu.Unlock()
					if wrong != "" {
						t.Errorf("%s (scrape %v, evaluation %v), %s: %s", f.name, p.scrape, p.evaluate, one.name, wrong)
					}
				}
			}
		})
	}
}

func never(time.Duration) bool { return false }

// steady returns the labels of an alert that fires once, begins after the first minutes, and lasts for at least ten minutes.
func steady(got map[string][]span, horizon time.Duration) (best string) {
	longest := 10 * time.Minute
	for key, spans := range got {
		if length := spans[0].to - spans[0].from; len(spans) == 1 && length >= longest && spans[0].from > 0 && (length > longest || key < best || best == "") {
			best, longest = key, length
		}
	}
	return best
}

// differs returns what is wrong with the spans of an alert that should fire in the span want; empty: nothing.
func differs(got []span, want span, f fault, p pace, horizon time.Duration) string {
	switch slack := f.span + 2*p.scrape + 2*p.evaluate; {
	case len(got) == 0:
		return fmt.Sprintf("never fires; it should from %v to %v", want.from, want.to)
	case len(got) > 1:
		return fmt.Sprintf("fires %d times: %v; it should once, from %v to %v", len(got), got, want.from, want.to)
	case got[0].from > want.from+slack:
		return fmt.Sprintf("fires at %v, %v late", got[0].from, got[0].from-want.from)
	case got[0].to < want.to-p.evaluate-f.span: // a cause that is the end of a series ends with the last sample
		return fmt.Sprintf("resolves at %v, but the cause lasts until %v", got[0].to, want.to)
	case got[0].to > want.to+slack+hold:
		return fmt.Sprintf("resolves at %v, %v late", got[0].to, got[0].to-want.to)
	}
	return ""
}
