package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/avax-exporter/avax-exporter/collectors"
)

var now = time.Unix(1_800_000_000, 0)

const served = `
# TYPE avax_node_up gauge
avax_node_up{node="alpha"} 1
avax_node_up{node="bravo"} 0
# TYPE avax_node_info gauge
avax_node_info{node="alpha",node_id="NodeID-A",version="avalanchego/1.14.0"} 1
# TYPE avax_node_validating gauge
avax_node_validating{node="alpha"} 1
avax_node_validating{node="bravo"} 1
# TYPE avax_node_uptime_rewarding_stake_ratio gauge
avax_node_uptime_rewarding_stake_ratio{node="alpha"} 0.42
avax_node_uptime_rewarding_stake_ratio{node="bravo"} 0.99
# TYPE avax_validator_start_timestamp_seconds gauge
avax_validator_start_timestamp_seconds{node_id="NodeID-A"} 1799000000
avax_validator_start_timestamp_seconds{node_id="NodeID-B"} 1798000000
# TYPE avax_validator_end_timestamp_seconds gauge
avax_validator_end_timestamp_seconds{node_id="NodeID-A"} 1801000000
# TYPE avax_validator_uptime_requirement_ratio gauge
avax_validator_uptime_requirement_ratio{node_id="NodeID-A"} 0.9
# TYPE avax_validator_downtime_budget_seconds gauge
avax_validator_downtime_budget_seconds{node_id="NodeID-A"} 200000
# TYPE avax_exporter_collector_success gauge
avax_exporter_collector_success{collector="uptime",target="alpha"} 1
avax_exporter_collector_success{collector="uptime",target="bravo"} 0
# TYPE avax_exporter_collector_last_success_timestamp_seconds gauge
avax_exporter_collector_last_success_timestamp_seconds{collector="uptime",target="alpha"} 1799999988
`

func told(t *testing.T, name, target string) string {
	t.Helper()
	page, err := Read(strings.NewReader(served), now)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Name(&out, page, name, target); err != nil {
		return "error: " + err.Error()
	}
	return out.String()
}

func demand(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

func TestAnAlertIsToldWithItsNumbersCallsAndRunbook(t *testing.T) {
	text := told(t, "AvaxRewardStakeLow", "alpha")
	demand(t, text,
		"AvaxRewardStakeLow (page) fires when this has held for 15m",
		"put in:\n\n    0.42", "scalar(0.8)",
		`avax_node_uptime_rewarding_stake_ratio{node="alpha"} 0.42`,
		"asked by collector uptime: info.uptime",
		"about alpha: the last run succeeded; good answer 12s ago",
		"docs/runbooks/AvaxRewardStakeLow.md")
	if strings.Contains(text, "bravo") {
		t.Errorf("told of another node:\n%s", text)
	}
}

// Whoever is paged by a rule of companion.yml asks the same command.
func TestAnAlertOverWhatOthersServeIsToldWithWhoServesIt(t *testing.T) {
	text := told(t, "AvalancheGoDiskLow", "alpha")
	demand(t, text,
		"AvalancheGoDiskLow (page) of companion.yml, which a Prometheus evaluates, fires",
		"< scalar(10)",
		"avalanche_resource_tracker_disk_available_percentage\n    of the node's own /ext/metrics: not served here, ask Prometheus",
		"docs/runbooks/AvalancheGoDiskLow.md")
	if strings.Contains(text, "absent") {
		t.Errorf("what the exporter never serves passes for absent:\n%s", text)
	}
	demand(t, told(t, "HostClockUnsynchronised", ""), "node_timex_sync_status\n    of node_exporter")
	demand(t, told(t, "ICMCheckpointLag", ""), "app_checkpoint_committed_height\n    of the ICM relayer's /metrics")
	demand(t, told(t, "CompanionTargetDown", ""), "up\n    of Prometheus")
	demand(t, told(t, "AvalancheGoHealthFailing", ""), "avax:health_lost is recorded", "avalanche_health_checks_failing\n")
}

func TestAFailedRunIsSaid(t *testing.T) {
	demand(t, told(t, "AvaxRewardStakeLow", "bravo"), "about bravo: the last run FAILED", "never a good answer")
}

func TestANodeStandsForItsID(t *testing.T) {
	text := told(t, "avax_validator_start_timestamp_seconds", "alpha")
	demand(t, text, `{node_id="NodeID-A"} 1799000000 (2027-01-03 18:13:20 UTC)`)
	if strings.Contains(text, "NodeID-B") {
		t.Errorf("told of another validator:\n%s", text)
	}
}

func TestAbsentIsSaidAndNeverANumber(t *testing.T) {
	demand(t, told(t, "avax_validator_stake_avax", "alpha"), "absent for alpha", "it has not run yet, or is not switched on")
}

func TestTheFormulaHasTheNumbersOfItsSample(t *testing.T) {
	page, err := Read(strings.NewReader(served), now)
	if err != nil {
		t.Fatal(err)
	}
	e := explanation{page: page}
	of := Sample{Labels: map[string]string{"node_id": "NodeID-A"}}
	got := e.fillFor("(1 - avax_validator_uptime_requirement_ratio) * (avax_validator_end_timestamp_seconds - avax_validator_start_timestamp_seconds) + time()", of)
	if want := "(1 - 0.9) * (1801000000 - 1799000000) + 1800000000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	of.Labels["node_id"] = "NodeID-B"
	got = e.fillFor("avax_validator_end_timestamp_seconds - avax_validator_start_timestamp_seconds", of)
	if want := "avax_validator_end_timestamp_seconds - 1798000000"; got != want {
		t.Errorf("what is absent must stay a name: %s, want %s", got, want)
	}
}

func TestWhatIsNotKnownIsNamedWithWhatIs(t *testing.T) {
	for name, want := range map[string]string{
		"RewardStake":                "AvaxRewardStakeLow",
		"avax_node_uptime_rewarding": "avax_node_uptime_rewarding_stake_ratio",
		"AvaxWatchdgo":               "near it are AvaxWatchdog",
		"avax_node_ups":              "near it are avax_node_up",
		"AvalancheGoDisk":            "near it are AvalancheGoDiskLow",
	} {
		if got := told(t, name, ""); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want an error that names %s", name, got, want)
		}
	}
	for _, name := range []string{"AvaxNope", "Nothing like anything at all", "zebra"} {
		if got := told(t, name, ""); strings.Contains(got, "near") || !strings.Contains(got, "docs/metrics.md lists the families") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := told(t, "AvaxRewardStakeLow", "zulu"); !strings.Contains(got, `nothing that the exporter serves is about "zulu"`) {
		t.Error(got)
	}
}

func TestAPageOfSomebodyElseIsRefused(t *testing.T) {
	if _, err := Read(strings.NewReader("# TYPE node_load1 gauge\nnode_load1 3\n"), now); err == nil {
		t.Error("taken")
	}
}

// TestEverySelectorIsFound holds the pattern to Prometheus' own parser, over all
// that it is used on.
func TestEverySelectorIsFound(t *testing.T) {
	promQL := parser.NewParser(parser.Options{})
	compare := func(where, text string) {
		expr, err := promQL.ParseExpr(text)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		var want, got []string
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			if v, ok := n.(*parser.VectorSelector); ok && v.Name != "" {
				want = append(want, v.Name)
			}
			return nil
		})
		for _, s := range selectors(text) {
			got = append(got, s.name)
			parsed, err := promQL.ParseMetricSelector(s.name + s.matchers)
			if err != nil {
				t.Errorf("%s: %s%s: %v", where, s.name, s.matchers, err)
				continue
			}
			for _, m := range parsed {
				if m.Name != model.MetricNameLabel && !matches(s.matchers, exampleFor(parsed)) {
					t.Errorf("%s: %s does not take labels that it asks for", where, s.matchers)
				}
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %q, the parser %q", where, got, want)
		}
	}
	rules := builtIn()
	for _, r := range rules {
		compare(r.Alert+r.Record, r.Expr)
	}
	for _, s := range collectors.All() {
		for _, f := range s.Families {
			if f.Formula != "" {
				compare(f.Name, f.Formula)
			}
		}
	}
	if len(rules) < 50 {
		t.Errorf("only %d rules read", len(rules))
	}
}

// exampleFor makes labels that fit the matchers.
func exampleFor(all []*labels.Matcher) map[string]string {
	fit := map[string]string{}
	for _, m := range all {
		switch m.Type {
		case labels.MatchEqual:
			fit[m.Name] = m.Value
		case labels.MatchRegexp:
			fit[m.Name], _, _ = strings.Cut(strings.TrimPrefix(strings.Trim(m.Value, "()"), "?i:"), "|")
		case labels.MatchNotEqual, labels.MatchNotRegexp:
			fit[m.Name] = "neither"
		}
	}
	return fit
}

func TestEveryAlertCanBeExplained(t *testing.T) {
	for _, r := range builtIn() {
		if r.Alert == "" {
			continue
		}
		demand(t, told(t, r.Alert, ""), r.Alert, r.Annotations["runbook_url"])
	}
}
