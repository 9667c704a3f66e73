package alerts_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// times are spans in which something is so, such as the restarts of a node.
type times [][2]time.Duration

// often returns times that begin at random, so many in a day, and last between two durations.
func often(r *rand.Rand, length time.Duration, aDay float64, least, most time.Duration) (all times) {
	for at := time.Hour; ; {
		at += time.Duration(r.ExpFloat64() / aDay * float64(24*time.Hour))
		took := least + time.Duration(r.Int64N(int64(most-least)+1))
		if at >= length {
			return all
		}
		all = append(all, [2]time.Duration{at, at + took})
		at += took + 20*time.Minute
	}
}

// last returns the last span that began, and whether it lasts.
func (ts times) last(at time.Duration) (ended time.Duration, lasts bool) {
	ended = -24 * time.Hour
	for _, s := range ts {
		if s[0] > at {
			break
		}
		ended, lasts = s[1], at < s[1]
	}
	return ended, lasts
}

// wellFleet is what an exporter reports of twelve nodes that validate the primary network and two L1s, with all that belongs to every day.
func wellFleet(seed uint64, scrape, length time.Duration) play {
	r := rand.New(rand.NewPCG(seed, 7))
	const nodes, strangers = 12, 8 // strangers validate the L1s
	const validators = nodes + strangers
	restarts := make([]times, validators)
	for i := range restarts {
		restarts[i] = often(r, length, 0.4, 20*time.Second, 110*time.Second)
	}
	service := often(r, length, 0.3, 5*time.Minute, 40*time.Minute)
	joins := often(r, length, 0.5, 6*time.Hour, 12*time.Hour) // of another stranger
	lost := map[time.Duration]bool{}                          // scrapes
	for at := time.Duration(0); at <= length; at += scrape {
		lost[at] = r.IntN(200) == 0
	}
	p := play{scrape: scrape, length: length, series: map[string]func(time.Duration) float64{}}
	const begin = 1_790_000_000
	// add adds a series that is read once in a period, at a phase of its own.
	add := func(series string, every time.Duration, value func(at time.Duration) float64) {
		phase := time.Duration(r.Int64N(int64(every)))
		p.series[series] = func(at time.Duration) float64 {
			if lost[at] {
				return absent
			}
			return value(max(0, (at-phase)/every*every+phase))
		}
	}
	away := func(i int, at time.Duration) bool { _, is := restarts[i].last(at); return is }
	// since is how long a node has been up.
	since := func(i int, at time.Duration) time.Duration { ended, _ := restarts[i].last(at); return at - ended }
	up := func(i int, value func(at time.Duration) float64) func(at time.Duration) float64 {
		return func(at time.Duration) float64 {
			if away(i, at) {
				return absent
			}
			return value(at)
		}
	}
	p.series[`up{job="avax", instance="e"}`] = func(at time.Duration) float64 {
		if lost[at] {
			return 0
		}
		return 1
	}
	add(`avax_exporter_targets{job="avax", instance="e"}`, scrape, always(nodes))
	add(`avax_exporter_configured_nodes{job="avax", instance="e"}`, scrape, always(nodes))
	add(`avax_data_up{job="avax", instance="e", upstream="data"}`, time.Minute, func(at time.Duration) float64 {
		if _, is := service.last(at); is {
			return 0
		}
		return 1
	})
	size := func(at time.Duration) float64 { // validators of an L1
		if _, is := joins.last(at); is {
			return validators + 1
		}
		return validators
	}
	chains := map[string]time.Duration{"C": 2 * time.Second, "game": 10 * time.Second, "dex": 12 * time.Minute}
	for i := range nodes {
		id := fmt.Sprintf(`job="avax", instance="e", node="n%02d"`, i)
		add(`avax_node_up{`+id+`}`, 15*time.Second, func(at time.Duration) float64 {
			if away(i, at) {
				return 0
			}
			return 1
		})
		add(`avax_node_answered_timestamp_seconds{`+id+`}`, 15*time.Second, func(at time.Duration) float64 {
			for away(i, at) {
				at -= 15 * time.Second
			}
			return begin + at.Seconds()
		})
		add(`avax_node_silent_timestamp_seconds{`+id+`}`, 15*time.Second, func(at time.Duration) float64 {
			ended, lasts := restarts[i].last(at)
			switch {
			case lasts:
				return begin + at.Seconds()
			case ended < 0:
				return absent
			}
			return begin + ended.Seconds()
		})
		add(`avax_node_longest_restart_seconds{`+id+`}`, 15*time.Second, func(at time.Duration) float64 {
			longest, n := time.Duration(0), 0
			for _, s := range restarts[i] {
				if s[1] < at {
					longest = max(longest, s[1]-s[0]+15*time.Second)
					n++
				}
			}
			if n < 3 {
				return absent
			}
			return longest.Seconds()
		})
		add(`avax_node_probe_duration_seconds{`+id+`}`, 15*time.Second, up(i, func(at time.Duration) float64 {
			return 0.01 + 2.5*float64(uint64(at.Seconds()*7919)%1000/990) // now and then a slow call
		}))
		add(fmt.Sprintf(`avax_node_identity_info{%s, node_id="NodeID-%02d", bls_public_key="b"}`, id, i), time.Minute, up(i, always(1)))
		add(`avax_node_validating{`+id+`}`, time.Minute, up(i, always(1)))
		add(`avax_node_peers{`+id+`}`, time.Minute, up(i, func(at time.Duration) float64 { return min(1200, 20*since(i, at).Seconds()) }))
		add(`avax_node_connected_stake_ratio{`+id+`}`, time.Minute, up(i, func(at time.Duration) float64 {
			return min(0.93+0.05*float64(uint64(at.Minutes())%7)/7, 0.02+since(i, at).Seconds()/120)
		}))
		add(`avax_node_disk_free_ratio{`+id+`}`, time.Minute, up(i, always(0.4)))
		add(`avax_node_health_check_failing{`+id+`, check="network"}`, time.Minute, up(i, func(at time.Duration) float64 {
			if since(i, at) < 40*time.Second {
				return 1
			}
			return 0
		}))
		add(fmt.Sprintf(`avax_validator_stake_avax{job="avax", instance="e", node_id="NodeID-%02d"}`, i), time.Minute, always(2000))
		add(fmt.Sprintf(`avax_validator_present{job="avax", instance="e", node_id="NodeID-%02d"}`, i), time.Minute, always(1))
		for chain, block := range chains {
			on := fmt.Sprintf(`%s, chain=%q`, id, chain)
			late := 2 * time.Second
			if chain == "dex" && i == 3 {
				late = 25 * time.Second
			}
			height := func(at time.Duration) float64 { return float64((at - late + 24*time.Hour) / block) }
			add(`avax_chain_height{`+on+`}`, 15*time.Second, up(i, height))
			add(`avax_chain_head_timestamp_seconds{`+on+`}`, 15*time.Second, up(i, func(at time.Duration) float64 { return begin - 86400 + height(at)*block.Seconds() }))
			add(`avax_node_chain_bootstrapped{`+on+`}`, time.Minute, up(i, func(at time.Duration) float64 {
				if since(i, at) < time.Minute {
					return 0
				}
				return 1
			}))
			add(`avax_node_chain_present{`+on+`}`, time.Minute, up(i, always(1)))
			if chain == "C" {
				continue
			}
			add(`avax_l1_connected_weight{`+on+`}`, time.Minute, up(i, func(at time.Duration) float64 {
				n := size(at)
				for j := range validators {
					if away(j, at) || since(j, at) < 20*time.Second {
						n--
					}
				}
				return 100 * n
			}))
		}
	}
	for chain, block := range chains {
		on := fmt.Sprintf(`job="avax", instance="e", chain=%q`, chain)
		add(`avax_chain_agreed_height{`+on+`}`, 15*time.Second, func(at time.Duration) float64 { return float64((at - 2*time.Second + 24*time.Hour) / block) })
		if chain == "C" {
			continue
		}
		add(`avax_l1_weight{`+on+`}`, 2*time.Minute, func(at time.Duration) float64 { return 100 * size(at) })
		add(`avax_l1_active_weight{`+on+`}`, 2*time.Minute, func(at time.Duration) float64 { return 100 * size(at) })
		for i := range nodes {
			v := fmt.Sprintf(`%s, node_id="NodeID-%02d", validation_id="%s%02d"`, on, i, chain, i)
			add(`avax_l1_validator_weight{`+v+`}`, 2*time.Minute, always(100))
			add(`avax_l1_validator_active{`+v+`}`, 2*time.Minute, always(1))
			add(`avax_l1_validator_burn_avax_per_day{`+v+`}`, 2*time.Minute, always(0.05))
			full := 40 + 0.5*float64(i) // days; topped up at 35
			add(`avax_l1_validator_balance_avax{`+v+`}`, 2*time.Minute, func(at time.Duration) float64 {
				used := at.Hours() / 24
				for used > full-35 {
					used -= 5
				}
				return 0.05 * (full - used)
			})
		}
	}
	return p
}

// A fortnight of a fleet in which nothing is wrong pages nobody, however often it is scraped.
func TestAFortnightOfAWellFleetPagesNobody(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, r := range shipped(t) {
		if r.Labels["severity"] == "page" {
			pages = append(pages, r.Alert)
		}
	}
	for scrape, length := range map[time.Duration]time.Duration{15 * time.Second: 12 * time.Hour, time.Minute: 2 * 24 * time.Hour, 2 * time.Minute: 14 * 24 * time.Hour} {
		t.Run(scrape.String(), func(t *testing.T) {
			if scrape != 2*time.Minute {
				testworld.Full(t)
			}
			if testing.Short() {
				length = 4 * time.Hour
			}
			t.Parallel()
			none(t, "page", wellFleet(1, scrape, length).alerts(t, pages...))
		})
	}
}
