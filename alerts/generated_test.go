package alerts_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// reported is a set of series by name.
type reported map[string]func(at time.Duration) float64

// node adds a node that answers while up says so.
func (w reported) node(instance, name string, up func(at time.Duration) float64) {
	labels := fmt.Sprintf(`job="a", instance=%q, node=%q`, instance, name)
	w[`avax_node_up{`+labels+`}`] = up
	w[fmt.Sprintf(`avax_node_identity_info{%s, node_id="ID-%s", bls_public_key="b"}`, labels, name)] = func(at time.Duration) float64 {
		if up(at) != 1 {
			return absent
		}
		return 1
	}
}

// random returns a random time between two.
func random(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)+1)).Truncate(time.Second)
}

const forever = 1000 * time.Hour

// Situations of each kind of meaning in docs/decisions/meanings.md, with random times and numbers.
func TestGeneratedSituations(t *testing.T) {
	t.Parallel()
	for kind, situation := range map[string]func(t *testing.T, r *rand.Rand){
		"sets that grow":        setThatGrows,
		"excuses beside facts":  excuseBesideFacts,
		"processes that move":   processesThatMove,
		"views that differ":     viewsThatDiffer,
		"identities that move":  identitiesThatMove,
		"series that end":       seriesThatEnd,
		"restarts of strangers": restartsOfStrangers,
	} {
		seeds := uint64(25)
		if testing.Short() {
			seeds = 2
		}
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s %d", kind, seed), func(t *testing.T) {
				t.Parallel()
				situation(t, rand.New(rand.NewPCG(seed, uint64(len(kind)))))
			})
		}
	}
}

func setThatGrows(t *testing.T, r *rand.Rand) {
	n, first, second := 9+r.IntN(12), 3+r.IntN(3), 3+r.IntN(2)
	at := random(r, 10*time.Minute, 20*time.Minute)
	later := at + random(r, 8*time.Minute, 50*time.Minute)
	w := reported{}
	for i := range n {
		up := always(1)
		switch {
		case i < first:
			up = between(1, 0, at, forever)
		case i < first+second:
			up = between(1, 0, later+time.Duration(r.IntN(60))*time.Second, forever)
		}
		w.node("e", fmt.Sprintf("n%02d", i), up)
	}
	got := of(play{scrape: 15 * time.Second, length: later + 15*time.Minute, series: w}.alerts(t, "AvaxNodeDown"), "page")
	news := map[string]time.Duration{}
	for _, s := range got {
		if strings.Contains(s.alert, `scope="several"`) {
			news[s.alert] = s.from
		}
	}
	late := time.Duration(0)
	for _, from := range news {
		late = max(late, from)
	}
	if len(news) != 2 || late < later || late > later+6*time.Minute {
		t.Errorf("%d of %d die at %v, %d others at %v: pages %v", first, n, at, second, later, got)
	}
}

func excuseBesideFacts(t *testing.T, r *rand.Rand) {
	at, each := random(r, 10*time.Minute, 30*time.Minute), 8+r.IntN(20)
	w := reported{}
	for i := range 1 + r.IntN(5) {
		name := fmt.Sprint("n", i)
		dies := between(1, 0, at, forever)
		if i > 0 {
			dies = always(1)
		}
		w.node("e", name, dies)
		calls := func(outcome string, count func(calls int) float64) {
			w[fmt.Sprintf(`avax_exporter_upstream_requests_total{job="a", instance="e", upstream=%q, op="info.getNodeVersion", outcome=%q}`, name, outcome)] =
				func(now time.Duration) float64 { return count(int(now / (15 * time.Second))) }
		}
		failed := func(n int) int { // calls since the death
			if i > 0 {
				return 0
			}
			return max(0, n-int(at/(15*time.Second)))
		}
		calls("ok", func(n int) float64 { return float64(n - failed(n) - n/each) })
		calls("rate_limited", func(n int) float64 { return float64(n / each) })
		calls("unreachable", func(n int) float64 { return float64(failed(n) - failed(n)/each) })
	}
	got := of(play{scrape: 15 * time.Second, length: at + 12*time.Minute, series: w}.alerts(t, "AvaxNodeDown"), "page")
	if len(got) != 1 || got[0].from > at+6*time.Minute {
		t.Errorf("a node dies at %v while one call in %d is refused: pages %v", at, each, got)
	}
}

func processesThatMove(t *testing.T, r *rand.Rand) {
	at, length := random(r, 15*time.Minute, 40*time.Minute), 2*time.Hour
	shards, each := 2+r.IntN(3), 1+r.IntN(3)
	moves := r.IntN(3) // 0: the lost shard starts elsewhere, 1: another one does, 2: one is added
	total := shards * each
	w := reported{}
	add := func(instance string, first int, from, to time.Duration) {
		w[fmt.Sprintf(`up{job="a", instance=%q}`, instance)] = between(absent, 1, from, to)
		w[fmt.Sprintf(`avax_exporter_targets{job="a", instance=%q}`, instance)] = between(absent, float64(each), from, to)
		w[fmt.Sprintf(`avax_exporter_configured_nodes{job="a", instance=%q}`, instance)] = between(absent, float64(total), from, to)
		for i := range each {
			w.node(instance, fmt.Sprintf("n%02d", first*each+i), between(absent, 1, from, to))
		}
	}
	again := at + random(r, 15*time.Second, 110*time.Second)
	for s := range shards {
		end := length + time.Hour
		switch {
		case s == 0:
			end = at
		case s == 1 && moves == 1:
			end = again
		}
		add(fmt.Sprint("e", s), s, 0, end)
	}
	switch moves {
	case 0:
		add("f0", 0, again, length+time.Hour)
	case 1:
		add("f1", 1, again, length+time.Hour)
	case 2:
		total += each
		add("f2", shards, again, length+time.Hour)
	}
	got := of(play{scrape: 15 * time.Second, length: length, series: w}.alerts(t, "AvaxExporterDown"), "page")
	if moves == 0 {
		none(t, "page", got)
	} else if len(got) != 1 || got[0].to < length-time.Minute {
		t.Errorf("%d shards of %d nodes, the first is lost at %v, move %d: pages %v", shards, each, at, moves, got)
	}
}

func viewsThatDiffer(t *testing.T, r *rand.Rand) {
	w, cut := reported{}, random(r, 0, 40*time.Minute)
	back := cut + random(r, 10*time.Minute, forever)
	for i := range 2 + r.IntN(5) {
		name := fmt.Sprint("n", i)
		lost := map[time.Duration]bool{}
		for at := random(r, 0, 5*time.Minute); at < 2*time.Hour; at += random(r, 45*time.Second, 10*time.Minute) {
			lost[at.Truncate(15*time.Second)] = true
		}
		w.node("e1", name, func(at time.Duration) float64 {
			if lost[at.Truncate(15*time.Second)] {
				return 0
			}
			return 1
		})
		w.node("e2", name, between(1, 0, cut, back))
		for instance, up := range map[string]func(time.Duration) float64{"e1": w[fmt.Sprintf(`avax_node_up{job="a", instance="e1", node=%q}`, name)], "e2": between(1, 0, cut, back)} {
			w[fmt.Sprintf(`avax_node_answered_timestamp_seconds{job="a", instance=%q, node=%q}`, instance, name)] = func(at time.Duration) float64 {
				for at > 0 && up(at) == 0 {
					at -= 15 * time.Second
				}
				return 1_790_000_000 + at.Seconds()
			}
		}
	}
	none(t, "page", play{scrape: 15 * time.Second, length: 90 * time.Minute, series: w}.alerts(t, "AvaxNodeDown"))
}

func identitiesThatMove(t *testing.T, r *rand.Rand) {
	at := random(r, 20*time.Minute, time.Hour)
	back := at + random(r, 30*time.Minute, 3*time.Hour)
	took := random(r, 15*time.Second, 100*time.Second)
	w := reported{`avax_validator_stake_avax{job="a", node_id="key"}`: always(2000)}
	for _, name := range []string{"main", "spare"} {
		up := func(now time.Duration) float64 {
			if now >= at && now < at+took || now >= back && now < back+took {
				return 0
			}
			return 1
		}
		w[fmt.Sprintf(`avax_node_up{job="a", node=%q}`, name)] = up
		for _, id := range []string{"key", "none"} {
			w[fmt.Sprintf(`avax_node_identity_info{job="a", node=%q, node_id=%q, bls_public_key="b"}`, name, id)] = func(now time.Duration) float64 {
				moved := now >= at && now < back
				if up(now) == 0 || (name == "main") != ((id == "key") != moved) {
					return absent
				}
				return 1
			}
		}
	}
	none(t, "page", play{scrape: 15 * time.Second, length: back + time.Hour, series: w}.alerts(t, "AvaxNodeIdentityChanged", "AvaxNodeDown"))
}

func seriesThatEnd(t *testing.T, r *rand.Rand) {
	at := random(r, 10*time.Minute, 30*time.Minute)
	leaves := at + random(r, time.Minute, 20*time.Minute)
	n, down := 3+r.IntN(10), 1+r.IntN(3)
	w := reported{}
	for i := range n {
		up := always(1)
		if i < down {
			up = func(now time.Duration) float64 {
				if now >= leaves {
					return absent
				}
				return between(1, 0, at, forever)(now)
			}
		}
		w.node("e", fmt.Sprintf("n%02d", i), up)
	}
	w[`avax_exporter_targets{job="a", instance="e"}`] = between(float64(n), float64(n-down), leaves, forever)
	w[`avax_exporter_configured_nodes{job="a", instance="e"}`] = between(float64(n), float64(n-down), leaves, forever)
	for _, s := range of(play{scrape: 15 * time.Second, length: leaves + 30*time.Minute, series: w}.alerts(t, "AvaxNodeDown"), "page") {
		if s.from > leaves+15*time.Second || s.to > leaves+6*time.Minute {
			t.Errorf("%d of %d nodes die at %v and leave at %v: %s pages from %v to %v", down, n, at, leaves, s.alert, s.from, s.to)
		}
	}
}

func restartsOfStrangers(t *testing.T, r *rand.Rand) {
	validators := 3 + r.IntN(6)
	var restarts times
	for at := random(r, 10*time.Minute, 20*time.Minute); at < 3*time.Hour; at += random(r, 6*time.Minute, 40*time.Minute) {
		restarts = append(restarts, [2]time.Duration{at, at + random(r, 20*time.Second, 105*time.Second)})
	}
	phase := random(r, 0, 59*time.Second)
	w := reported{}
	maps.Copy(w, reported{
		`avax_l1_weight{job="a", chain="dex"}`:               always(float64(100 * validators)),
		`avax_l1_active_weight{job="a", chain="dex"}`:        always(float64(100 * validators)),
		`avax_node_up{job="a", node="n"}`:                    always(1),
		`avax_node_connected_stake_ratio{job="a", node="n"}`: always(0.97),
		`avax_l1_connected_weight{job="a", node="n", chain="dex"}`: func(at time.Duration) float64 {
			read := max(0, (at-phase)/time.Minute*time.Minute+phase)
			if _, away := restarts.last(read); away {
				return float64(100 * (validators - 1))
			}
			return float64(100 * validators)
		},
	})
	none(t, "page", play{scrape: 15 * time.Second, length: 3 * time.Hour, series: w}.alerts(t, "AvaxL1ConnectedWeightLow"))
}
