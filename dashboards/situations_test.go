package dashboards

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// situation changes the samples of a healthy network of four nodes. There are samples every minute; the situation starts in
// the third.
type situation struct {
	name    string
	change  func(now int, healthy []sample) []sample
	noRules bool // Prometheus has not loaded rules
	minutes int  // duration; 0: 12

	overview map[string]string // expected texts of the overview's tiles, with colors
}

// begin is the minute in which a situation starts.
const begin = 3

// The colors of a tile, in words.
const (
	fine    = "fine"
	warning = "warning"
	page    = "page"
)

var situations = []situation{
	{
		name:   "healthy",
		change: func(_ int, s []sample) []sample { return s },
		overview: map[string]string{
			"Exporter": "1 up, fine", "Alerts firing": "None pages and warnings, fine", "Nodes not up": "All up, fine", "Bootstrapping": "All done, fine",
			"Connected stake": "1 fine: 90 % or more, fine", "Will I be paid?": "Yes, fine", "Reward votes": "1 fine: 95 % or more, fine",
			"Inactive L1 validators": "None, fine", "Next upgrade": "None, fine",
		},
	},
	{
		name:   "a node is down",
		change: nodeDown("bravo"),
		overview: map[string]string{
			"Exporter": "1 up, fine", "Nodes not up": "1, page", "Will I be paid?": "At risk, warning", "Alerts firing": "1 pages, page; 1 warnings, warning",
		},
	},
	{
		name:    "a node is down since a minute, and nothing fires yet",
		change:  nodeDown("bravo"),
		minutes: begin + 1,
		overview: map[string]string{
			"Nodes not up": "1, page", "Will I be paid?": "At risk, warning", "Alerts firing": "None pages and warnings, fine",
		},
	},
	{
		name:    "the reward is at risk: a fifth of the stake would vote for it",
		change:  votes(0.2),
		minutes: 22, // what fires after a quarter of an hour
		overview: map[string]string{
			"Will I be paid?": "Not as of today, page", "Reward votes": "0.2 page: below 80 %, page", "Alerts firing": "1 pages, page; 1 warnings, warning",
		},
	},
	{
		name:     "the reward is at risk since a minute, and nothing fires yet",
		change:   votes(0.2),
		minutes:  begin + 1,
		overview: map[string]string{"Will I be paid?": "Not as of today, page", "Reward votes": "0.2 page: below 80 %, page"},
	},
	{
		name:     "the reward is at risk: some votes are missing",
		change:   votes(0.9),
		overview: map[string]string{"Will I be paid?": "At risk, warning", "Reward votes": "0.9 warning: below 95 %, warning"},
	},
	{
		name: "the reward is lost",
		change: set(func(s sample) bool {
			return s.name == "avax_validator_reward_reachable" && s.is("node_id", alpha)
		}, 0),
		overview: map[string]string{"Will I be paid?": "No, page"},
	},
	{
		name: "a validator left the set",
		change: func(now int, s []sample) []sample {
			s = slices.DeleteFunc(slices.Clone(s), func(s sample) bool { return s.name == "avax_validator_connected" && s.is("node_id", alpha) })
			return set(func(s sample) bool {
				return s.name == "avax_validator_present" && s.is("node_id", alpha) || s.name == "avax_node_validating"
			}, 0)(now, s)
		},
		overview: map[string]string{"Will I be paid?": "No, page"},
	},
	{
		name:    "an L1 runs out of balance",
		minutes: 24,
		change: func(now int, s []sample) []sample {
			s = set(func(s sample) bool { return s.name == "avax_l1_validator_runway_seconds" && s.is("node_id", alpha) }, 2*86400)(now, s)
			return set(func(s sample) bool { return s.name == "avax_l1_validator_balance_avax" && s.is("node_id", alpha) }, 0.09)(now, s)
		},
		overview: map[string]string{"Shortest L1 runway": "1.73e+05 page: below 7 days, page", "Alerts firing": "1 pages, page"},
	},
	{
		name:    "the exporter is dead",
		change:  dead,
		minutes: 22,
		overview: map[string]string{"Exporter": "Gone nothing here is known, page", "Nodes not up": "No data", "Will I be paid?": "No data",
			"Alerts firing": "1 pages, page; 1 warnings, warning"},
	},
	{
		name:    "the exporter is dead since a minute, and nothing fires yet",
		change:  dead,
		minutes: begin + 1,
		overview: map[string]string{"Exporter": "Gone nothing here is known, page", "Nodes not up": "4, page", "Will I be paid?": "No data",
			"Alerts firing": "Gone exporter, page"},
	},
	{
		name:    "the rules are not loaded",
		change:  votes(0.2),
		noRules: true,
		overview: map[string]string{
			"Alerts firing": "Not loaded rules, warning", "Will I be paid?": "Rules not loaded, warning", "Reward votes": "0.2 page: below 80 %, page",
		},
	},
	{
		name: "the companion's page fires: a disk is full",
		change: func(now int, s []sample) []sample {
			return append(s, scraped("avalanchego", "avalanche_resource_tracker_disk_available_percentage", 4, "node", "bravo"))
		},
		overview: map[string]string{"Alerts firing": "1 pages, page; 1 warnings, warning"},
	},
	{
		name: "one of two exporters is dead",
		change: func(now int, s []sample) []sample {
			both := replicated(now, s)
			if now < begin {
				return both
			}
			kept := slices.DeleteFunc(both, func(s sample) bool { return s.is("instance", "b") })
			return append(kept, scraped("avax-exporter", "up", 0, "instance", "b"))
		},
		overview: map[string]string{"Exporter": "1 not scraped, warning", "Nodes not up": "All up, fine", "Will I be paid?": "Yes, fine"},
	},
}

// alpha is the node ID of the node of that name.
const alpha = "NodeID-JUwqZUFQhmPvZXVBNRmD5bP9dBYScbC4e"

// set sets the matching samples to this value from the start of the situation.
func set(match func(sample) bool, value float64) func(int, []sample) []sample {
	return func(now int, healthy []sample) []sample {
		found := false
		for i, s := range healthy {
			if match(s) {
				found = true
				if now >= begin {
					healthy[i].value = value
				}
			}
		}
		if !found {
			panic("no sample matches")
		}
		return healthy
	}
}

// votes gives alpha this share of the votes for its reward, and a downtime budget that is used enough for the alert.
func votes(share float64) func(int, []sample) []sample {
	return func(now int, s []sample) []sample {
		s = set(func(s sample) bool {
			return s.name == "avax_node_uptime_rewarding_stake_ratio" && s.is("node", "alpha")
		}, share)(now, s)
		for i := range s {
			if s[i].name == "avax_validator_downtime_used_seconds" && s[i].is("node_id", alpha) {
				s[i].value = 1.5e6
			}
		}
		return s
	}
}

// nodeDown makes a node stop answering. No other alert about it fires.
func nodeDown(node string) func(int, []sample) []sample {
	return func(now int, s []sample) []sample {
		if now < begin {
			return s
		}
		s = slices.DeleteFunc(s, func(s sample) bool { return s.is("node", node) && s.name != "avax_node_up" })
		return set(func(s sample) bool { return s.name == "avax_node_up" && s.is("node", node) }, 0)(now, s)
	}
}

// dead makes the exporter stop answering.
func dead(now int, s []sample) []sample {
	if now < begin {
		return s
	}
	return []sample{scraped("avax-exporter", "up", 0, "instance", "a")}
}

// replicated adds a second exporter with the same samples.
func replicated(_ int, s []sample) []sample {
	both := slices.Clone(s)
	for _, one := range s {
		both = append(both, one.with("instance", "b"))
	}
	return both
}

func TestDashboardsAreNeverFalselyGreen(t *testing.T) {
	for _, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := simulate(t, s)
			tiles := p.tiles(t, boardOf(t, "grafana.json"))
			for _, title := range slices.Sorted(maps.Keys(s.overview)) {
				if got, want := tiles[title], s.overview[title]; got != want {
					t.Errorf("%s: %q, want %q", title, got, want)
				}
			}
		})
	}
}

// Without an exporter nothing is known, so no dashboard shows green.
func TestNothingIsGreenWithoutAnExporter(t *testing.T) {
	for _, minutes := range []int{begin, begin + 2, begin + 18} {
		t.Run(fmt.Sprintf("%d minutes later", minutes-begin), func(t *testing.T) {
			t.Parallel()
			p := simulate(t, situation{change: dead, minutes: minutes})
			eachBoard(t, func(t *testing.T, d dashboard) {
				for title, said := range p.tiles(t, d) {
					if strings.HasSuffix(said, ", "+fine) {
						t.Errorf("%s: %q", title, said)
					}
				}
				for _, q := range d.Panels {
					if says := q.FieldConfig.Defaults.NoValue; (q.Type == "stat" || q.Type == "table") && says != "No data" && says != "Rules not loaded" {
						t.Errorf("%s without data: %q", q.Title, says)
					}
				}
				for _, q := range d.Panels {
					if q.Type == "table" {
						for _, cells := range p.rows(t, q) {
							for _, text := range cells {
								if text == "None" || text == "Nobody" {
									t.Errorf("%s: %q", q.Title, cells)
								}
							}
						}
					}
				}
			})
		})
	}
}

// Each annotation marks its event, and nothing on a healthy network. An upgrade of the network is at its time.
func TestAnnotationsMarkEvents(t *testing.T) {
	const end = 22 // what fires after a quarter of an hour
	eventful := func(now int, s []sample) []sample {
		s = votes(0.2)(now, s)
		if now < end {
			return nodeDown("bravo")(now, s)
		}
		for i := range s {
			if s[i].name == "avax_chain_fee_config_last_changed_block" && s[i].is("chain", "examplel1") {
				s[i].value++
			}
		}
		return s
	}
	for name, test := range map[string]struct {
		change func(int, []sample) []sample
		marked map[string]string // annotations with the labels of one mark
	}{
		"healthy": {func(_ int, s []sample) []sample { return s }, map[string]string{"Upgrades": "upgrade"}},
		"eventful": {eventful, map[string]string{
			"Upgrades": "upgrade", "Pages": "AvaxRewardStakeLow", "Warnings": "AvaxRewardStakeLow", "Restarts": "bravo", "Fee changes": "examplel1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := simulate(t, situation{change: test.change, minutes: end})
			for _, a := range boardOf(t, "grafana.json").Annotations.List {
				marks := fmt.Sprint(p.query(t, a.Expr))
				if want, is := test.marked[a.Name]; is != (marks != "[]") || !strings.Contains(marks, want) {
					t.Errorf("%s: %.300s, want %q", a.Name, marks, want)
				}
			}
		})
	}
}

// Replicas of an exporter export the same samples. Dashboards must not depend on their number, except for panels about the
// exporters themselves.
func TestReplicasDoNotChangeDashboards(t *testing.T) {
	t.Parallel()
	one := simulate(t, situation{change: func(_ int, s []sample) []sample { return s }, minutes: 12})
	two := simulate(t, situation{change: replicated, minutes: 12})
	perProcess := []string{"Exporter", "Exporters", "Memory", "CPU", "Series", "Requests by outcome", "Failed requests", "Versions"}
	compared := 0
	eachBoard(t, func(t *testing.T, d dashboard) {
		for _, p := range d.Panels {
			if slices.Contains(perProcess, p.Title) || p.Type == "logs" {
				continue
			}
			for _, q := range p.Targets {
				want, got := one.query(t, q.Expr), two.query(t, q.Expr)
				if strings.Contains(q.Expr, "topk(") { // it selects any of equal values
					want, got = unnamed(want), unnamed(got)
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s, query %s: %v with two replicas, %v with one: %s", p.Title, q.RefID, got, want, q.Expr)
				}
				compared++
			}
		}
	})
	if compared < 200 {
		t.Errorf("%d queries compared", compared)
	}
}

// unnamed returns the values, sorted, without labels.
func unnamed(points []point) (values []point) {
	for _, p := range points {
		values = append(values, point{value: p.value})
	}
	slices.SortFunc(values, func(a, b point) int { return cmp.Compare(a.value, b.value) })
	return values
}

// An operator of one validator has no L1, no second node and no service. The general overview collapses rows about those.
func TestValidatorOverviewHasNoEmptyPanel(t *testing.T) {
	t.Parallel()
	home := simulate(t, situation{change: func(_ int, s []sample) []sample {
		return slices.DeleteFunc(s, func(s sample) bool {
			return s.get("node") != "" && s.get("node") != "alpha" || s.get("node_id") != "" && s.get("node_id") != alpha ||
				strings.HasPrefix(s.get("chain"), "example") || strings.HasPrefix(s.name, "avax_l1_") || strings.HasPrefix(s.name, "avax_icm_") ||
				strings.HasPrefix(s.name, "avax_data_") || strings.HasPrefix(s.name, "avax_metrics_service_") || s.name == "avax_chain_avg_tps"
		})
	}})
	collapsed := map[int]bool{}
	d := boardOf(t, "grafana.json")
	for _, row := range d.Panels {
		for _, p := range row.Panels {
			collapsed[p.ID] = true
		}
	}
	for _, p := range d.Panels {
		found := collapsed[p.ID] || p.Type == "stat" || len(p.Targets) == 0
		for _, q := range p.Targets {
			found = found || len(home.query(t, q.Expr)) > 0
		}
		if !found {
			t.Errorf("%s: empty", p.Title)
		}
	}
}

// A subnet has the name of its chain wherever that is known, and else the begin of its ID.
func TestSubnetsHaveNames(t *testing.T) {
	t.Parallel()
	const known, unknown = "FKLuavQtSyJQz1L5REUr8wcP4ZEAyprvdC6t3PY8XeC9x8SJu", "2DeHa7Qb6sufPkmQcFWG2uCd4pBPv9WB6dkzroiMQhd1NSRtof"
	p := simulate(t, situation{minutes: 5, change: func(_ int, s []sample) []sample {
		s = slices.DeleteFunc(s, func(s sample) bool { return strings.HasPrefix(s.name, "avax_subnet_owner_") })
		for _, id := range []string{known, unknown} {
			s = append(s, scraped("avax-exporter", "avax_subnet_owner_info", 1, "instance", "a", "subnet_id", id, "address", "P-avax1"+id[:6]),
				scraped("avax-exporter", "avax_subnet_owner_threshold", 2, "instance", "a", "subnet_id", id))
		}
		return append(s, scraped("avax-exporter", "avax_network_validators", 5, "instance", "a", "subnet_id", unknown))
	}})
	for title, want := range map[string][]string{
		"Connected weight by set": {"examplel1", "examplepoa", "primary network"}, "Validators": {"2DeHa7", "examplel1", "examplepoa", "primary network"},
		"Stake": {"primary network"}, "Owners of the subnets": {"2DeHa7", "examplepoa"},
	} {
		file := "network.json"
		if title == "Owners of the subnets" {
			file = "l1.json"
		}
		var got []string
		for _, found := range p.query(t, panelOf(t, boardOf(t, file), title).Targets[0].Expr) {
			got = append(got, found.labels["name"])
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", title, got, want)
		}
	}
}

// maxSeries is the maximum number of distinguishable lines in one panel.
const maxSeries = 20

func TestPanelsAreReadableWithFiftyNodes(t *testing.T) {
	t.Parallel()
	fleet := simulate(t, situation{minutes: 5, change: func(_ int, s []sample) []sample {
		var all []sample
		for _, one := range s {
			all = append(all, one)
			if one.is("node", "alpha") {
				for i := range 46 {
					// A separate node ID for each, if it has one.
					n := one.with("node", fmt.Sprintf("node%02d", i))
					if one.get("node_id") == alpha {
						n = n.with("node_id", fmt.Sprintf("NodeID-%02d%s", i, alpha[9:]))
					}
					all = append(all, n)
				}
			}
		}
		return all
	}})
	eachBoard(t, func(t *testing.T, d dashboard) {
		for _, p := range d.Panels {
			if p.Type == "logs" {
				continue
			}
			for _, q := range p.Targets {
				if found := fleet.query(t, q.Expr); p.Type != "table" && len(found) > maxSeries {
					t.Errorf("%s: %d series, want at most %d: %s", p.Title, len(found), maxSeries, q.Expr)
				}
			}
		}
	})
	if rows := fleet.rows(t, panelOf(t, boardOf(t, "grafana.json"), "Nodes")); len(rows) != 50 {
		t.Errorf("table of nodes with %d rows", len(rows))
	}
}

// The Data service alone reports no uptime, so nobody knows whether a reward is at risk.
func TestRewardAtRiskIsUnknownWithoutAnUptime(t *testing.T) {
	for family, says := range map[string]string{"avax_delegation_expected_reward_avax": "Uptime unknown, fine", "avax_delegation_reward_reachable": "None, fine"} {
		p := simulate(t, situation{change: func(_ int, s []sample) []sample {
			return append(s, scraped("avax-exporter", family, 1, "instance", "a"))
		}})
		if got := p.tiles(t, boardOf(t, "delegator.json"))["At risk, AVAX"]; got != says {
			t.Errorf("with %s: %q, want %q", family, got, says)
		}
	}
}
