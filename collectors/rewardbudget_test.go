package collectors_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// budgetOf returns a function that returns the value of a family of reward_budget for one validator.
func (w world) budgetOf(t *testing.T, page, participant string) func(family string) float64 {
	t.Helper()
	return func(family string) float64 {
		t.Helper()
		return valueOf(t, page, "avax_validator_"+family+`{node_id="`+w.network.NodeID(participant)+`"}`)
	}
}

// near reports whether the relative difference of a value from the expected one is at most a millionth.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-6*max(1, math.Abs(want)) }

// The views of all peers of a configured node count, weighted by stake. The node's view of itself does not count.
func TestBudgetFollowsTheViewsOfPeers(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo")
		w.network.Node("alpha").SetObservedUptime(95)
		w.network.Node("alpha").SetObservedUptime(85, "bravo", "charlie")
		page := w.page(t, "reward_budget")
		alpha := w.budgetOf(t, page, "alpha")
		// The stake without alpha's is 8.0056 million AVAX: bravo has 2.05 and charlie 1.9505 million.
		const all, others = 10_040_600.0, 8_005_600.0
		want := (0.85*(2_050_000+1_950_500) + 0.95*(others-2_050_000-1_950_500)) / others
		if got := alpha("weighted_uptime_ratio"); !near(got, want) {
			t.Errorf("weighted uptime %v, want %v", got, want)
		}
		if got := alpha("views_stake_ratio"); !near(got, others/all) {
			t.Errorf("views of %v, want %v", got, others/all)
		}
		if got := alpha("downtime_used_seconds"); !near(got, (1-want)*200*24*3600) {
			t.Errorf("downtime used %v s, want %v", got, (1-want)*200*24*3600)
		}
		wantSeries(t, page, `avax_validator_downtime_budget_seconds{node_id="`+w.network.NodeID("alpha")+`"}`, "6.3072e+06") // 20 % of 365 days
		for requirement, want := range map[string]float64{"0.8": others / all, "0.9": (others - 2_050_000 - 1_950_500) / all} {
			if got := valueOf(t, page, fmt.Sprintf(`avax_validator_votes_yes_ratio{node_id="%s",requirement="%s"}`, w.network.NodeID("alpha"), requirement)); !near(got,
				want) {
				t.Errorf("yes votes %v for the requirement %s, want %v", got, requirement, want)
			}
		}
	})
}

func TestFalseViewWithLittleStakeHasLittleEffect(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		before := w.budgetOf(t, w.page(t, "reward_budget"), "alpha")("weighted_uptime_ratio")
		w.network.Node("alpha").SetObservedUptime(1, "hotel")
		page := w.page(t, "reward_budget")
		after := w.budgetOf(t, page, "alpha")("weighted_uptime_ratio")
		if after == before || before-after > 0.001 {
			t.Errorf("changed from %v to %v", before, after)
		}
		wantSeries(t, page, `avax_validator_reward_reachable{node_id="`+w.network.NodeID("alpha")+`"}`, "1")
	})
}

// A disconnected node counts itself as up.
func TestOwnViewNeverCountsAsVote(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		w.network.Disconnect("alpha")
		time.Sleep(time.Hour)
		page := w.page(t, "reward_budget")
		id := `{node_id="` + w.network.NodeID("alpha") + `"`
		wantNoSeries(t, page, "avax_validator_views_stake_ratio"+id+"}")
		wantSeries(t, page, "avax_validator_uptime_requirement_ratio"+id+"}", "0.8")
		for _, family := range []string{"weighted_uptime_ratio", "downtime_used_seconds", "reward_reachable", "reward_reachable_at", "votes_yes_ratio"} {
			wantNoSeries(t, page, "avax_validator_"+family+id)
		}

		w.setNodes(t, "alpha", "bravo") // only bravo has a view of alpha
		alpha := w.budgetOf(t, w.page(t, "reward_budget"), "alpha")
		entries := must.Get(w.ups.Nodes()[1].PlatformCurrentValidators(t.Context(), "", w.network.NodeID("alpha")))(t)
		if got, want := alpha("weighted_uptime_ratio"), entries[0].Uptime.Ratio(); !near(got, want) || got == 1 {
			t.Errorf("weighted uptime %v, want bravo's view, %v", got, want)
		}
		if got, want := alpha("views_stake_ratio"), 2_050_000/10_040_600.0; !near(got, want) {
			t.Errorf("views of %v, want bravo's %v", got, want)
		}
	})
}

func TestOtherNodesViewsCountForANodeThatIsDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo", "charlie", "foxtrot") // foxtrot has no stake, and so no vote
		before := w.budgetOf(t, w.page(t, "reward_budget"), "alpha")
		w.network.Node("alpha").Stop()
		time.Sleep(24 * time.Hour)
		page := w.page(t, "reward_budget")
		alpha := w.budgetOf(t, page, "alpha")
		if got, want := alpha("views_stake_ratio"), (2_050_000+1_950_500)/10_040_600.0; !near(got, want) {
			t.Errorf("views of %v, want those of bravo and charlie, %v", got, want)
		}
		// charlie and bravo report alpha's earlier downtime exactly, not in whole percents.
		if used := alpha("downtime_used_seconds"); used < 24*3600 || used > before("downtime_used_seconds")+24*3600 {
			t.Errorf("downtime used %v s after a day, %v s before that day", used, before("downtime_used_seconds"))
		}
		// The peers of the other nodes still report their views.
		if got, want := w.budgetOf(t, page, "bravo")("views_stake_ratio"), (10_040_600.0-2_050_000-2_035_000)/10_040_600.0; !near(got, want) {
			t.Errorf("views of bravo %v, want %v", got, want)
		}
	})
}

// Peers report alpha's uptime in whole percents. The other configured nodes report it exactly.
func TestDowntimeUsedDoesNotFallWhenTheNodeGoesDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo", "charlie")
		downtime := func() (used, uncertainty float64) {
			alpha := w.budgetOf(t, w.page(t, "reward_budget"), "alpha")
			return alpha("downtime_used_seconds"), alpha("downtime_used_uncertainty_seconds")
		}
		up, percent := downtime()
		const days = 200 * 24 * 3600
		if percent < 0.0099*days || percent > 0.0101*days {
			t.Errorf("uncertainty %v s, want 1 %% of %d s", percent, days)
		}
		w.network.Node("alpha").Stop()
		last, at := up, time.Now()
		for minute := range 10 {
			time.Sleep(time.Minute)
			used, uncertainty := downtime()
			if passed := time.Since(at).Seconds(); used < last || used > last+passed+5 {
				t.Errorf("minute %d: downtime used %v s, after %v s it was %v s", minute, used, passed, last)
			}
			last, at = used, time.Now()
			seen := (1 - w.budgetOf(t, w.page(t, "reward_budget"), "alpha")("weighted_uptime_ratio")) * days
			if math.Abs(used-uncertainty-seen) > 60 || uncertainty < days/1000 {
				t.Errorf("minute %d: downtime used %v s, uncertainty %v s, but the other nodes observed %v s", minute, used, uncertainty, seen)
			}
		}
		if last < up+9*60-10 {
			t.Errorf("downtime used %v s after ten minutes, %v s before", last, up)
		}

		// After a restart, the collector continues with the state directory.
		dir := t.TempDir()
		w.ups.State = stateIn(t, dir)
		first, _ := downtime() // without stored state, the value is what the other nodes observed
		w.network.Node("alpha").Start()
		time.Sleep(10 * time.Minute)
		higher, _ := downtime()
		w.network.Node("alpha").Stop()
		time.Sleep(time.Minute)
		w.ups.State = stateIn(t, dir)
		if used, _ := downtime(); used < higher || higher < first {
			t.Errorf("downtime used %v s after a restart, %v s before it, %v s at first", used, higher, first)
		}

		w.network.SetStakeStart("alpha", time.Now().Add(-time.Hour))
		if used, _ := downtime(); used > 3600 {
			t.Errorf("downtime used %v s in a period that started an hour ago", used)
		}
	})
}

// stateIn opens a state directory.
func stateIn(t *testing.T, path string) *state.Dir {
	t.Helper()
	return must.Get(state.Open(path))(t)
}

func TestDowntimeUsedRecoversFromAFalseReport(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo")
		used := func() float64 { return w.budgetOf(t, w.page(t, "reward_budget"), "alpha")("downtime_used_seconds") }
		before := used()
		w.network.Node("alpha").SetObservedUptime(1, "charlie") // a quarter of the stake
		time.Sleep(time.Minute)
		if reported := used(); reported < before {
			t.Errorf("downtime used %v s, %v s before the false report", reported, before)
		}
		w.network.Node("alpha").SetObservedUptime(99)
		time.Sleep(time.Minute)
		if after := used(); after > before+120 {
			t.Errorf("downtime used %v s a minute after the false report, %v s before it", after, before)
		}
	})
}

// If a node's peers cover little stake, the other configured nodes are called. Their views count only if they cover
// more stake.
func TestSourceWithMoreStakeCounts(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "charlie")
		w.network.Disconnect("delta")
		w.network.Disconnect("echo")
		alpha := w.budgetOf(t, w.page(t, "reward_budget"), "alpha")
		if got, want := alpha("views_stake_ratio"), (2_050_000+1_950_500+2_000+3_100)/10_040_600.0; !near(got, want) || got >= 0.5 {
			t.Errorf("views of %v, want those of alpha's peers, %v, not only charlie's", got, want)
		}
	})
}

// Peers that have not reported yet do not count as downtime.
func TestRestartDoesNotChangeTheBudget(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		before := w.budgetOf(t, w.page(t, "reward_budget"), "alpha")("weighted_uptime_ratio")
		w.network.Node("alpha").Start()
		id := `{node_id="` + w.network.NodeID("alpha") + `"}`
		exported := 0
		for range 60 {
			time.Sleep(time.Second)
			page, err := w.run(t, "reward_budget", "network")
			if err != nil { // the P-Chain does not answer yet
				continue
			}
			if !strings.Contains(page, "avax_validator_views_stake_ratio"+id) {
				wantNoSeries(t, page, "avax_validator_weighted_uptime_ratio"+id)
				continue
			}
			exported++
			wantSeries(t, page, "avax_validator_reward_reachable"+id, "1")
			if got := valueOf(t, page, "avax_validator_weighted_uptime_ratio"+id); math.Abs(got-before) > 0.01 {
				t.Errorf("weighted uptime %v, was %v", got, before)
			}
		}
		if exported < 30 {
			t.Errorf("exported in %d of 60 seconds", exported)
		}
	})
}

func TestRequirementRisesExactlyAtHelicon(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		helicon := time.Now().Add(-50 * 24 * time.Hour).Truncate(time.Second)
		for _, step := range []struct {
			helicon, start time.Time
			want           string
		}{
			{helicon, helicon.Add(-time.Second), "0.8"},
			{helicon, helicon, "0.9"},
			{helicon, helicon.Add(time.Second), "0.9"},
			{time.Time{}, helicon, "0.8"}, // not scheduled
			{time.Now().Add(time.Hour), helicon, "0.8"},
		} {
			w.network.SetUpgrade("helicon", step.helicon)
			w.network.SetStakeStart("alpha", step.start)
			time.Sleep(staticAge)
			page := w.page(t, "reward_budget")
			wantSeries(t, page, `avax_validator_uptime_requirement_ratio{node_id="`+w.network.NodeID("alpha")+`"}`, step.want)
			budget := valueOf(t, page, `avax_validator_downtime_budget_seconds{node_id="`+w.network.NodeID("alpha")+`"}`)
			share := map[string]float64{"0.8": 0.2, "0.9": 0.1}[step.want]
			// The period ends 165 days after the start of the network, which was minutes ago.
			if want := share * (165*24*time.Hour + time.Since(step.start)).Seconds(); math.Abs(budget-want) > 3600 {
				t.Errorf("budget %v s, want about %v", budget, want)
			}
		}
	})
}

// collector.StaticAge is longer than the maximum age of an answer about upgrades.
const staticAge = 11 * time.Minute

// A node of an older release does not know the upgrade, or knows an outdated time.
func TestOutdatedNodeDoesNotLowerTheRequirement(t *testing.T) {
	for _, known := range []string{"9999-12-01T00:00:00Z", "2998-01-01T00:00:00Z"} {
		inWorld(t, func(t *testing.T, w world) {
			w.setNodes(t, "alpha", "bravo", "charlie")
			*w.otherwise = func(node, method string, _ []any) string {
				if node != "bravo" && method == "info.upgrades" {
					return `{"jsonrpc":"2.0","result":{"graniteTime":"2025-11-19T16:00:00Z","heliconTime":"` + known + `"},"id":1}`
				}
				return ""
			}
			wantSeries(t, w.page(t, "reward_budget"), `avax_validator_uptime_requirement_ratio{node_id="`+w.network.NodeID("bravo")+`"}`, "0.9")
		})
	}
}

func TestAutoRenewedBudgetCoversTheCurrentPeriod(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo")
		w.ups.Watch.Validators = collector.Validators{IDs: []string{w.network.NodeID("golf")}}
		golf := w.budgetOf(t, w.page(t, "reward_budget"), "golf")
		if got := golf("uptime_requirement_ratio"); got != 0.9 {
			t.Errorf("requirement %v", got)
		}
		if got := golf("downtime_budget_seconds"); got != 33.6*3600 { // 10 % of 14 days
			t.Errorf("budget %v s", got)
		}
		if got := golf("views_stake_ratio"); !near(got, (2_035_000+2_050_000)/10_040_600.0) {
			t.Errorf("views of %v", got)
		}
		w.network.Disconnect("golf")
		time.Sleep(8 * 24 * time.Hour)
		page := w.page(t, "reward_budget")
		wantSeries(t, page, `avax_validator_reward_reachable{node_id="`+w.network.NodeID("golf")+`"}`, "0")
		w.network.Reconnect("golf")
		time.Sleep(2 * 24 * time.Hour) // a new period has started
		golf = w.budgetOf(t, w.page(t, "reward_budget"), "golf")
		if used := golf("downtime_used_seconds"); used != 0 {
			t.Errorf("%v s used in the new period", used)
		}
		if got := golf("reward_reachable"); got != 1 {
			t.Error("downtime of the previous period counts in the new one")
		}
	})
}

func TestDuplicateValidatorsAreExportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		w := world{network: network, otherwise: new(func(string, string, []any) string)}
		transport := &posing{to: network.Transport(), hosts: map[string]string{"charlie.sim": "alpha.sim"}}
		w.ups = upstreams(t, transport, network)
		var pool []*nodes.Node
		for _, name := range []string{"alpha", "bravo", "charlie"} { // the address of charlie leads to alpha
			pool = append(pool, nodes.New(node.New(open(t, transport, name))))
		}
		w.ups.SetNodes(pool)
		for _, watch := range []collector.Validators{{}, {All: true}, {IDs: []string{network.NodeID("alpha"), network.NodeID("alpha"), network.NodeID("hotel")}}} {
			w.ups.Watch.Validators = watch
			if n := strings.Count(w.page(t, "reward_budget"), "avax_validator_uptime_requirement_ratio{"); n != map[bool]int{false: 2, true: 7}[watch.All] {
				t.Errorf("%+v: %d validators exported", watch, n)
			}
		}
	})
}

func TestLargestDissentersAreListed(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo", "foxtrot")
		if tables := w.tables(t, "reward_budget", "network"); len(tables) != 0 {
			t.Errorf("tables although all votes are yes: %v", tables)
		}
		w.network.Node("alpha").SetObservedUptime(79, "charlie", "hotel")
		w.network.Node("bravo").SetObservedUptime(85) // the requirement of bravo is 90
		tables := w.tables(t, "reward_budget", "network")
		if len(tables) != 1 {
			t.Fatalf("%d tables", len(tables))
		}
		var got []string
		for _, row := range tables[0].Rows {
			if len(row) != len(tables[0].Columns) {
				t.Errorf("%q in the columns %q", row, tables[0].Columns)
			}
			got = append(got, strings.Join(row, " "))
		}
		row := func(of, by, words string) string {
			return w.network.NodeID(of) + " " + w.network.NodeID(by) + " " + words
		}
		fewest := []string{
			row("bravo", "alpha", "2035000 85.00 %"), row("bravo", "echo", "2000000 85.00 %"), row("bravo", "delta", "2000000 85.00 %"),
			row("bravo", "charlie", "1950500 85.00 %"), row("bravo", "hotel", "3100 85.00 %"), row("bravo", "golf", "2000 85.00 %"),
		}
		if w.network.NodeID("delta") < w.network.NodeID("echo") {
			fewest[1], fewest[2] = fewest[2], fewest[1]
		}
		want := append(fewest, row("alpha", "charlie", "1950500 79.00 %"), row("alpha", "hotel", "3100 79.00 %"))
		if !slices.Equal(got, want) {
			t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}

		w.network.Node("delta").SetObservedUptime(50)
		w.ups.Watch.Validators.All = true
		if tables = w.tables(t, "reward_budget", "network"); len(tables) != 1 || len(tables[0].Rows) != len(want) {
			t.Errorf("with all validators monitored, want only the configured nodes: %v", tables)
		}
	})
}

// Other collectors make the same calls, so reward_budget makes almost no calls of its own.
func TestRewardBudgetSharesCallsOfOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo", "charlie")
		w.network.Node("charlie").Inject(simnet.Unavailable(), "info.peers") // so that the collector needs the views of other nodes
		ctx := scrape.MaxAge(t.Context(), 30*time.Second)
		run := func(name string) {
			spec := specOf(t, name)
			for _, j := range spec.Bind(w.ups) {
				if err := j.Collect(ctx, metric.NewBatch(spec.Families)); err != nil && name == "reward_budget" {
					t.Error(err)
				}
			}
		}
		for _, name := range []string{"fleet", "validators", "validator_views", "connected_stake", "upgrades"} {
			run(name)
		}
		w.network.ResetCalls()
		run("reward_budget")
		for _, c := range w.network.Calls() {
			if c.Upstream != "charlie" {
				t.Errorf("duplicate call to %s: %s %s", c.Upstream, c.Method, c.Params)
			}
		}
	})
}
