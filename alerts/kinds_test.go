package alerts_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// absent is a sample that is not there: the series has ended.
const absent = -1

// play is what exporters report from time to time, and Prometheus scrapes.
type play struct {
	scrape, length time.Duration
	series         map[string]func(at time.Duration) float64
}

// always returns a value that does not change.
func always(value float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return value }
}

// between returns one value, and another from one time to another.
func between(usual, other float64, from, to time.Duration) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		if at >= from && at < to {
			return other
		}
		return usual
	}
}

// span is when an alert fires.
type span struct {
	alert    string // its name and its labels
	from, to time.Duration
}

// alerts returns what fires, without the watchdog, in the order in which it begins. names are the alerts that are asked for; all if there is none.
func (p play) alerts(t testing.TB, names ...string) (all []span) {
	t.Helper()
	const first = 7 * time.Second
	every := max(15*time.Second, p.scrape/2)
	var input []testworld.Series
	for name, value := range p.series {
		values, was := new(strings.Builder), false
		for at := time.Duration(0); at <= p.length; at += p.scrape {
			v := value(at)
			switch {
			case v != absent:
				values.WriteString(strconv.FormatFloat(v, 'f', -1, 64) + " ")
			case was:
				values.WriteString("stale ")
			default:
				values.WriteString("_ ")
			}
			was = v != absent
		}
		input = append(input, testworld.Series{Series: name, Values: values.String()})
	}
	rules := reach(t, shipped(t), names)
	e := must.Get(testworld.NewEngine(t, time.Unix(1_790_000_000, 0).UTC(), p.scrape, input, every, rules))(t)
	must.Do(t, e.Run(first, p.length))
	for at := first; at <= p.length; at += every {
		for _, r := range e.Alerts() {
			if r.Alert == "AvaxWatchdog" || len(names) > 0 && !slices.Contains(names, r.Alert) {
				continue
			}
			for _, a := range e.Active(r, at) {
				if a.State != promrules.StateFiring {
					continue
				}
				key := a.Labels.String()
				if i := slices.IndexFunc(all, func(s span) bool { return s.alert == key && s.to == at-every }); i >= 0 {
					all[i].to = at
				} else {
					all = append(all, span{key, at, at})
				}
			}
		}
	}
	return all
}

var (
	parsing sync.Once
	parsed  []rulefmt.Rule
)

// shipped returns the shipped rules. They are parsed once for all plays.
func shipped(t testing.TB) []rulefmt.Rule {
	t.Helper()
	parsing.Do(func() { parsed = testworld.Rules(t, alerts.Rules) })
	return parsed
}

// reach returns the rules on which the alerts depend; all if there is no name.
func reach(t testing.TB, all []rulefmt.Rule, names []string) (some []rulefmt.Rule) {
	t.Helper()
	if len(names) == 0 {
		return all
	}
	needed := map[string]bool{}
	for grown := true; grown; {
		grown = false
		for _, r := range all {
			if !slices.Contains(names, r.Alert) && !needed[cmp.Or(r.Record, r.Alert)] {
				continue
			}
			for _, sel := range parser.ExtractSelectors(must.Get(testworld.PromQL.ParseExpr(r.Expr))(t)) {
				for _, m := range sel {
					isRead := m.Name == model.MetricNameLabel || m.Name == labels.AlertName
					if isRead && m.Type == labels.MatchEqual && !needed[m.Value] {
						needed[m.Value], grown = true, true
					}
				}
			}
		}
	}
	for _, r := range all {
		if slices.Contains(names, r.Alert) || needed[cmp.Or(r.Record, r.Alert)] {
			some = append(some, r)
		}
	}
	return some
}

// of returns those with a severity.
func of(all []span, severity string) []span {
	return slices.DeleteFunc(slices.Clone(all), func(s span) bool { return !strings.Contains(s.alert, `severity="`+severity+`"`) })
}

// A value that goes to and fro around its threshold is one message, and one when it is over.
func TestAValueAtItsThresholdIsOneAlert(t *testing.T) {
	testworld.Story(t)
	const length = 6 * time.Hour
	edges := []struct {
		alert, of    string
		well, beyond float64 // two values on both sides of the threshold

		others map[string]float64
	}{
		{alert: "AvaxConnectedStakeLow", of: `avax_node_connected_stake_ratio{job="a", node="n"}`, well: 0.81, beyond: 0.79, others: map[string]float64{`avax_node_up{job="a", node="n"}`: 1}},
		{alert: "AvaxConnectedStakeLow", of: `avax_node_connected_stake_ratio{job="a", node="n"}`, well: 0.91, beyond: 0.89, others: map[string]float64{`avax_node_up{job="a", node="n"}`: 1}},
		{alert: "AvaxL1ConnectedWeightLow", of: `avax_l1_connected_weight{job="a", node="n", chain="dex"}`, well: 810, beyond: 790, others: map[string]float64{
			`avax_l1_weight{job="a", chain="dex"}`: 1000, `avax_l1_active_weight{job="a", chain="dex"}`: 1000, `avax_node_up{job="a", node="n"}`: 1, `avax_node_connected_stake_ratio{job="a", node="n"}`: 1,
		}},
		{alert: "AvaxL1ConnectedWeightLow", of: `avax_l1_connected_weight{job="a", node="n", chain="dex"}`, well: 760, beyond: 740, others: map[string]float64{
			`avax_l1_weight{job="a", chain="dex"}`: 1000, `avax_l1_active_weight{job="a", chain="dex"}`: 1000, `avax_node_up{job="a", node="n"}`: 1, `avax_node_connected_stake_ratio{job="a", node="n"}`: 1,
		}},
		{alert: "AvaxL1ConnectedWeightLow", of: `avax_l1_active_weight{job="a", chain="dex"}`, well: 760, beyond: 740, others: map[string]float64{`avax_l1_weight{job="a", chain="dex"}`: 1000}},
		{alert: "AvaxBenchedPeersHigh", of: `avax_node_peers_benched{job="a", node="n", chain="C"}`, well: 190, beyond: 210, others: map[string]float64{`avax_node_peers{job="a", node="n"}`: 1000}},
		{alert: "AvaxBenchedPeersHigh", of: `avax_node_peers_benched{job="a", node="n", chain="C"}`, well: 45, beyond: 55, others: map[string]float64{`avax_node_peers{job="a", node="n"}`: 1000}},
		{alert: "AvaxNodeDiskLow", of: `avax_node_disk_free_ratio{job="a", node="n"}`, well: 0.052, beyond: 0.048},
		{alert: "AvaxRewardStakeLow", of: `avax_node_uptime_rewarding_stake_ratio{job="a", node="n"}`, well: 0.81, beyond: 0.79, others: map[string]float64{
			`avax_node_validating{job="a", node="n"}`: 1, `avax_node_connected_stake_ratio{job="a", node="n"}`: 1,
		}},
		{alert: "AvaxL1RunwayLow", of: `avax_l1_validator_balance_avax{job="a", chain="dex", node_id="N", validation_id="v"}`, well: 7.1, beyond: 6.9, others: map[string]float64{
			`avax_l1_validator_burn_avax_per_day{job="a", chain="dex", node_id="N", validation_id="v"}`: 1, `avax_validator_present{job="a", node_id="N"}`: 1,
		}},
		{alert: "AvaxHeadLag", of: `avax_chain_agreed_height{job="a", chain="C"}`, well: 1280, beyond: 1320, others: map[string]float64{
			`avax_chain_height{job="a", node="n", chain="C"}`: 1000, `avax_chain_height{job="a", node="m", chain="C"}`: 2000,
		}},
		{alert: "AvaxNodeSlow", of: `avax_node_probe_duration_seconds{job="a", node="n"}`, well: 1.8, beyond: 2.2, others: map[string]float64{`avax_node_up{job="a", node="n"}`: 1}},
	}
	for i, edge := range edges {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("%s %d %d", edge.alert, i, seed), func(t *testing.T) {
				if seed > 0 {
					testworld.Full(t)
				}
				random := rand.New(rand.NewPCG(seed, uint64(i)))
				var turns []time.Duration
				for at := 20 * time.Minute; at < length; at += 6*time.Minute + time.Duration(random.IntN(14*60))*time.Second {
					turns = append(turns, at)
				}
				p := play{scrape: 30 * time.Second, length: length, series: map[string]func(time.Duration) float64{
					edge.of: func(at time.Duration) float64 {
						n, found := slices.BinarySearch(turns, at)
						if found {
							n++
						}
						if n%2 == 1 {
							return edge.beyond
						}
						return edge.well
					},
				}}
				for name, value := range edge.others {
					p.series[name] = always(value)
				}
				begun := map[string]int{}
				for _, s := range p.alerts(t, edge.alert) {
					if begun[s.alert]++; begun[s.alert] > 1 {
						t.Errorf("again from %v to %v: %s", s.from, s.to, s.alert)
					}
				}
				if len(begun) == 0 {
					t.Error("no alert")
				}
			})
		}
	}
}

// none fails if an alert of the severity fires.
func none(t *testing.T, severity string, all []span) {
	t.Helper()
	for _, s := range of(all, severity) {
		t.Errorf("from %v to %v: %s", s.from, s.to, s.alert)
	}
}

// What joins a set, or changes again, is another message.
func TestASecondChangeIsNews(t *testing.T) {
	t.Parallel()
	const first, second = 40 * time.Minute, 80 * time.Minute
	// during returns a value while it stands.
	during := func(from, to time.Duration) func(time.Duration) float64 { return between(absent, 1, from, to) }
	steps := func(at time.Duration) float64 {
		switch {
		case at < first:
			return 5
		case at < second:
			return 70
		}
		return 90
	}
	for alert, series := range map[string]map[string]func(time.Duration) float64{
		"AvaxL1OwnerChanged": {
			`avax_subnet_owner_info{job="a", subnet_id="s", address="one"}`:   during(0, first),
			`avax_subnet_owner_info{job="a", subnet_id="s", address="two"}`:   during(first, second),
			`avax_subnet_owner_info{job="a", subnet_id="s", address="thief"}`: during(second, 9*time.Hour),
			`avax_subnet_info{job="a", subnet_id="s", is_l1="false"}`:         always(1),
		},
		"AvaxFeeConfigChanged":        {`avax_chain_fee_config_last_changed_block{job="a", chain="dex"}`: steps},
		"AvaxValidatorRenewalChanged": {`avax_validator_next_period_seconds{job="a", node_id="N"}`: steps},
	} {
		t.Run(alert, func(t *testing.T) {
			got := play{scrape: time.Minute, length: 2 * time.Hour, series: series}.alerts(t, alert)
			if len(got) != 2 || got[0].from > first+12*time.Minute || got[1].from < second || got[1].from > second+12*time.Minute {
				t.Errorf("alerts %v; want one after %v and one after %v", got, first, second)
			}
		})
	}
}

// A planned move of a staking key to another machine, and back, is no change of identity.
func TestAKeyThatMovesIsNotLost(t *testing.T) {
	t.Parallel()
	const moved, back, length = 40 * time.Minute, 3 * time.Hour, 4 * time.Hour
	series := map[string]func(time.Duration) float64{`avax_validator_stake_avax{job="a", node_id="key"}`: always(2000)}
	for _, node := range []string{"main", "spare"} {
		away := between(1, 0, moved, moved+time.Minute)
		series[fmt.Sprintf(`avax_node_up{job="a", node=%q}`, node)] = away
		for id, owner := range map[string]string{"key": "main", "none": "spare"} {
			series[fmt.Sprintf(`avax_node_identity_info{job="a", node=%q, node_id=%q, bls_public_key="b"}`, node, id)] = func(at time.Duration) float64 {
				now := owner
				if at >= moved && at < back {
					now = map[string]string{"main": "spare", "spare": "main"}[owner]
				}
				if now != node || away(at) == 0 {
					return absent
				}
				return 1
			}
		}
	}
	none(t, "page", play{scrape: 15 * time.Second, length: length, series: series}.alerts(t, "AvaxNodeIdentityChanged", "AvaxNodeDown"))
	// The machine that had the key may stay off. Its identity is served for some minutes more, as it was read.
	main, key := series[`avax_node_up{job="a", node="main"}`], `avax_node_identity_info{job="a", node="main", node_id="key", bls_public_key="b"}`
	series[`avax_node_up{job="a", node="main"}`] = between(1, 0, moved, forever)
	series[key] = between(1, absent, moved+3*time.Minute, forever)
	series[`avax_node_identity_info{job="a", node="main", node_id="none", bls_public_key="b"}`] = always(absent)
	none(t, "page", play{scrape: 15 * time.Second, length: back, series: series}.alerts(t, "AvaxNodeIdentityChanged", "AvaxNodeDown"))
	// The key that nobody has any more is lost, whatever key its node has now.
	series[`avax_validator_stake_avax{job="a", node_id="none"}`] = always(2000)
	if got := of((play{scrape: 15 * time.Second, length: back, series: series}).alerts(t, "AvaxNodeIdentityChanged", "AvaxNodeDown"), "page"); len(got) != 1 ||
		!strings.Contains(got[0].alert, `node="spare"`) {
		t.Errorf("the key of the spare: %v; want one page, about the spare", got)
	}
	delete(series, `avax_validator_stake_avax{job="a", node_id="none"}`)
	series[`avax_node_up{job="a", node="main"}`], series[key] = main, between(1, absent, moved, forever)
	series[`avax_node_identity_info{job="a", node="main", node_id="none", bls_public_key="b"}`] = between(absent, 1, moved+time.Minute, forever)
	series[`avax_node_identity_info{job="a", node="spare", node_id="key", bls_public_key="b"}`] = always(absent)
	if got := (play{scrape: 15 * time.Second, length: time.Hour, series: series}).alerts(t, "AvaxNodeIdentityChanged"); len(of(got, "page")) != 1 {
		t.Errorf("a lost key: %v; want one page", got)
	}
}

// What never answered is not lost: it may not exist yet. What an exporter knows of the time before Prometheus is known.
func TestOnlyWhatWasThereIsLost(t *testing.T) {
	t.Parallel()
	series := map[string]func(time.Duration) float64{}
	for i := range 20 {
		series[fmt.Sprintf(`avax_node_up{job="a", node="n%d"}`, i)] = always(0)
	}
	none(t, "page", play{scrape: 15 * time.Second, length: 2 * time.Hour, series: series}.alerts(t, "AvaxNodeDown"))
	series[`avax_node_answered_timestamp_seconds{job="a", node="n7"}`] = always(1_789_999_000)
	if got := of((play{scrape: 15 * time.Second, length: time.Hour, series: series}).alerts(t, "AvaxNodeDown"), "page"); len(got) != 1 || !strings.Contains(got[0].alert, `node="n7"`) {
		t.Errorf("%v; want one page, about n7", got)
	}
}

// What a restart raises waits for a restart, of whatever node, also if no probe saw it.
func TestRestartsOfOthersPageNobody(t *testing.T) {
	t.Parallel()
	const at = 30 * time.Minute
	partner := map[string]func(time.Duration) float64{
		`avax_l1_weight{job="a", chain="dex"}`:                     always(300),
		`avax_l1_active_weight{job="a", chain="dex"}`:              always(300),
		`avax_l1_connected_weight{job="a", node="n", chain="dex"}`: between(300, 200, at, at+105*time.Second),
		`avax_node_up{job="a", node="n"}`:                          always(1),
		`avax_node_connected_stake_ratio{job="a", node="n"}`:       always(0.98),
	}
	none(t, "page", play{scrape: 15 * time.Second, length: time.Hour, series: partner}.alerts(t, "AvaxL1ConnectedWeightLow"))
	partner[`avax_l1_connected_weight{job="a", node="n", chain="dex"}`] = between(300, 200, at, 9*time.Hour)
	if got := of((play{scrape: 15 * time.Second, length: time.Hour, series: partner}).alerts(t, "AvaxL1ConnectedWeightLow"), "page"); len(got) != 1 || got[0].from > at+3*time.Minute {
		t.Errorf("a partner that dies: %v; want one page within three minutes", got)
	}

	share := func(at time.Duration) float64 { // read once a minute; the node restarts between two probes
		switch minute := at / time.Minute; {
		case minute < 30 || minute > 33:
			return 0.98
		default:
			return []float64{0.05, 0.3, 0.6, 0.79}[minute-30]
		}
	}
	unseen := map[string]func(time.Duration) float64{
		`avax_node_up{job="a", node="n"}`:                    always(1),
		`avax_node_connected_stake_ratio{job="a", node="n"}`: share,
	}
	none(t, "page", play{scrape: 15 * time.Second, length: time.Hour, series: unseen}.alerts(t, "AvaxConnectedStakeLow"))
	unseen[`avax_node_connected_stake_ratio{job="a", node="n"}`] = between(0.98, 0.3, at, 9*time.Hour)
	if got := of((play{scrape: 15 * time.Second, length: time.Hour, series: unseen}).alerts(t, "AvaxConnectedStakeLow"), "page"); len(got) != 1 || got[0].from > at+3*time.Minute {
		t.Errorf("a node that is cut off: %v; want one page within three minutes", got)
	}
}

// Two nodes are read at different times, and samples may be minutes old.
func TestABlockThatOneNodeHasFirstIsNoFault(t *testing.T) {
	t.Parallel()
	for _, scrape := range []time.Duration{15 * time.Second, time.Minute, 2 * time.Minute} {
		height := func(late time.Duration) func(time.Duration) float64 { // a block each 12 minutes; every 200th scrape is lost
			return func(at time.Duration) float64 {
				if at/scrape%200 == 57 || at/scrape%29 == 6 && scrape == 2*time.Minute {
					return absent
				}
				return float64(1000 + (at-late+time.Hour)/(12*time.Minute))
			}
		}
		series := map[string]func(time.Duration) float64{
			`avax_chain_height{job="a", node="n", chain="dex"}`: height(25 * time.Second),
			`avax_chain_height{job="a", node="m", chain="dex"}`: height(0),
			`avax_chain_height{job="a", node="o", chain="dex"}`: height(0),
			`avax_chain_agreed_height{job="a", chain="dex"}`:    height(0),
			`avax_node_up{job="a", node="n"}`:                   always(1),
			`avax_node_up{job="a", node="m"}`:                   always(1),
			`avax_node_up{job="a", node="o"}`:                   always(1),
		}
		for node, late := range map[string]time.Duration{"n": 25 * time.Second, "m": 0, "o": 0} {
			series[fmt.Sprintf(`avax_chain_head_timestamp_seconds{job="a", node=%q, chain="dex"}`, node)] = func(at time.Duration) float64 {
				h := height(late)(at)
				if h == absent {
					return absent
				}
				return 1_790_000_000 + (h-1000)*720 - 3600
			}
		}
		none(t, "page", play{scrape: scrape, length: 8 * time.Hour, series: series}.alerts(t, "AvaxHeadStale", "AvaxHeadLag"))
	}
}

// Balances that reach a deadline within an hour are one message.
func TestBalancesThatEndTogetherAreOneMessage(t *testing.T) {
	t.Parallel()
	const validators, length = 20, 3 * time.Hour
	for _, days := range []float64{1, 7} {
		series := map[string]func(time.Duration) float64{}
		for i := range validators {
			id := fmt.Sprintf(`chain="dex", node_id="N%d", validation_id="v%d"`, i, i)
			series[`avax_l1_validator_burn_avax_per_day{job="a", `+id+`}`] = always(1)
			series[fmt.Sprintf(`avax_validator_present{job="a", node_id="N%d"}`, i)] = always(1)
			series[`avax_l1_validator_balance_avax{job="a", `+id+`}`] = func(at time.Duration) float64 {
				return days + (time.Hour+time.Duration(i)*3*time.Minute-at).Hours()/24
			}
		}
		begun := map[time.Duration]int{}
		for _, s := range of(play{scrape: time.Minute, length: length, series: series}.alerts(t, "AvaxL1RunwayLow"), "page") {
			if strings.Contains(s.alert, fmt.Sprintf(`within="%v"`, map[float64]string{1: "24h", 7: "7d"}[days])) {
				begun[s.from]++
			}
		}
		if len(begun) != 1 || slices.Collect(maps.Values(begun))[0] != validators {
			t.Errorf("at %v days, alerts begin at %v; want %d at one time", days, begun, validators)
		}
	}
}

// A chain on which no transaction waits is idle, as after a nightly job. A transaction that blocks left in the pool does not wait for a block: it offers
// less than the minimum fee.
func TestTheEndOfANightlyJobIsNoHalt(t *testing.T) {
	t.Parallel()
	const from, to, length = time.Hour, 4 * time.Hour, 6 * time.Hour
	blocks := func(at time.Duration) float64 { return float64((min(max(at, from), to) - from) / (10 * time.Second)) }
	series := map[string]func(time.Duration) float64{}
	pending := func(of func(time.Duration) float64) {
		for _, n := range []string{"n", "m"} {
			series[fmt.Sprintf(`avax_node_pool_transactions{job="a", node=%q, chain="dex", state="pending"}`, n)] = of
		}
	}
	for _, n := range []string{"n", "m"} {
		id := fmt.Sprintf(`job="a", node=%q, chain="dex"`, n)
		series[`avax_chain_height{`+id+`}`] = blocks
		series[`avax_chain_head_timestamp_seconds{`+id+`}`] = func(at time.Duration) float64 { return 1_790_000_000 + from.Seconds() + 10*blocks(at) }
		series[fmt.Sprintf(`avax_node_up{job="a", node=%q}`, n)] = always(1)
	}
	for _, idle := range []func(time.Duration) float64{always(0), always(1), between(0, 1, from+time.Hour, 9*time.Hour), between(0, 1, to-time.Minute, 9*time.Hour)} {
		pending(idle)
		none(t, "page", play{scrape: 15 * time.Second, length: length, series: series}.alerts(t, "AvaxHeadStale"))
	}
	pending(between(1, 3, to+time.Minute, 9*time.Hour)) // transactions wait
	if got := of((play{scrape: 15 * time.Second, length: length, series: series}).alerts(t, "AvaxHeadStale"), "page"); len(got) == 0 || got[0].from > to+12*time.Minute {
		t.Errorf("a chain that halts at %v: %v; want a page", to, got)
	}
}

// A node whose restarts are short pages soon after it died. No restart that is not longer than twice the longest one pages.
func TestANodePagesWhenItIsAwayForLongerThanItsRestarts(t *testing.T) {
	t.Parallel()
	const at, length = 30 * time.Minute, time.Hour
	for longest, hold := range map[float64]time.Duration{absent: 240 * time.Second, 20: 75 * time.Second, 60: 2 * time.Minute, 200: 240 * time.Second} {
		for _, away := range []time.Duration{15 * time.Second, time.Minute, hold - 15*time.Second, 9 * time.Hour} {
			up := between(1, 0, at, at+away)
			series := map[string]func(time.Duration) float64{
				`avax_node_longest_restart_seconds{job="a", node="n"}`: always(longest),
				`avax_node_up{job="a", node="n"}`:                      up,
				`avax_node_answered_timestamp_seconds{job="a", node="n"}`: func(now time.Duration) float64 {
					if up(now) == 0 {
						now = at - 15*time.Second
					}
					return 1_790_000_000 + now.Seconds()
				},
			}
			for _, other := range []string{"m", "o", "p"} {
				series[fmt.Sprintf(`avax_node_up{job="a", node=%q}`, other)] = always(1)
			}
			got := of(play{scrape: 15 * time.Second, length: length, series: series}.alerts(t, "AvaxNodeDown"), "page")
			switch {
			case away < length && len(got) > 0:
				t.Errorf("longest restart %v s: a restart of %v pages", longest, away)
			case away > length && (len(got) != 1 || got[0].from > at+hold+45*time.Second):
				t.Errorf("longest restart %v s: %v; want a page %v after %v", longest, got, hold+45*time.Second, at)
			}
		}
	}
}

// A node that leaves the configuration takes the alerts about it along, whatever was wrong: those that fire end, and those that are pending do not fire.
func TestANodeThatLeavesTakesItsAlertsAlong(t *testing.T) {
	t.Parallel()
	fired := map[string]bool{}
	for _, leaves := range []time.Duration{24 * time.Minute, 29 * time.Minute, 40 * time.Minute} {
		all := play{scrape: 15 * time.Second, length: leaves + 20*time.Minute, series: faultsUntil(leaves)}.alerts(t)
		for _, s := range all {
			if !strings.Contains(s.alert, `node="a"`) {
				continue
			}
			fired[s.alert] = true
			if soon := leaves + 15*time.Second; s.from >= soon || s.to >= soon {
				t.Errorf("left at %v, but from %v to %v: %s", leaves, s.from, s.to, s.alert)
			}
		}
	}
	if len(fired) < 15 {
		t.Errorf("only %d alerts fired: %v", len(fired), fired)
	}
}

// A chain that the exporter no longer monitors takes its alerts along. Those of another chain stay.
func TestAChainThatLeavesTakesItsAlertsAlong(t *testing.T) {
	t.Parallel()
	fired, kept := map[string]bool{}, map[string]time.Duration{} // by name: an alert that is kept ends with keep_firing_for
	for _, g := range must.Get(alerts.Compiled(alerts.RulesFile, alerts.Options{}))(t).Groups {
		for _, r := range g.Rules {
			kept[r.Alert] = max(kept[r.Alert], time.Duration(r.KeepFiringFor))
		}
	}
	for _, leaves := range []time.Duration{21 * time.Minute, 24 * time.Minute, 40 * time.Minute} {
		stays := 0
		for _, s := range (play{scrape: 15 * time.Second, length: leaves + 20*time.Minute, series: faultsOfChains(leaves)}).alerts(t) {
			switch soon := leaves + 15*time.Second; {
			case strings.Contains(s.alert, `chain="game"`) && s.to > soon+5*time.Minute:
				stays++
			case strings.Contains(s.alert, `chain="dex"`):
				fired[s.alert] = true
				name, _, _ := strings.Cut(strings.TrimPrefix(s.alert, `{alertname="`), `"`)
				if s.from >= soon || s.to >= soon+kept[name] {
					t.Errorf("left at %v, but from %v to %v: %s", leaves, s.from, s.to, s.alert)
				}
			}
		}
		if stays < 5 {
			t.Errorf("dex left at %v, and only %d alerts about game stay", leaves, stays)
		}
	}
	if len(fired) < 5 {
		t.Errorf("only %d alerts fired: %v", len(fired), slices.Sorted(maps.Keys(fired)))
	}
}

// faultsOfChains returns two L1s with many faults from 20m on, of which dex then leaves.
func faultsOfChains(leaves time.Duration) reported {
	const begins = 20 * time.Minute
	w := reported{`up{job="a", instance="e"}`: always(1), `avax_exporter_targets{job="a", instance="e"}`: always(2)}
	for _, chain := range []string{"P", "X", "C"} {
		w[fmt.Sprintf(`avax_exporter_chain_monitored{job="a", instance="e", chain=%q}`, chain)] = always(1)
	}
	for _, node := range []string{"a", "b"} {
		w.node("e", node, always(1))
		w[fmt.Sprintf(`avax_node_connected_stake_ratio{job="a", instance="e", node=%q}`, node)] = always(0.97)
	}
	for _, chain := range []string{"dex", "game"} {
		// add adds a series of the chain with one value, and another while it has faults.
		add := func(family, labels string, well, ill func(at time.Duration) float64) {
			w[fmt.Sprintf(`%s{job="a", instance="e", chain=%q%s}`, family, chain, labels)] = func(at time.Duration) float64 {
				switch {
				case chain == "dex" && at >= leaves:
					return absent
				case at < begins:
					return well(at)
				}
				return ill(at)
			}
		}
		add("avax_exporter_chain_monitored", "", always(1), always(1))
		add("avax_l1_weight", "", always(100), always(100))
		add("avax_l1_active_weight", "", always(100), always(60))
		add("avax_l1_proposers", "", always(5), always(5))
		add("avax_l1_proposers_left", "", always(4), always(0))
		add("avax_l1_quorum_loss_seconds", `, quorum="0.80"`, always(9e6), always(3600))
		add("avax_chain_fee_config_min_base_fee_wei", "", always(25e9), always(25e9))
		add("avax_chain_head_base_fee_wei", "", always(25e9), always(9e13))
		clock := func(at time.Duration) float64 { return 1_790_000_000 + at.Seconds() }
		for _, node := range []string{"a", "b"} {
			of := fmt.Sprintf(", node=%q", node)
			add("avax_node_chain_present", of, always(1), always(1))
			add("avax_node_chain_bootstrapped", of, always(1), always(1))
			add("avax_l1_connected_weight", of, always(100), always(60))
			add("avax_chain_height", of, func(at time.Duration) float64 { return 1000 + at.Seconds() }, always(1000+begins.Seconds()))
			add("avax_chain_head_timestamp_seconds", of, clock, always(clock(begins)))
			add("avax_node_peers_benched", of, always(0), always(90))
		}
		for i := range 5 {
			of := fmt.Sprintf(`, node_id="V%d", validation_id="%s%d"`, i, chain, i)
			active := 1.0
			if i > 2 {
				active = 0
			}
			add("avax_l1_validator_active", of, always(1), always(active))
			add("avax_l1_validator_weight", of, always(20), always(20))
			add("avax_l1_validator_balance_avax", of, always(100), always(0.01))
			add("avax_l1_validator_burn_avax_per_day", of, always(0.1), always(0.1))
			add("avax_l1_validator_connected", of+`, node="a"`, always(1), always(active))
		}
	}
	return w
}

// faultsUntil returns three nodes, of which node a has many faults from 20m on, and then leaves.
func faultsUntil(leaves time.Duration) reported {
	const begins = 20 * time.Minute
	w := reported{
		`avax_l1_weight{job="a", instance="e", chain="dex"}`:        always(100),
		`avax_l1_active_weight{job="a", instance="e", chain="dex"}`: always(100),
		`up{job="a", instance="e"}`:                                 always(1),
		`avax_exporter_targets{job="a", instance="e"}`:              between(3, 2, leaves, forever),
		`avax_exporter_configured_nodes{job="a", instance="e"}`:     between(3, 2, leaves, forever),
	}
	for _, node := range []string{"a", "b", "c"} {
		// add adds a series with one value, and another while node a has faults.
		add := func(family, labels string, well, ill func(at time.Duration) float64) {
			w[fmt.Sprintf(`%s{job="a", instance="e", node=%q%s}`, family, node, labels)] = func(at time.Duration) float64 {
				switch {
				case node != "a" || at < begins:
					return well(at)
				case at < leaves:
					return ill(at)
				}
				return absent
			}
		}
		for _, chain := range []string{"P", "C", "X", "dex"} {
			of := fmt.Sprintf(", chain=%q", chain)
			height := func(at time.Duration) float64 { return 1000 + at.Seconds()/2 }
			clock := func(at time.Duration) float64 { return 1_790_000_000 + at.Seconds() }
			add("avax_node_chain_present", of, always(1), always(1))
			add("avax_node_peers_benched", of, always(0), always(90))
			add("avax_chain_height", of, height, always(height(begins)))
			add("avax_chain_head_timestamp_seconds", of, clock, always(clock(begins)))
			bootstrapped := 1.0
			if chain == "X" {
				bootstrapped = 0
			}
			add("avax_node_chain_bootstrapped", of, always(1), always(bootstrapped))
		}
		add("avax_node_identity_info", fmt.Sprintf(`, node_id="ID-%s", bls_public_key="b"`, node), always(1), always(1))
		add("avax_chain_fork_detected", `, chain="C"`, always(0), always(1))
		add("avax_l1_connected_weight", `, chain="dex"`, always(100), always(30))
		for _, f := range []struct {
			family, labels string
			well, ill      float64
		}{
			{"avax_node_up", "", 1, 1},
			{"avax_node_validating", "", 1, 1},
			{"avax_node_peers", "", 100, 10},
			{"avax_node_peers_inbound", "", 50, 0},
			{"avax_node_connected_stake_ratio", "", 0.97, 0.5},
			{"avax_node_disk_free_ratio", "", 0.5, 0.01},
			{"avax_node_health_check_failing", `, check="diskspace"`, 0, 1},
			{"avax_node_health_check_failing", `, check="network"`, 0, 1},
			{"avax_node_uptime_rewarding_stake_ratio", "", 0.97, 0.5},
			{"avax_node_probe_duration_seconds", "", 0.1, 5},
		} {
			add(f.family, f.labels, always(f.well), always(f.ill))
		}
	}
	return w
}
