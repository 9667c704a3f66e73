package alerts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/rulefmt"
	promrules "github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// nodeLife is what an exporter reports of a validator that also validates the L1 dex, every 15 seconds.
type nodeLife struct {
	up func(at time.Duration) bool
	// bootstraps returns the chains that have bootstrapped when the node has been up for a time.
	bootstraps func(at, up time.Duration) map[string]bool
}

const (
	lifeStep = 15 * time.Second
	period   = time.Minute     // of the collector
	expiry   = 3 * time.Minute // of its samples
)

// series returns the samples. The collector runs once a minute, while the node answers.
func (n nodeLife) series(node string, length time.Duration) []testworld.Series {
	chains := []string{"P", "C", "dex"}
	values := map[string]*strings.Builder{"up": {}, "present": {}}
	for _, c := range chains {
		values[c] = new(strings.Builder)
	}
	var report map[string]bool
	var reported, since time.Duration
	shown := map[string]bool{}
	put := func(key string, there, value bool) {
		switch {
		case there && value:
			values[key].WriteString("1 ")
		case there:
			values[key].WriteString("0 ")
		case shown[key]:
			values[key].WriteString("stale ")
		default:
			values[key].WriteString("_ ")
		}
		shown[key] = there
	}
	for at := time.Duration(0); at <= length; at += lifeStep {
		up := n.up(at)
		if !up {
			since = at
		}
		if up && at%period == 0 {
			report, reported = n.bootstraps(at, at-since), at
		}
		if at-reported > expiry {
			report = nil
		}
		put("up", true, up)
		for _, c := range chains { // until P is bootstrapped, a node has no other chain
			put(c, report != nil && (c == "P" || report["P"]), report[c])
		}
		put("present", report != nil, report["P"])
	}
	all := []testworld.Series{
		{Series: fmt.Sprintf(`avax_node_up{job="avax", node=%q}`, node), Values: values["up"].String()},
		{Series: fmt.Sprintf(`avax_node_chain_present{job="avax", node=%q, chain="dex"}`, node), Values: values["present"].String()},
		{Series: fmt.Sprintf(`avax_node_identity_info{job="avax", node=%q, node_id="NodeID-%s", bls_public_key="k"}`, node, node), Values: "1x2000"},
		{Series: fmt.Sprintf(`avax_validator_stake_avax{job="avax", node_id="NodeID-%s"}`, node), Values: "2000x2000"},
		{Series: fmt.Sprintf(`avax_l1_validator_active{job="avax", chain="dex", node_id="NodeID-%s", validation_id="v%s"}`, node, node), Values: "1x2000"},
	}
	for _, c := range chains {
		all = append(all, testworld.Series{Series: fmt.Sprintf(`avax_node_chain_bootstrapped{job="avax", node=%q, chain=%q}`, node, c), Values: values[c].String()})
	}
	return all
}

// page is one page of a node in a run.
type page struct {
	alert    string
	from, to time.Duration
	summary  string // when it was last sent
}

// pagesOf returns the pages of a run, without those that AvaxNodeDown inhibits.
func pagesOf(t *testing.T, input []testworld.Series, length time.Duration) (all []page) {
	t.Helper()
	var given []rulefmt.Rule
	wanted := testCase{Input: input, Alerts: []alertCase{{Alertname: "AvaxNodeDown"}, {Alertname: "AvaxChainNotBootstrapped"}, {Alertname: "AvaxChainMissing"}}}
	for _, r := range readSuite(t, "rules.yml").needed(t, wanted, true) {
		given = append(given, r.Rule)
	}
	e := must.Get(testworld.NewEngine(t, time.Unix(0, 0).UTC(), lifeStep, input, 30*time.Second, given))(t)
	must.Do(t, e.Run(7*time.Second, length))
	for at := 7 * time.Second; at <= length; at += 30 * time.Second {
		firing := map[string]map[string]string{}
		for _, r := range e.Alerts() {
			for _, a := range e.Active(r, at) {
				if a.State == promrules.StateFiring && a.Labels.Get("severity") == "page" {
					firing[a.Labels.Get("alertname")+" "+a.Labels.Get("node")] = e.Texts(t, r, a)
				}
			}
		}
		for key, texts := range firing {
			name, node, _ := strings.Cut(key, " ")
			if name != "AvaxNodeDown" && firing["AvaxNodeDown "+node] != nil {
				continue
			}
			last := slices.IndexFunc(all, func(p page) bool { return p.alert == key && at-p.to <= 30*time.Second })
			if last < 0 {
				all = append(all, page{alert: key, from: at})
				last = len(all) - 1
			}
			all[last].to, all[last].summary = at, texts["summary"]+" "+texts["description"]
		}
	}
	return all
}

func TestCrashLoopsPageOnce(t *testing.T) {
	t.Parallel()
	const begin, end, length = 30 * time.Minute, 100 * time.Minute, 130 * time.Minute
	for _, cycle := range []time.Duration{40 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute} {
		for _, dies := range []string{"P", "C", "dex"} {
			t.Run(fmt.Sprintf("every %v at %s", cycle, dies), func(t *testing.T) {
				if dies != "C" || cycle != time.Minute && cycle != 8*time.Minute {
					testworld.Full(t)
				}
				t.Parallel()
				off := min(cycle/3, 30*time.Second)
				life := nodeLife{
					up: func(at time.Duration) bool { return at < begin || at >= end || (at-begin)%cycle >= off },
					bootstraps: func(at, up time.Duration) map[string]bool {
						looping := at >= begin && at < end
						return map[string]bool{
							"P":   up >= 30*time.Second && !(looping && dies == "P"),
							"C":   up >= 90*time.Second && !(looping && dies != "dex"),
							"dex": up >= 2*time.Minute && !looping,
						}
					},
				}
				got := pagesOf(t, life.series("alpha", length), length)
				if len(got) != 1 {
					t.Fatalf("pages: %v; want one", got)
				}
				if late := got[0].from - begin; late > 17*time.Minute {
					t.Errorf("pages after %v", late)
				}
				if got[0].to < end-time.Minute {
					t.Errorf("resolved at %v, but the loop lasts until %v", got[0].to, end)
				}
				if got[0].to > end+15*time.Minute {
					t.Errorf("resolved at %v, %v late", got[0].to, got[0].to-end)
				}
				if !strings.Contains(got[0].summary, "crash loop") {
					t.Errorf("the text does not say crash loop: %s", got[0].summary)
				}
			})
		}
	}
}

func TestRollingUpgradePagesNobody(t *testing.T) {
	t.Parallel()
	var input []testworld.Series
	for i := range 8 {
		stopped := 30*time.Minute + time.Duration(i)*6*time.Minute
		input = append(input, nodeLife{
			up: func(at time.Duration) bool { return at < stopped || at >= stopped+80*time.Second },
			bootstraps: func(_, up time.Duration) map[string]bool {
				return map[string]bool{"P": up >= 30*time.Second, "C": up >= 3*time.Minute, "dex": up >= 4*time.Minute}
			},
		}.series(fmt.Sprint("node", i), 100*time.Minute)...)
	}
	if got := pagesOf(t, input, 100*time.Minute); len(got) > 0 {
		t.Errorf("pages: %v", got)
	}
}

// An upgrade that fails puts all nodes in a crash loop. They page together, and "crash loop" is said once.
func TestCrashLoopOfAFleetPagesOnce(t *testing.T) {
	t.Parallel()
	const begin, end, length = 30 * time.Minute, 100 * time.Minute, 130 * time.Minute
	for _, cycle := range []time.Duration{time.Minute, 3 * time.Minute, 5 * time.Minute} {
		for _, down := range []time.Duration{cycle / 3, 2 * cycle / 3} {
			t.Run(fmt.Sprintf("every %v for %v", cycle, down), func(t *testing.T) {
				if cycle != time.Minute {
					testworld.Full(t)
				}
				t.Parallel()
				var input []testworld.Series
				for i := range 4 {
					input = append(input, nodeLife{
						up: func(at time.Duration) bool { return at < begin || at >= end || (at-begin)%cycle >= down },
						bootstraps: func(at, up time.Duration) map[string]bool {
							looping := at >= begin && at < end
							return map[string]bool{"P": up >= 30*time.Second, "C": up >= 90*time.Second && !looping, "dex": up >= 2*time.Minute && !looping}
						},
					}.series(fmt.Sprint("node", i), length)...)
				}
				begun := map[string]int{} // by alert and node
				for _, p := range pagesOf(t, input, length) {
					if begun[p.alert]++; begun[p.alert] > 1 {
						t.Errorf("%s pages again at %v", p.alert, p.from)
					}
				}
				if len(begun) == 0 {
					t.Error("no page")
				}
			})
		}
	}
}
