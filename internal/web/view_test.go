package web

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var sampleLine = regexp.MustCompile(`^([a-z0-9_]+)\{([^}]*)\} (\S+)$`)
var labelPair = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)

// sample is a sample with its labels: name, value, name, value.
type sample struct {
	family string
	labels []string
	value  float64
}

// putSamples records a good run of one job.
func putSamples(t testing.TB, s *Site, key snapshot.Key, samples ...sample) {
	t.Helper()
	byName := map[string]*metric.Family{}
	var declared []*metric.Family
	for _, one := range samples {
		if byName[one.family] == nil {
			var names []string
			for pair := range slices.Chunk(one.labels, 2) {
				names = append(names, pair[0])
			}
			declare := metric.New
			if strings.HasSuffix(one.family, "_total") {
				declare = metric.NewCounter
			}
			f := declare(one.family, "A family.", names...)
			byName[one.family], declared = f, append(declared, f)
		}
	}
	b := metric.NewBatch(declared)
	for _, one := range samples {
		var values []string
		for pair := range slices.Chunk(one.labels, 2) {
			values = append(values, pair[1])
		}
		b.Set(byName[one.family], one.value, values...)
	}
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	s.Store.Put(snapshot.Run{Key: key, At: time.Now(), Took: 20 * time.Millisecond, Until: time.Now().Add(time.Minute), Chunks: b.Chunks()})
}

// put records a good run of one job, whose samples are lines of the text format.
func put(t testing.TB, s *Site, key snapshot.Key, lines string) {
	t.Helper()
	var samples []sample
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("not a sample: %s", line)
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		one := sample{family: m[1], value: value}
		for _, pair := range labelPair.FindAllStringSubmatch(m[2], -1) {
			one.labels = append(one.labels, pair[1], pair[2])
		}
		samples = append(samples, one)
	}
	putSamples(t, s, key, samples...)
}

// told is a site over these samples.
func told(t testing.TB, lines string) *Site {
	t.Helper()
	s := newSite()
	put(t, s, snapshot.Key{Collector: "test", Target: metric.Target{}}, lines)
	return s
}

// fail records a failed run.
func fail(s *Site, collector string, target metric.Target, err error) {
	s.Store.Put(snapshot.Run{
		Key: snapshot.Key{Collector: collector, Target: target}, At: time.Now(), Until: time.Now().Add(time.Minute), Err: err,
	})
}

func outcome(op string, o scrape.Outcome, text string) error {
	return &scrape.Error{Op: op, Outcome: o, Err: errors.New(text)}
}

// in is a moment from now in Unix seconds, as a sample has it.
func in(d time.Duration) string { return fmt.Sprint(time.Now().Add(d).Unix()) }

// words writes a verdict as lines: the title, then each problem with its places.
func words(v verdict) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s\n", v.Level, v.Title)
	for _, p := range v.Problems {
		fmt.Fprintf(&text, "%s: %s [%s]:", p.Level, p.Text(), p.alert)
		for _, at := range p.Named() {
			fmt.Fprintf(&text, " %s %s#%s,", at.Text, at.Page, at.Anchor)
		}
		if more := p.More(); more > 0 {
			fmt.Fprintf(&text, " and %d more,", more)
		}
		text.WriteString("\n")
	}
	return text.String()
}

func TestTheVerdictCountsWhatIsWrongWorstFirst(t *testing.T) {
	const day = 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct{ samples, want string }{
			"nothing": {`avax_node_up{node="a"} 1`, `
				well: All is well`},
			"nodes down and chains not bootstrapped": {`
				avax_node_up{node="a"} 1
				avax_node_up{node="b"} 0
				avax_node_up{node="c"} 0
				avax_node_chain_bootstrapped{node="a",chain="P"} 1
				avax_node_chain_bootstrapped{node="a",chain="C"} 0
				avax_node_chain_present{node="a",chain="P"} 1
				avax_node_chain_present{node="a",chain="C"} 1
				avax_node_chain_present{node="a",chain="far"} 0`, `
				bad: 2 urgent problems
				bad: 2 nodes are down [AvaxNodeDown]: b #node-b, c #node-c,
				bad: 1 chain is not bootstrapped [AvaxChainNotBootstrapped]: C on a #node-a,`},
			"rewards": {`
				avax_node_up{node="a"} 1
				avax_node_up{node="b"} 1
				avax_node_up{node="c"} 1
				avax_node_validating{node="a"} 1
				avax_node_validating{node="b"} 1
				avax_node_validating{node="c"} 0
				avax_node_uptime_rewarding_stake_ratio{node="a"} 0.94
				avax_node_uptime_rewarding_stake_ratio{node="b"} 0.79
				avax_node_uptime_rewarding_stake_ratio{node="c"} 0.1
				avax_node_connected_stake_ratio{node="b"} 0.999`, `
				bad: 1 urgent problem
				bad: 2 rewards are at risk [AvaxRewardStakeLow]: b #node-b, a #node-a,`},
			"votes that are missing because their stake is not reached": {`
				avax_node_up{node="a"} 1
				avax_node_validating{node="a"} 1
				avax_node_uptime_rewarding_stake_ratio{node="a"} 0.7
				avax_node_connected_stake_ratio{node="a"} 0.7`, `
				bad: 1 urgent problem
				bad: 1 node reaches too little stake [AvaxConnectedStakeLow]: a #node-a,`},
			"validators": {`
				avax_validator_present{node_id="NodeID-gone"} 0
				avax_validator_present{node_id="NodeID-later"} 1
				avax_validator_present{node_id="NodeID-soon"} 1
				avax_validator_present{node_id="NodeID-forever"} 1
				avax_validator_end_timestamp_seconds{node_id="NodeID-later"} ` + in(13*day) + `
				avax_validator_end_timestamp_seconds{node_id="NodeID-soon"} ` + in(20*time.Hour), `
				bad: 2 urgent problems
				bad: 1 validator is not in the set [AvaxValidatorMissing]: NodeID-gone #validator-NodeID-gone,
				bad: 2 stakes end soon [AvaxStakeEndsSoon]: NodeID-soon in 20 h #validator-NodeID-soon, NodeID-later in 13 days #validator-NodeID-later,`},
			"a note alone leaves all well": {`
				avax_upgrade_timestamp_seconds{node="a",upgrade="next"} ` + in(5*time.Hour) + `
				avax_upgrade_timestamp_seconds{node="a",upgrade="past"} ` + in(-5*time.Hour), `
				well: All is well
				note: 1 upgrade is near [AvaxUpgradeImminent]: next in 5 h #nodes,`},
			"an upgrade that the node does not know": {`
				avax_node_up{node="a"} 1
				avax_node_unknown_upgrade_timestamp_seconds{node="a"} ` + in(6*day), `
				warn: 1 problem that can wait
				warn: 1 node does not know an upgrade that is near [AvaxUnknownUpgradeSoon]: a in 6 days #node-a,`},
			"an L1 whose inactive validators explain what is not reached": {`
				avax_l1_weight{chain="one"} 100
				avax_l1_active_weight{chain="one"} 70
				avax_l1_connected_weight{chain="one",node="a"} 70`, `
				bad: 1 urgent problem
				bad: 1 L1 has too little active weight [AvaxL1ActiveWeightLow]: one #l1-one,`},
			"a fork, told once per chain and node": {`
				avax_node_up{node="a"} 1
				avax_node_up{node="b"} 1
				avax_node_up{node="down"} 0
				avax_node_chain_present{node="a",chain="C"} 1
				avax_node_chain_present{node="b",chain="C"} 1
				avax_node_chain_present{node="down",chain="C"} 1
				avax_chain_fork_detected{node="a",chain="C"} 1
				avax_chain_fork_detected{node="b",chain="C"} 0
				avax_chain_fork_detected{node="down",chain="C"} 1`, `
				bad: 2 urgent problems
				bad: 1 node is down [AvaxNodeDown]: down #node-down,
				bad: 1 node has forked off [AvaxForkDetected]: a on C #node-a,`},
			"health checks that nothing else explains": {`
				avax_node_up{node="a"} 1
				avax_node_health_check_failing{node="a",check="diskspace"} 1
				avax_node_health_check_failing{node="a",check="bls"} 1
				avax_node_health_check_failing{node="a",check="X"} 1
				avax_node_health_check_failing{node="a",check="network"} 0`, `
				bad: 1 urgent problem, 1 that can wait
				bad: 1 disk is nearly full [AvaxNodeDiskLow]: a #node-a,
				warn: 1 node calls itself unhealthy [AvaxHealthCheckFailing]: a: X, bls #node-a,`},
			"health checks that follow from what is told anyway": {`
				avax_node_up{node="a"} 1
				avax_node_chain_present{node="a",chain="far"} 1
				avax_node_chain_bootstrapped{node="a",chain="far"} 0
				avax_node_connected_stake_ratio{node="a"} 0.7
				avax_node_unknown_upgrade_timestamp_seconds{node="a"} ` + in(day) + `
				avax_l1_weight{chain="one"} 100
				avax_l1_connected_weight{chain="one",node="a"} 70
				avax_node_health_check_failing{node="a",check="bootstrapped"} 1
				avax_node_health_check_failing{node="a",check="far"} 1
				avax_node_health_check_failing{node="a",check="P"} 1
				avax_node_health_check_failing{node="a",check="C"} 1
				avax_node_health_check_failing{node="a",check="one"} 1
				avax_node_health_check_failing{node="a",check="futureupgrade"} 1`, `
				bad: 4 urgent problems
				bad: 1 chain is not bootstrapped [AvaxChainNotBootstrapped]: far on a #node-a,
				bad: 1 L1 is reached too little [AvaxL1ConnectedWeightLow]: one by a #l1-one,
				bad: 1 node reaches too little stake [AvaxConnectedStakeLow]: a #node-a,
				bad: 1 node does not know an upgrade that is near [AvaxUnknownUpgradeSoon]: a in 24 h #node-a,`},
			"old versions": {`
				avax_node_up{node="a"} 1
				avax_node_up{node="b"} 1
				avax_node_up{node="c"} 1
				avax_node_newer_version_stake_ratio{node="a"} 0.81
				avax_node_newer_version_stake_ratio{node="b"} 0.51
				avax_node_newer_version_stake_ratio{node="c"} 0.5`, `
				warn: 1 problem that can wait
				warn: 2 nodes run an old version [AvaxVersionBehindNetwork]: a #node-a, b #node-b,`},
			"nodes that differ": {`
				avax_fleet_variants{fact="version",subject="network"} 3
				avax_fleet_variants{fact="chain_config",subject="one"} 2
				avax_fleet_variants{fact="chain_config",subject="C"} 1
				avax_fleet_variants{fact="precompiles",subject="one"} 2
				avax_fleet_variants{fact="upgrades",subject="network"} 2
				avax_fleet_variants{fact="vm_version",subject="evm"} 2
				avax_fleet_variants{fact="vm_version",subject="custom"} 2
				avax_upgrade_timestamp_seconds{node="a",upgrade="past"} ` + in(-day) + `
				avax_upgrade_timestamp_seconds{node="a",upgrade="next"} ` + in(4*day) + `
				avax_chain_upgrade_timestamp_seconds{node="a",chain="C",upgrade="x"} ` + in(time.Hour) + `
				avax_chain_upgrade_timestamp_seconds{node="a",chain="one",upgrade="x"} ` + in(2*day), `
				warn: 3 problems that can wait
				warn: 1 upgrade schedule differs [AvaxUpgradeScheduleMismatch]: known upgrades #differences,
				warn: 2 chain configurations differ [AvaxChainConfigDrift]: configuration of one #differences, precompiles of one #differences,
				warn: 2 versions differ [AvaxVersionSkew]: version #differences, VM version of custom #differences,`},
			"nodes that differ shortly before it matters": {`
				avax_fleet_variants{fact="precompiles",subject="one"} 2
				avax_fleet_variants{fact="upgrades",subject="network"} 2
				avax_upgrade_timestamp_seconds{node="a",upgrade="next"} ` + in(2*day) + `
				avax_chain_upgrade_timestamp_seconds{node="a",chain="one",upgrade="x"} ` + in(time.Hour), `
				bad: 2 urgent problems
				bad: 1 upgrade schedule differs [AvaxUpgradeScheduleMismatch]: known upgrades #differences,
				bad: 1 chain configuration differs [AvaxChainConfigDrift]: precompiles of one #differences,`},
			"rewards that are out of reach, and those that may be": {`
				avax_validator_uptime_requirement_ratio{node_id="NodeID-lost"} 0.8
				avax_validator_downtime_budget_seconds{node_id="NodeID-lost"} 1000
				avax_validator_downtime_used_seconds{node_id="NodeID-lost"} 1001
				avax_validator_reward_reachable{node_id="NodeID-lost"} 0
				avax_validator_views_stake_ratio{node_id="NodeID-lost"} 0.9
				avax_validator_uptime_requirement_ratio{node_id="NodeID-unsure"} 0.8
				avax_validator_downtime_budget_seconds{node_id="NodeID-unsure"} 1000
				avax_validator_downtime_used_seconds{node_id="NodeID-unsure"} 1001
				avax_validator_reward_reachable{node_id="NodeID-unsure"} 0
				avax_validator_views_stake_ratio{node_id="NodeID-unsure"} 0.1
				avax_validator_uptime_requirement_ratio{node_id="NodeID-low"} 0.9
				avax_validator_downtime_budget_seconds{node_id="NodeID-low"} 36000
				avax_validator_downtime_used_seconds{node_id="NodeID-low"} 27001
				avax_validator_reward_reachable{node_id="NodeID-low"} 1
				avax_validator_uptime_requirement_ratio{node_id="NodeID-half"} 0.9
				avax_validator_downtime_budget_seconds{node_id="NodeID-half"} 36000
				avax_validator_downtime_used_seconds{node_id="NodeID-half"} 18360
				avax_validator_reward_reachable{node_id="NodeID-half"} 1
				avax_validator_uptime_requirement_ratio{node_id="NodeID-well"} 0.9
				avax_validator_downtime_budget_seconds{node_id="NodeID-well"} 36000
				avax_validator_downtime_used_seconds{node_id="NodeID-well"} 18000
				avax_validator_uptime_requirement_ratio{node_id="NodeID-none"} 1
				avax_validator_downtime_budget_seconds{node_id="NodeID-none"} 0
				avax_validator_downtime_used_seconds{node_id="NodeID-none"} 0
				avax_validator_reward_reachable{node_id="NodeID-none"} 1
				avax_validator_reward_reachable{node_id="NodeID-well"} 1`, `
				bad: 2 urgent problems
				bad: 1 reward is out of reach [AvaxRewardUnreachable]: NodeID-lost #budget-NodeID-lost,
				bad: 2 downtime budgets are low [AvaxDowntimeBudgetLow]: NodeID-low: 2.4 h left #budget-NodeID-low, NodeID-half: 4.9 h left #budget-NodeID-half,`},
			"more places than are named": {`
				avax_node_up{node="a"} 0
				avax_node_up{node="b"} 0
				avax_node_up{node="c"} 0
				avax_node_up{node="d"} 0
				avax_node_up{node="e"} 0
				avax_node_up{node="f"} 0
				avax_node_up{node="g"} 0`, `
				bad: 1 urgent problem
				bad: 7 nodes are down [AvaxNodeDown]: a #node-a, b #node-b, c #node-c, d #node-d, e #node-e, and 2 more,`},
		} {
			got := words(told(t, test.samples).view(time.Now()).Verdict)
			want := strings.ReplaceAll(strings.TrimPrefix(test.want, "\n"), "\t", "") + "\n"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s:\n%s", name, diff)
			}
		}
	})
}

func TestNothingIsCalledWellBeforeEveryCollectorHasRun(t *testing.T) {
	s := told(t, `avax_node_up{node="a"} 1`)
	s.Progress = func() (ran, of int) { return 12, 60 }
	v := s.view(time.Now()).Verdict
	if v.Title != "Waiting for the first answers" || !slices.Contains(v.Sums, "12 of 60 collectors have run") {
		t.Errorf("%+v", v)
	}
	fail(s, "peers", metric.Target{Node: "a"}, outcome("info.peers", scrape.Timeout, "no answer"))
	if v := s.view(time.Now()).Verdict; v.Title != "1 problem that can wait" || !slices.Contains(v.Sums, "12 of 60 collectors have run") {
		t.Errorf("%+v", v)
	}
}

// The scheduler hangs: its last runs were good, and now nothing is known.
func TestACollectorThatHasStoppedIsUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told(t, `avax_node_up{node="a"} 1`)
		time.Sleep(time.Minute)
		v := s.view(time.Now())
		want := "bad: 1 urgent problem\nbad: 1 collector has stopped [AvaxDataTooOld]: test of network #collectors,\n"
		if diff := cmp.Diff(want, words(v.Verdict)); diff != "" {
			t.Error(diff)
		}
		if c := v.Collectors[0]; c.State.Text != "1 stopped" || c.Series != 0 || len(v.Nodes) != 0 {
			t.Errorf("%+v", c)
		}
	})
}

// rulesFile is alerts/rules.yml.
type rulesFile struct {
	Groups []struct {
		Rules []struct {
			Alert  string
			Record string
			Labels map[string]string
			Expr   string
			For    string
		}
	}
}

func shipped(t *testing.T) (file rulesFile) {
	t.Helper()
	if err := yaml.Unmarshal(alerts.Rules, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// Whoever is paged looks here, and whoever is not looks here as well.
func TestWhatPagesSomebodyIsJudgedByThePage(t *testing.T) {
	excused := map[string]string{ // what only alerting can tell: where it runs here, the page tells that it fires
		"AvaxExporterDown":       "then there is no page",
		"AvaxChainMissing":       "only its past tells that the node should run the chain; of an L1 that it validates AvaxChainNotValidating does",
		"AvaxDowntimeBudgetBurn": "a pace needs a past; how much is left is told by AvaxDowntimeBudgetLow",
		"AvaxWalletRunsDry":      "a pace needs a past",
		"AvaxL1OwnerChanged":     "a change needs a past",
		"AvaxL1ManagerChanged":   "a change needs a past",
		"AvaxL1NodeIsolated":     "AvaxL1ConnectedWeightLow names the nodes",
		"AvaxL1WarpQuorumAtRisk": "AvaxL1ConnectedWeightLow is urgent before it",
	}
	paging := map[string]bool{}
	for _, g := range shipped(t).Groups {
		for _, r := range g.Rules {
			if r.Labels["severity"] == "page" && r.Alert != "" {
				paging[r.Alert] = true
			}
		}
	}
	if len(paging) < 30 {
		t.Errorf("only %d alerts page", len(paging))
	}
	for alert := range paging {
		if _, reason := excused[alert]; (kindOf(alert) >= 0) == reason {
			t.Errorf("%s pages: the page has to judge it, or to say why it does not, and not both", alert)
		}
	}
	for alert := range excused {
		if !paging[alert] {
			t.Errorf("%s does not page and needs no excuse", alert)
		}
	}
	for _, k := range kinds {
		for _, alert := range k.covers {
			if _, excuse := excused[alert]; kindOf(alert) < 0 && !excuse {
				t.Errorf("%s covers %s, which nobody judges", k.alert, alert)
			}
		}
	}
}

// The bars are those of the shipped rules: a page that calls well what pages
// somebody would be worse than none.
func TestTheBarsAreThoseOfTheAlertRules(t *testing.T) {
	file := shipped(t)
	// severities of each alert, and of those of its rules that have this label within.
	severities := map[[2]string][]string{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			for _, within := range slices.Compact([]string{"", r.Labels["within"]}) {
				key := [2]string{r.Alert, within}
				severities[key] = appendNew(severities[key], r.Labels["severity"])
			}
		}
	}
	want := map[string]kind{}
	needs := map[string]float64{} // what the judgement of some alerts needs
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Record != "avax:threshold" {
				continue
			}
			bar := 1.0
			for factor := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(r.Expr, "vector("), ")"), "*") {
				f, err := strconv.ParseFloat(strings.TrimSpace(factor), 64)
				if err != nil {
					t.Fatalf("%s: %v", r.Expr, err)
				}
				bar *= f
			}
			alert, severity := r.Labels["alert"], r.Labels["severity"]
			switch of := severities[[2]string{alert, r.Labels["within"]}]; {
			case r.Labels["needs"] != "":
				needs[r.Labels["needs"]] = bar
				continue
			case alert == "AvaxDataServiceStale":
				needs["index"] = bar
				continue
			case severity == "" && len(of) == 1:
				severity = of[0]
			case severity == "" && slices.Contains(of, "page") && alert != "AvaxDataTooOld": // of that the page knows the periods
				severity = "page"
			}
			k := want[alert]
			switch severity {
			case "info":
				k.note = bar
			case "warn":
				k.warn = bar
			case "page":
				k.bad = max(k.bad, bar)
			}
			want[alert] = k
		}
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Alert == "AvaxHeadStale" {
				wait, err := time.ParseDuration(r.For)
				if err != nil {
					t.Fatal(err)
				}
				needs["wait"] = wait.Seconds()
			}
		}
	}
	for need, got := range map[string]float64{"views": enoughViews, "age": youngL1Validator, "index": lateIndex, "wait": headWait} {
		if got != needs[need] {
			t.Errorf("%s: %v; in the rules %v", need, got, needs[need])
		}
	}
	same := func(a, b float64) bool { return a == b || a/b > 0.999999 && a/b < 1.000001 }
	compared := 0
	for _, k := range kinds {
		w := want[k.alert]
		if !same(k.note, w.note) || !same(k.warn, w.warn) || !same(k.bad, w.bad) {
			t.Errorf("%s: note, warn, bad are %v, %v, %v; in the rules %v, %v, %v", k.alert, k.note, k.warn, k.bad, w.note, w.warn, w.bad)
		}
		if w.note != 0 || w.warn != 0 || w.bad != 0 {
			compared++
		}
		if severities[[2]string{k.alert}] == nil {
			t.Errorf("there is no alert %s", k.alert)
		}
	}
	if compared < 6 {
		t.Errorf("only %d kinds have a bar in the rules", compared)
	}
}

func TestAValidatorsVotesAreJudgedAsTheRuleDoes(t *testing.T) {
	v := func(f float64) *float64 { return &f }
	for _, test := range []struct {
		votes, reached *float64
		want           level
	}{
		{nil, nil, well},
		{v(0.96), v(1), well},
		{v(0.94), v(1), warn},
		{v(0.94), nil, warn},
		{v(0.94), v(0.95), well}, // 98.9 % of those reached
		{v(0.79), v(1), bad},
		{v(0.79), v(0.9), warn}, // 87.8 %
		{v(0.1), v(0), bad},
	} {
		if got := under("AvaxRewardStakeLow", ofReached(test.votes, test.reached)); got != test.want {
			t.Errorf("votes %v of %v reached: %s, want %s", test.votes, test.reached, got, test.want)
		}
	}
}

// text writes figures as lines.
func text(figures []figure) string {
	var lines strings.Builder
	for _, f := range figures {
		fmt.Fprintf(&lines, "%s: %s", f.Name, f.Text)
		if f.By != "" {
			lines.WriteString(" by " + f.By)
		}
		if f.Level != well {
			fmt.Fprintf(&lines, " (%s)", f.Level)
		}
		if f.Text == "–" {
			lines.WriteString(" because " + f.Title)
		}
		lines.WriteString("\n")
	}
	return lines.String()
}

func TestANodesCardTellsWhatIsKnownAndWhyTheRestIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told(t, `
			avax_node_up{node="full"} 1
			avax_node_info{node="full",node_id="NodeID-full",version="avalanchego/1.15.0"} 1
			avax_node_validating{node="full"} 1
			avax_node_uptime_rewarding_stake_ratio{node="full"} 0.87
			avax_node_uptime_weighted_ratio{node="full"} 0.9999999
			avax_node_connected_stake_ratio{node="full"} 0.951
			avax_node_peers{node="full"} 1234
			avax_node_peers_inbound{node="full"} 7
			avax_node_up{node="plain"} 1
			avax_node_validating{node="plain"} 0
			avax_node_peers{node="plain"} 3
			avax_node_safe_to_stop{node="full"} 1
			avax_node_stop_leaves_ratio{node="full",chain="P"} 0.8
			avax_node_safe_to_stop{node="plain"} 0
			avax_node_stop_leaves_ratio{node="plain",chain="one"} 0.7999
			avax_node_stop_leaves_ratio{node="plain",chain="P"} 0.5
			avax_node_stop_leaves_ratio{node="plain",chain="two"} 0.9
			avax_node_stop_leaves_ratio{node="starting",chain="one"} 0.9
			avax_node_health_check_failing{node="plain",check="diskspace"} 1
			avax_node_health_check_failing{node="plain",check="P"} 1
			avax_node_health_check_failing{node="plain",check="X"} 1
			avax_node_health_check_failing{node="plain",check="two"} 1
			avax_node_health_check_failing{node="plain",check="bls"} 0
			avax_node_newer_version_stake_ratio{node="full"} 0
			avax_node_newer_version_stake_ratio{node="plain"} 0.60012
			avax_node_chain_present{node="starting",chain="P"} 1
			avax_node_chain_bootstrapped{node="starting",chain="P"} 0`)
		cards := map[string]*nodeView{}
		var order []string
		for _, n := range s.view(time.Now()).Nodes {
			cards[n.Name] = n
			order = append(order, n.Name)
		}
		if diff := cmp.Diff([]string{"plain", "starting", "full"}, order); diff != "" {
			t.Errorf("worst first:\n%s", diff)
		}
		for name, want := range map[string]string{
			"full": `Validating: yes
Votes for reward: 87.00 % (warn)
Weighted uptime: 99.99 %
Stake reached: 95.10 %
Peers: 1,234, 7 inbound
Safe to stop: yes
`,
			"plain": `Validating: no
Votes for reward: – because it is no validator of the primary network
Weighted uptime: – because it is no validator of the primary network
Stake reached: – because no fresh answer: see what fails
Peers: 3
Safe to stop: no: 2 chains
Failing checks: P, X, diskspace and 1 more
Newer version: 60.01 %
`,
			"starting": `Validating: – because not told while the P-Chain bootstraps
Votes for reward: – because not told while the P-Chain bootstraps
Weighted uptime: – because not told while the P-Chain bootstraps
Stake reached: – because no fresh answer: see what fails
Peers: – because no fresh answer: see what fails
Safe to stop: – because not of every chain it is known how much would be left
`,
		} {
			if diff := cmp.Diff(want, text(cards[name].Figures)); diff != "" {
				t.Errorf("%s:\n%s", name, diff)
			}
		}
		if n := cards["full"]; n.ID != "NodeID-full" || n.Version != "avalanchego/1.15.0" || n.State.Text != "up" {
			t.Errorf("%+v", n)
		}
		if n := cards["starting"]; n.State.Text != "–" || n.State.Title == "" {
			t.Errorf("%+v", n.State)
		}
	})
}

func TestChainsShowTheirStateAndHowOldTheirNewestBlockIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told(t, `
			avax_node_up{node="a"} 1
			avax_node_chain_present{node="a",chain="zebra"} 1
			avax_node_chain_present{node="a",chain="C"} 1
			avax_node_chain_present{node="a",chain="X"} 1
			avax_node_chain_present{node="a",chain="P"} 1
			avax_node_chain_present{node="a",chain="ant"} 0
			avax_node_chain_bootstrapped{node="a",chain="P"} 1
			avax_node_chain_bootstrapped{node="a",chain="X"} 1
			avax_node_chain_bootstrapped{node="a",chain="C"} 0
			avax_chain_height{node="a",chain="P"} 21034
			avax_chain_head_timestamp_seconds{node="a",chain="P"} `+in(-7*time.Second)+`
			avax_chain_height{node="a",chain="X"} 0`)
		var got []string
		for _, c := range s.view(time.Now()).Nodes[0].Chains {
			got = append(got, strings.Join([]string{c.Name, c.State.Text, c.State.Level.String(), c.Height.Text, c.Head.Text}, "|"))
		}
		want := []string{"P|✓|well|21,034|7 s ago", "X|✓|well|0|", "C|bootstraps|bad||", "ant|not run|off||", "zebra||well||"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestADeadNodesLastValuesDoNotPassForThePresent(t *testing.T) {
	s := told(t, `
		avax_node_up{node="a"} 0
		avax_node_validating{node="a"} 1
		avax_node_uptime_rewarding_stake_ratio{node="a"} 0.5
		avax_node_chain_present{node="a",chain="P"} 1
		avax_node_chain_bootstrapped{node="a",chain="P"} 0
		avax_node_peers{node="a"} 3`)
	fail(s, "peers", metric.Target{Node: "a"}, outcome("info.peers", scrape.Unreachable, "connection refused"))
	fail(s, "uptime", metric.Target{Node: "a"}, outcome("info.uptime", scrape.Unreachable, "connection refused"))
	fail(s, "l1", metric.Target{Chain: "one"}, outcome("info.peers", scrape.Unreachable, "connection refused"))
	v := s.view(time.Now())
	if got, want := words(v.Verdict), "bad: 1 urgent problem\nbad: 1 node is down [AvaxNodeDown]: a #node-a,\n"; got != want {
		t.Errorf("the failures follow from the node, and yet:\n%s", got)
	}
	n := v.Nodes[0]
	if n.Chains != nil || n.Figures != nil {
		t.Errorf("still shown: %+v %+v", n.Chains, n.Figures)
	}
	if len(n.Failing) != 1 || n.Failing[0].What != "No connection" || len(n.Failing[0].Collectors) != 2 {
		t.Errorf("why it is down: %+v", n.Failing)
	}
	if len(v.Failing) != 1 || v.Failing[0].Follows != "no node can be asked" {
		t.Errorf("what fails beside: %+v", v.Failing)
	}
}

// A path behind the address is the usual mistake, and no chain's fault.
func TestAnAddressWithoutANodesAPIIsNoMissingChain(t *testing.T) {
	s := told(t, `avax_node_up{node="a"} 0`)
	fail(s, "identity", metric.Target{Node: "a"}, outcome("info.getNodeID", scrape.NotFound, "404 page not found"))
	fail(s, "heads", metric.Target{Node: "b"}, outcome("eth_blockNumber L", scrape.NotFound, "404 page not found"))
	v := s.view(time.Now())
	if got := v.Nodes[0].Failing[0].Do; !strings.Contains(got, "AVAX_NODES without a path") || strings.Contains(got, "AVAX_CHAINS") {
		t.Errorf("of a: %s", got)
	}
	if got := v.Failing[0].Do; !strings.Contains(got, "AVAX_CHAINS") {
		t.Errorf("of b: %s", got)
	}
}

// When a node is down one looks for its validator, and knows it by name.
func TestADeadNodeKeepsItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told(t, `avax_node_info{node="mine",node_id="NodeID-mine",version="v"} 1`)
		time.Sleep(time.Hour)
		put(t, s, snapshot.Key{Collector: "up", Target: metric.Target{Node: "mine"}}, `avax_node_up{node="mine"} 0`)
		put(t, s, snapshot.Key{Collector: "validators", Target: metric.Target{}}, `avax_validator_present{node_id="NodeID-mine"} 1`)
		v := s.view(time.Now())
		if v.Validators[0].Name != "mine" || v.Nodes[0].ID != "NodeID-mine" || v.Nodes[0].Version != "" {
			t.Errorf("%+v, %+v", v.Validators[0], v.Nodes[0])
		}
	})
}

func TestAWatchedValidatorShowsWhatItsObserversSaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told(t, `
			avax_node_info{node="mine",node_id="NodeID-mine",version="v"} 1
			avax_validator_present{node_id="NodeID-mine"} 1
			avax_validator_present{node_id="NodeID-renewing"} 1
			avax_validator_present{node_id="NodeID-gone"} 0
			avax_validator_end_timestamp_seconds{node_id="NodeID-mine"} `+in(13*24*time.Hour+time.Hour)+`
			avax_validator_stake_avax{node_id="NodeID-mine"} 2000000.7
			avax_validator_delegated_stake_avax{node_id="NodeID-mine"} 25.5
			avax_validator_potential_reward_avax{node_id="NodeID-mine"} 160000
			avax_validator_uptime_ratio{node="b",node_id="NodeID-mine"} 0.99
			avax_validator_uptime_ratio{node="c",node_id="NodeID-mine"} 0.9312345
			avax_validator_uptime_ratio{node="d",node_id="NodeID-mine"} 0.95`)
		var got []string
		for _, v := range s.view(time.Now()).Validators {
			got = append(got, strings.Join([]string{v.ID, v.Name, v.State.Text, v.Ends.Text, v.Ends.Level.String(), v.Stake.Text, v.Delegated.Text, v.Uptime.Text, v.Uptime.By, v.Reward.Text}, "|"))
		}
		want := []string{
			"NodeID-gone||not in the set|–|well|–|–|–||–",
			"NodeID-mine|mine|in the set|in 13 days|note|2,000,000|25.5|93.12 %|c|160,000",
			"NodeID-renewing||in the set|–|well|–|–|–||–",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnL1ShowsItsSharesAndTheLowestBalanceFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told(t, `
			avax_chain_info{chain="one",subnet_id="subnet1"} 1
			avax_l1_weight{chain="one"} 100
			avax_l1_active_weight{chain="one"} 50
			avax_l1_validators{chain="one",state="active"} 2
			avax_l1_validators{chain="one",state="inactive"} 1
			avax_l1_validators{chain="one",state="legacy"} 0
			avax_l1_connected_weight{chain="one",node="a"} 50
			avax_l1_connected_weight{chain="one",node="b"} 20
			avax_l1_validator_connected{chain="one",node="a",node_id="NodeID-b-poor",validation_id="b-poor"} 1
			avax_l1_validator_connected{chain="one",node="b",node_id="NodeID-b-poor",validation_id="b-poor"} 0
			avax_l1_weight{chain="poa"} 20
			avax_l1_validators{chain="poa",state="legacy"} 1`)
		keepUnpriced(s, "one", "a-rich 20 50", "b-poor 30 3.5", "c-dry 50 0")
		keepL1(s, "poa", l1Told(0, "old 20 legacy100h"))
		v := s.view(time.Now())
		if len(v.L1s) != 2 || v.L1s[0].Chain != "one" || v.L1s[0].SubnetID != "subnet1" {
			t.Fatalf("%+v", v.L1s)
		}
		want := `Validators: 2 active, 1 inactive
Weight: 100
Active weight: 50.00 % (bad)
Connected weight: 20.00 % by b (bad)
Under 80 % active: now (bad)
Under 75 % active: now (bad)
Under 67 % active: now (bad)
Top-up for 30 days: – because no fresh answer: see what fails
`
		if diff := cmp.Diff(want, text(v.L1s[0].Figures)); diff != "" {
			t.Error(diff)
		}
		want = `Validators: 1 legacy
Weight: 20
Active weight: – because no fresh answer: see what fails
Connected weight: – because none of your nodes runs the chain
`
		if diff := cmp.Diff(want, text(v.L1s[1].Figures)); diff != "" {
			t.Error(diff)
		}
		var got []string
		for _, l1 := range v.L1s {
			for _, r := range l1.Rows {
				got = append(got, strings.Join([]string{r.ID, r.State.Text, r.Balance.Text, r.Weight.Text, r.Connected.Text}, "|"))
			}
		}
		rows := []string{
			"NodeID-c-dry|inactive|0|50|–", "NodeID-b-poor|active|3.5|30|1 of 2", "NodeID-a-rich|active|50|20|–",
			"NodeID-old|legacy|ends in 4 days|20|–",
		}
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnL1ShowsWhenItsQuorumIsLostAndWhatToTopUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told(t, `
			avax_l1_weight{chain="one"} 100
			avax_l1_active_weight{chain="one"} 85
			avax_l1_safe_to_stop{chain="one",node_id="NodeID-rich"} 0
			avax_l1_safe_to_stop{chain="one",node_id="NodeID-dry"} 1`)
		keepL1(s, "one", l1Told(floor, "rich 3 50", "poor 15 0.5", "dry 15 0", "old 67 legacy"))
		v := s.view(time.Now()).L1s[0]
		want := `Validators: – because no fresh answer: see what fails
Weight: 100
Active weight: 85.00 % (warn)
Connected weight: – because none of your nodes runs the chain
Under 80 % active: in 11 days (warn)
Under 75 % active: in 11 days (warn)
Under 67 % active: never
Top-up for 30 days: 2.1543 AVAX
`
		if diff := cmp.Diff(want, text(v.Figures)); diff != "" {
			t.Error(diff)
		}
		var got []string
		for _, r := range v.Rows {
			got = append(got, strings.Join([]string{r.ID, r.State.Text, r.Runway.Text, r.Runway.Level.String(), r.Burn.Text, r.TopUp.Text, r.Stop.Text}, "|"))
		}
		rows := []string{
			"NodeID-dry|inactive|is dry|well|0.0442|1.3272|yes",
			"NodeID-poor|active|in 11 days|warn|0.0442|0.8272|–",
			"NodeID-rich|active|in 1130 days|well|0.0442||no",
			"NodeID-old|legacy|–|well|–||–",
		}
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestABudgetShowsItsHoursAndBothVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told(t, `
			avax_node_info{node="mine",node_id="NodeID-mine",version="v"} 1
			avax_validator_uptime_requirement_ratio{node_id="NodeID-mine"} 0.8
			avax_validator_downtime_budget_seconds{node_id="NodeID-mine"} 241920
			avax_validator_downtime_used_seconds{node_id="NodeID-mine"} 121000
			avax_validator_reward_reachable{node_id="NodeID-mine"} 1
			avax_validator_weighted_uptime_ratio{node_id="NodeID-mine"} 0.9
			avax_validator_views_stake_ratio{node_id="NodeID-mine"} 0.985
			avax_validator_votes_yes_ratio{node_id="NodeID-mine",requirement="0.8"} 0.97
			avax_validator_votes_yes_ratio{node_id="NodeID-mine",requirement="0.9"} 0.41
			avax_validator_reward_reachable_at{node_id="NodeID-mine",requirement="0.8"} 1
			avax_validator_reward_reachable_at{node_id="NodeID-mine",requirement="0.9"} 0
			avax_validator_uptime_requirement_ratio{node_id="NodeID-unseen"} 0.9
			avax_validator_downtime_budget_seconds{node_id="NodeID-unseen"} 120960
			avax_validator_views_stake_ratio{node_id="NodeID-unseen"} 0
			avax_validator_uptime_requirement_ratio{node_id="NodeID-lost"} 0.9
			avax_validator_downtime_budget_seconds{node_id="NodeID-lost"} 120960
			avax_validator_downtime_used_seconds{node_id="NodeID-lost"} 120961
			avax_validator_reward_reachable{node_id="NodeID-lost"} 0`)
		v := s.view(time.Now())
		var got []string
		for _, b := range v.Budgets {
			words := []string{b.ID + " " + b.Name}
			for _, c := range []cell{b.Reward, b.Left, b.Used, b.Uptime, b.At80, b.At90} {
				words = append(words, strings.TrimSpace(c.Text+" "+c.Aside))
			}
			got = append(got, strings.Join(words, "|")+"|"+b.Level.String())
		}
		want := []string{
			"NodeID-lost |lost needs 90 %|0.0 h|33.7 h of 33.6 h|–|–|–|bad",
			"NodeID-mine mine|reachable needs 80 %|33.5 h|33.7 h of 67.2 h|90.00 % by 98.50 % of stake|reachable 97.00 % vote yes|lost 41.00 % vote yes|warn",
			"NodeID-unseen |– needs 90 %|–|– of 33.6 h|–|–|–|well",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if !slices.Contains(v.Verdict.Sums, "1 of 2 rewards reachable") {
			t.Errorf("the verdict rests on %q", v.Verdict.Sums)
		}
	})
}

// putTable records a good run of one job that has a table alone.
func putTable(s *Site, key snapshot.Key, tables ...metric.Table) {
	s.Store.Put(snapshot.Run{Key: key, At: time.Now(), Until: time.Now().Add(time.Minute), Tables: tables})
}

func TestTablesOfCollectorsAreShownBesideWhatTheyAreAbout(t *testing.T) {
	s := told(t, `
		avax_node_info{node="mine",node_id="NodeID-mine",version="v"} 1
		avax_fleet_variants{fact="version",subject="network"} 2`)
	table := metric.Table{About: "Who would vote no.", Columns: []string{"Validator", "Peer"}, LeftOut: 7}
	for i := range mostFacts + 3 {
		table.Rows = append(table.Rows, []string{"NodeID-mine", fmt.Sprint("NodeID-", i)})
	}
	putTable(s, snapshot.Key{Collector: "reward_budget", Target: metric.Target{}}, table, metric.Table{About: "Empty."})
	putTable(s, snapshot.Key{Collector: "variants", Target: metric.Target{}}, metric.Table{About: "Who has what.", Columns: []string{"Nodes"}, Rows: [][]string{{"b, c"}}})
	for i := range mostTables + 2 {
		putTable(s, snapshot.Key{Collector: "other", Target: metric.Target{Node: fmt.Sprint(i)}}, metric.Table{About: "Something.", Rows: [][]string{{"more cells", "than columns"}}})
	}
	v := s.view(time.Now())
	if len(v.Dissenters.List) != 1 || len(v.Variants.List) != 1 || len(v.Facts.List) != mostTables || v.Facts.More != 2 {
		t.Fatalf("%d, %d, %d tables and %d more", len(v.Dissenters.List), len(v.Variants.List), len(v.Facts.List), v.Facts.More)
	}
	no := v.Dissenters.List[0]
	if want := []tableCell{{"Validator", "NodeID-mine", "mine"}, {"Peer", "NodeID-0", ""}}; !slices.Equal(no.Rows[0], want) || len(no.Rows) != mostFacts || no.More != 10 {
		t.Errorf("%d rows, %d more, the first is %v", len(no.Rows), no.More, no.Rows[0])
	}
	page := statusOf(t, s)
	for _, want := range []string{"Who would vote no.", "and 10 more", "b, c", "than columns", "and 2 more tables"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
}

func TestLongListsAreCutAndSayByHowMuch(t *testing.T) {
	var lines strings.Builder
	var l1 []string
	for i := range 60 {
		fmt.Fprintf(&lines, "avax_node_up{node=\"n%02d\"} 1\n", i)
		fmt.Fprintf(&lines, "avax_validator_present{node_id=\"NodeID-%02d\"} 1\n", i)
		l1 = append(l1, fmt.Sprintf("V%02d 1 50", i))
	}
	s := told(t, lines.String()+`avax_l1_weight{chain="one"} 60`)
	keepL1(s, "one", l1Told(floor, l1...))
	for i := range 60 {
		fail(s, "peers", metric.Target{Node: fmt.Sprintf("n%02d", i)}, outcome("info.peers", scrape.Timeout, "no answer"))
	}
	v := s.view(time.Now())
	if len(v.Nodes) != openNodes || len(v.MoreNodes) != 60-openNodes {
		t.Errorf("%d and %d nodes", len(v.Nodes), len(v.MoreNodes))
	}
	if len(v.Validators) != mostRows || v.MoreValidators != 60-mostRows {
		t.Errorf("%d and %d validators", len(v.Validators), v.MoreValidators)
	}
	if l1 := v.L1s[0]; len(l1.Rows) != mostRows || l1.More != 60-mostRows {
		t.Errorf("%d and %d L1 validators", len(l1.Rows), l1.More)
	}
	if len(v.Failing) != mostCauses || v.MoreFailing != 60-mostCauses {
		t.Errorf("%d and %d causes", len(v.Failing), v.MoreFailing)
	}
}

func TestFailuresOfOneCauseAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told(t, `
			avax_node_up{node="a"} 1
			avax_node_up{node="b"} 1
			avax_node_chain_present{node="b",chain="C"} 1
			avax_node_chain_bootstrapped{node="b",chain="C"} 0`)
		put(t, s, snapshot.Key{Collector: "peers", Target: metric.Target{Node: "a"}}, `avax_node_peers{node="a"} 3`)
		time.Sleep(12 * time.Second)
		fail(s, "peers", metric.Target{Node: "a"}, outcome("info.peers", scrape.Timeout, "no answer within 10s"))
		fail(s, "uptime", metric.Target{Node: "a"}, outcome("info.uptime", scrape.Timeout, "no answer within 7.5s"))
		fail(s, "l1_views", metric.Target{Node: "a", Chain: "C"}, outcome("validators.getCurrentValidators", scrape.Timeout, "no turn in time"))
		fail(s, "l1_views", metric.Target{Node: "a", Chain: "one"}, outcome("validators.getCurrentValidators", scrape.Rejected, "no"))
		fail(s, "acps", metric.Target{Node: "a"}, outcome("info.acps", scrape.Rejected, "no such method"))
		fail(s, "heads", metric.Target{Node: "b", Chain: "C"}, outcome("eth_getBlockByNumber", scrape.Bootstrapping, "the chain is not done bootstrapping"))
		fail(s, "tps", metric.Target{Chain: "C"}, outcome("GET /v1/avg_tps/{chainId}", scrape.Unavailable, "HTTP 503"))
		fail(s, "tps", metric.Target{Chain: "one"}, outcome("GET /v1/avg_tps/{chainId}", scrape.Unavailable, "HTTP 502"))
		fail(s, "network", metric.Target{}, errors.New("panic: boom"))
		var got []string
		v := s.view(time.Now())
		for _, f := range v.Failing {
			got = append(got, fmt.Sprintf("%s: %s, stops %s, last good %s, follows %q", brief(f.Targets), f.What, brief(f.Collectors), f.LastGood.Text, f.Follows))
		}
		want := []string{
			`a: The question was refused, stops acps, last good –, follows ""`,
			`a/one: The question was refused, stops l1_views, last good –, follows ""`,
			`a/C, a: No answer in time, stops l1_views, peers, uptime, last good 12 s ago, follows ""`,
			`network: The collector itself failed, stops network, last good –, follows ""`,
			`C, one: It says that it cannot answer now, stops tps, last good –, follows ""`,
			`b/C: The chain is still bootstrapping, stops heads, last good –, follows "chain C is not bootstrapped on b"`,
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if last := v.Failing[len(v.Failing)-1]; last.Follows == "" {
			t.Errorf("what follows from something else stands before %v", last.Targets)
		}
		if v.Verdict.Problems[1].Text() != "8 collectors fail" {
			t.Errorf("counted: %s", words(v.Verdict))
		}
	})
}

func TestWhatIsNotLetInHasItsOwnRunbook(t *testing.T) {
	s := told(t, `avax_node_up{node="a"} 1`)
	fail(s, "peers", metric.Target{Node: "a"}, outcome("info.peers", scrape.Forbidden, "HTTP 403: the node does not serve the host name"))
	want := "warn: 1 problem that can wait\nwarn: 1 collector is not let in [AvaxUpstreamForbidden]: peers of a #fails-1,\n"
	if diff := cmp.Diff(want, words(s.view(time.Now()).Verdict)); diff != "" {
		t.Error(diff)
	}
}

func TestEveryOutcomeComesWithWhatToDo(t *testing.T) {
	configuration, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`AVAX_[A-Z_]+`)
	for _, o := range scrape.Outcomes {
		if o == scrape.OK {
			continue
		}
		for _, op := range []string{"info.peers", "GET /v1/avg_tps/{chainId}"} {
			f, _ := failureOf(fmt.Errorf("node a: %w", outcome(op, o, "because")))
			if f.What == "" || f.Do == "" || f.What == mistake.What {
				t.Errorf("%s of %s: %+v", o, op, f)
			}
			for _, name := range variable.FindAllString(f.Do, -1) {
				if !strings.Contains(string(configuration), "`"+name+"`") {
					t.Errorf("%s tells of %s, which docs/configuration.md does not know", o, name)
				}
			}
		}
	}
	node, _ := failureOf(outcome("info.peers", scrape.Unreachable, ""))
	service, _ := failureOf(outcome("GET /v1/avg_tps/{chainId}", scrape.Unreachable, ""))
	if node.Do == service.Do {
		t.Error("a service is told to be mended as a node")
	}
}

func TestThePageReadsDeclaredFamiliesOnly(t *testing.T) {
	declared := map[string][]string{}
	for _, spec := range collectors.All() {
		for _, f := range spec.Families {
			declared[f.Name] = f.Labels
		}
	}
	read := regexp.MustCompile(`\.(?:by|each|lowest)\("(avax_[a-z0-9_]+)"((?:, "[a-z_]+")*|, \[\]string\{[^}]*\})`)
	quoted := regexp.MustCompile(`"([a-z_]+)"`)
	found := 0
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range read.FindAllStringSubmatch(string(source), -1) {
			found++
			labels, has := declared[m[1]]
			if !has {
				t.Errorf("%s: no collector declares %s", file, m[1])
			}
			for _, l := range quoted.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(labels, l[1]) {
					t.Errorf("%s: %s has no label %s", file, m[1], l[1])
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d families found in the sources", found)
	}
}

func TestWordsCutRatherThanRound(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{percent(1), "100.00 %"}, {percent(0.99999), "99.99 %"}, {percent(0.8), "80.00 %"}, {percent(0.7999), "79.99 %"}, {percent(0), "0.00 %"},
		{avax(0), "0"}, {avax(0.00001), "< 0.0001"}, {avax(0.5), "0.5"}, {avax(12.34567), "12.3456"}, {avax(10), "10"}, {avax(2_000_000.9), "2,000,000"},
		{count(0), "0"}, {count(999), "999"}, {count(1000), "1,000"}, {count(1234567), "1,234,567"}, {count(-1234), "-1,234"},
		{span(0), "0 s"}, {span(99 * time.Second), "99 s"}, {span(100 * time.Second), "1 min"}, {span(99 * time.Minute), "99 min"},
		{span(100 * time.Minute), "1 h"}, {span(47 * time.Hour), "47 h"}, {span(47*time.Hour + 59*time.Minute), "47 h"}, {span(335 * time.Hour), "13 days"},
		{hours(0), "0.0 h"}, {hoursUp(0), "0.0 h"}, {hours(33.6 * 3600), "33.6 h"}, {hours(3599), "0.9 h"}, {hours(1752 * 3600), "1,752.0 h"}, {hoursUp(3601), "1.1 h"}, {hoursUp(3600), "1.0 h"},
		{avaxUp(0), "0"}, {avaxUp(1), "0.0001"}, {avaxUp(1e9), "1"}, {avaxUp(1_327_104_000), "1.3272"}, {avaxUp(12_345_999_999_999), "12,346"},
		{took(3 * time.Millisecond), "3 ms"}, {took(1234 * time.Millisecond), "1.2 s"},
		{short("NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"), "NodeID-7Xhw2mD…"}, {short("NodeID-short"), "NodeID-short"},
		{brief([]string{"a", "b", "c"}), "a, b, c"}, {brief([]string{"a", "b", "c", "d", "e"}), "a, b, c and 2 more"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

// A fact that a collector learns to compare must not be left out here.
func TestEveryFactThatNodesMayDifferInHasAName(t *testing.T) {
	t.Parallel()
	d := openDemo(t)
	d.run(t.Context(), time.Hour)
	compared := map[string]bool{}
	for l := range factsOf(d.site.Store.Jobs(), time.Now()).by("avax_fleet_variants", "fact") {
		compared[l[0]] = true
		if !slices.ContainsFunc(differences, func(d difference) bool { return d.fact == l[0] }) {
			t.Errorf("%s is not among the differences", l[0])
		}
	}
	if len(compared) != len(differences) {
		t.Errorf("compared are %v, known %v", compared, differences)
	}
}
