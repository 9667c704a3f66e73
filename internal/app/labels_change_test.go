package app_test

import (
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/demo"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

var families = regexp.MustCompile(`\bavax_[a-z0-9_]+\b`)

// A label may change its value at any time, for one node or for all, and two replicas may differ in it. No rule fails for that reason: a rule
// that fails is blind for the whole fleet.
func TestNoRuleFailsWhenALabelChanges(t *testing.T) {
	testworld.Story(t)
	var given []rulefmt.Rule
	groups, errs := rulefmt.Parse(alerts.Rules, false, model.UTF8Validation, testworld.PromQL, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	read := map[string]bool{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			for _, name := range families.FindAllString(r.Expr, -1) {
				read[name] = true
			}
			r.Annotations = nil
			given = append(given, r)
		}
	}
	var series []labels.Labels
	values := map[string]float64{}
	inDemo(t, 30*time.Second, func(t *testing.T, w *apptest.World) {
		perFamily := map[string]int{}
		look := func() {
			all := w.Samples(t)
			for _, s := range slices.Sorted(maps.Keys(all)) {
				parsed := must.Get(testworld.PromQL.ParseMetric(s))(t)
				name := parsed.Get(model.MetricNameLabel)
				if _, seen := values[parsed.String()]; seen || !read[name] || perFamily[name] == 12 {
					continue
				}
				perFamily[name]++
				series, values[parsed.String()] = append(series, parsed), all[s]
			}
		}
		time.Sleep(time.Minute)
		look()
		for _, i := range demo.Incidents {
			i.Begin(w.Network)
			time.Sleep(i.Lasts() - time.Second)
			look()
			i.End(w.Network)
		}
	})
	for _, name := range demo.Nodes {
		for _, s := range []string{
			`avax_node_labels{node=%q, owner="zoe", team="x"}`, `avax_validator_labels{node_id=%q, validation_id="", name="%[1]s", owner="zoe"}`,
		} {
			parsed := must.Get(testworld.PromQL.ParseMetric(fmt.Sprintf(s, name)))(t)
			series, values[parsed.String()] = append(series, parsed), 1
		}
	}
	type change struct{ family, label string }
	var changes []change
	seen := map[change]bool{}
	for _, s := range series {
		s.Range(func(l labels.Label) {
			for _, family := range []string{s.Get(model.MetricNameLabel), ""} {
				if c := (change{family, l.Name}); l.Name != model.MetricNameLabel && !seen[c] {
					seen[c] = true
					changes = append(changes, c)
				}
			}
		})
	}
	if testing.Short() { // a tenth
		often := []string{"node", "node_id", "owner", "version"}
		changes = slices.DeleteFunc(changes, func(c change) bool {
			return !slices.Contains(often, c.label) || c.family != "" && !strings.HasSuffix(c.family, "_labels")
		})
	}
	t.Logf("%d series, %d changes", len(series), len(changes))
	run := func(all []change) error {
		var input []testworld.Series
		add := func(s labels.Labels, job, instance, values string) {
			b := labels.NewBuilder(s).Set("job", job).Set("instance", instance)
			input = append(input, testworld.Series{Series: b.Labels().String(), Values: values})
		}
		for _, c := range all {
			for _, twice := range []bool{false, true} {
				job := fmt.Sprint(c.family, c.label, twice)
				for _, s := range series {
					value := values[s.String()]
					v := fmt.Sprintf("%gx40", value)
					if was := s.Get(c.label); was == "" || c.family != "" && s.Get(model.MetricNameLabel) != c.family {
						add(s, job, "a", v)
						if twice {
							add(s, job, "b", v)
						}
						continue
					}
					changed := labels.NewBuilder(s).Set(c.label, s.Get(c.label)+"2").Labels()
					if twice {
						add(s, job, "a", v)
						add(changed, job, "b", v)
						continue
					}
					add(s, job, "a", fmt.Sprintf("%gx19 stale", value))
					add(changed, job, "a", fmt.Sprintf("_x19 %gx20", value))
				}
			}
		}
		e := must.Get(testworld.NewEngine(t, time.Unix(0, 0).UTC(), 30*time.Second, input, 30*time.Second, given))(t)
		for _, at := range []time.Duration{8 * time.Minute, 540 * time.Second, 10 * time.Minute, 630 * time.Second, 13 * time.Minute, 18 * time.Minute} {
			if err := e.Run(at, at); err != nil {
				return err
			}
		}
		return nil
	}
	for batch := range slices.Chunk(changes, 12) {
		if run(batch) == nil {
			continue
		}
		for _, c := range batch {
			if err := run([]change{c}); err != nil {
				t.Errorf("%v: %v", c, err)
			}
		}
	}
}
