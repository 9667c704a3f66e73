package alerts_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	promrules "github.com/prometheus/prometheus/rules"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/evaluation"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// setUp is how two sites with equal node names are told apart in one Prometheus, or in one store.
type setUp struct {
	name     string
	eu, us   map[string]string   // labels of the series of each site
	replicas []map[string]string // labels of each exporter that watches the same nodes; one if nil
	external map[string]string   // labels that every alert gets when it is sent
}

func both(more map[string]string, label, eu, us string) (a, b map[string]string) {
	a, b = map[string]string{}, map[string]string{}
	maps.Copy(a, more)
	maps.Copy(b, more)
	a[label], b[label] = eu, us
	return a, b
}

func setUps() (all []setUp) {
	add := func(name string, more map[string]string, label, eu, us string, change func(*setUp)) {
		s := setUp{name: name}
		s.eu, s.us = both(more, label, eu, us)
		if change != nil {
			change(&s)
		}
		all = append(all, s)
	}
	job := map[string]string{"job": "avax-exporter"}
	for _, label := range []string{"site", "cluster", "region", "namespace", "datacenter", "environment", "zone"} {
		add("label "+label, job, label, "eu", "us", nil)
	}
	pairs := func(names ...string) (p []map[string]string) {
		for _, n := range names {
			p = append(p, map[string]string{"instance": n + ":9865", "pod": n})
		}
		return p
	}
	add("job", map[string]string{}, "job", "eu", "us", nil)
	add("job with the signs of a pattern", nil, "job", "avalanche (eu)+1", "avalanche (us)+1", nil)
	add("no job, label site", nil, "site", "eu", "us", nil)
	add("prometheus-operator, one namespace for each site", map[string]string{
		"job": "avax-exporter", "container": "exporter", "endpoint": "http", "service": "avax-exporter",
	}, "namespace", "eu", "us", func(s *setUp) { s.replicas = pairs("avax-0") })
	add("prometheus-operator, pairs of pods", map[string]string{"job": "avax-exporter", "container": "exporter"}, "namespace", "eu", "us", func(s *setUp) {
		s.replicas = pairs("avax-0", "avax-1")
	})
	add("cluster, pairs of exporters", job, "cluster", "eu", "us", func(s *setUp) {
		s.replicas = []map[string]string{{"instance": "a:9865"}, {"instance": "b:9865"}}
	})
	add("cluster, equal instances in one store", map[string]string{"job": "avax-exporter", "instance": "exporter:9865"}, "cluster", "eu", "us", nil)
	add("cluster, store that keeps both Prometheus of a pair", job, "cluster", "eu", "us", func(s *setUp) {
		s.replicas = []map[string]string{{"instance": "a:9865", "prometheus_replica": "0"}, {"instance": "a:9865", "prometheus_replica": "1"}}
	})
	add("site and region", map[string]string{"job": "avax-exporter", "region": "north"}, "site", "eu", "us", nil)
	add("site, external label cluster", job, "site", "eu", "us", func(s *setUp) { s.external = map[string]string{"cluster": "all"} })
	add("site, external label node", job, "site", "eu", "us", func(s *setUp) { s.external = map[string]string{"node": "monitor"} })
	add("site, external label node of a watched node", job, "site", "eu", "us", func(s *setUp) { s.external = map[string]string{"node": "v0"} })
	add("site, label version of a chart", map[string]string{"job": "avax-exporter", "version": "1.2"}, "site", "eu", "us", nil)
	add("site, label team", map[string]string{"job": "avax-exporter", "team": "a"}, "site", "eu", "us", nil)
	add("site in capitals and signs", job, "site", `EU "1"`, `US\1`, nil)
	return all
}

// happening is what happens at one site, after ten minutes.
type happening struct {
	name   string
	change func(site string, series map[string]string)
	alert  string
	at     time.Duration // when it has paged
	node   string        // the node that it is about
	says   string        // in a text
	not    string        // in no text
}

// effects are alerts of the other site that a page must not suppress.
var effects = []string{
	"AvaxChainNotBootstrapped", "AvaxConnectedStakeLow", "AvaxNodeDiskLow", "AvaxL1ConnectedWeightLow", "AvaxHeadStale", "AvaxHealthCheckFailing",
}

const length = 45 // minutes

// begins returns a value for ten minutes, then another.
func begins(before, after string) string { return fmt.Sprintf("%sx9 %sx%d", before, after, length) }

var happenings = []happening{
	{
		name: "a node is down", alert: "AvaxNodeDown", at: 20 * time.Minute, node: "v0", says: "5 AVAX", not: "777",
		change: func(_ string, s map[string]string) { s[`avax_node_up{node="v0"}`] = begins("1", "0") },
	},
	{
		name: "a chain does not start", alert: "AvaxChainNotBootstrapped", at: 30 * time.Minute, node: "v0", says: "5 AVAX", not: "777",
		change: func(_ string, s map[string]string) {
			s[`avax_node_chain_bootstrapped{node="v0",chain="C"}`] = begins("1", "0")
		},
	},
	{
		name: "a node is cut off", alert: "AvaxConnectedStakeLow", at: 25 * time.Minute, node: "v0", says: "v0",
		change: func(_ string, s map[string]string) {
			s[`avax_node_connected_stake_ratio{node="v0"}`] = begins("1", "0.1")
		},
	},
	{
		name: "a disk is full", alert: "AvaxNodeDiskLow", at: 25 * time.Minute, node: "v0", says: "4 % free", not: "90 %",
		change: func(_ string, s map[string]string) { s[`avax_node_disk_free_ratio{node="v0"}`] = begins("0.9", "0.04") },
	},
	{
		name: "an L1 has no quorum", alert: "AvaxL1ConnectedWeightLow", at: 25 * time.Minute, says: "dex", not: "v1",
		change: func(_ string, s map[string]string) {
			for _, n := range []string{"v0", "v1"} {
				s[`avax_l1_connected_weight{node="`+n+`",chain="dex"}`] = begins("100", "10")
			}
		},
	},
	{
		name: "the exporter is lost", alert: "AvaxExporterDown", at: 25 * time.Minute, says: "v0 v1", not: "at all",
		change: func(_ string, s map[string]string) {
			for name, values := range s {
				first, _, _ := strings.Cut(values, "x")
				s[name] = first + "x9 stale"
			}
		},
	},
}

// world returns the series of a healthy site, by name and own labels.
func world(site string) map[string]string {
	reward, owner := map[string]string{"eu": "5", "us": "777"}[site], map[string]string{"eu": "zoe", "us": "adam"}[site]
	s := map[string]string{"avax_exporter_targets": fmt.Sprintf("2x%d", length), `avax_l1_weight{chain="dex"}`: fmt.Sprintf("100x%d", length)}
	for _, n := range []string{"v0", "v1"} {
		id := "NodeID-" + site + n
		for name, value := range map[string]string{
			`avax_node_up{node="%[1]s"}`: "1", `avax_node_identity_info{node="%[1]s",node_id="%[2]s",bls_public_key="k"}`: "1",
			`avax_node_chain_bootstrapped{node="%[1]s",chain="C"}`: "1", `avax_node_chain_present{node="%[1]s",chain="C"}`: "1",
			`avax_node_connected_stake_ratio{node="%[1]s"}`: "1", `avax_node_disk_free_ratio{node="%[1]s"}`: "0.9",
			`avax_validator_stake_avax{node_id="%[2]s"}`: "2000", `avax_validator_potential_reward_avax{node_id="%[2]s"}`: reward,
			`avax_node_labels{node="%[1]s",owner="` + owner + `"}`: "1",
			`avax_l1_connected_weight{node="%[1]s",chain="dex"}`:   "100",
		} {
			s[fmt.Sprintf(name, n, id)] = fmt.Sprintf("%sx%d", value, length)
		}
	}
	return s
}

// withLabels adds labels to the name of a series.
func withLabels(series string, more map[string]string) string {
	name, own, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
	all := []string{}
	if own != "" {
		all = append(all, own)
	}
	for _, key := range slices.Sorted(maps.Keys(more)) {
		all = append(all, fmt.Sprintf("%s=%q", key, more[key]))
	}
	return name + "{" + strings.Join(all, ",") + "}"
}

// Two sites have nodes of the same names. What happens at one fires one page, with the labels, owner and reward of this site. Its texts say nothing about
// the other site, and it suppresses nothing there.
func TestSitesWithEqualNodeNamesAreToldApart(t *testing.T) {
	t.Parallel()
	text := must.Get(alerts.With(alerts.Options{Labels: []string{"owner"}}))(t)
	rules := testworld.Rules(t, text)
	inhibition := must.Get(notify.ParseInhibition(alertmanager.Config))(t)
	for i, s := range setUps() {
		for j, h := range happenings {
			if testing.Short() && (i+7*j)%20 != 3 {
				continue
			}
			t.Run(s.name+", "+h.name, func(t *testing.T) {
				t.Parallel()
				var input []testworld.Series
				replicas := s.replicas
				if replicas == nil {
					replicas = []map[string]string{{}}
				}
				for _, replica := range replicas {
					for site, given := range map[string]map[string]string{"eu": s.eu, "us": s.us} {
						series := world(site)
						if site == "eu" {
							h.change(site, series)
						}
						at := maps.Clone(given)
						maps.Copy(at, replica)
						for name, values := range series {
							input = append(input, testworld.Series{Series: withLabels(name, at), Values: values})
						}
					}
				}
				slices.SortFunc(input, func(a, b testworld.Series) int { return strings.Compare(a.Series, b.Series) })
				e := must.Get(testworld.NewEngine(t, time.Unix(0, 0).UTC(), time.Minute, input, time.Minute, rules))(t)
				must.Do(t, e.Run(0, h.at))
				h.judge(t, s, e, inhibition)
			})
		}
	}
}

// judge compares what fires with what happened.
func (h happening) judge(t *testing.T, s setUp, e *testworld.Engine, inhibition notify.Inhibition) {
	t.Helper()
	var sets []map[string]string
	var mine []evaluation.Alert
	var texts []string
	for _, r := range e.Alerts() {
		for _, a := range e.Active(r, h.at) {
			about := a.Labels.Map()
			// A ruler over a store that keeps both copies drops this label when it sends an alert (docs/alerting.md): the second is the same alert.
			if about["prometheus_replica"] == "1" {
				continue
			}
			if about["severity"] == "page" && a.State == promrules.StateFiring {
				sets = append(sets, about)
				if about["alertname"] == h.alert {
					mine = append(mine, a)
					texts = slices.Collect(maps.Values(e.Texts(t, r, a)))
				}
				for name, value := range s.eu {
					if !slices.Contains([]string{"instance", "pod"}, name) && about[name] != value {
						t.Errorf("%v: the label %s is not that of the site, %q", about, name, value)
					}
				}
			}
			// What is suppressed by this page on the other site would never be told.
			if about["severity"] == "page" && a.State == promrules.StateFiring && about["alertname"] == h.alert {
				for _, effect := range effects {
					other := maps.Clone(s.us)
					other["alertname"], other["severity"], other["chain"] = effect, "page", "C"
					if effect != "AvaxL1ConnectedWeightLow" {
						other["node"] = "v0"
					}
					sets = append(sets, other)
				}
			}
		}
	}
	if len(mine) != 1 {
		t.Fatalf("%s fires %d times: %v", h.alert, len(mine), sets)
	}
	whole := strings.Join(texts, "\n")
	if !strings.Contains(whole, h.says) || h.not != "" && strings.Contains(whole, h.not) {
		t.Errorf("the texts do not contain %q, or contain %q:\n%s", h.says, h.not, whole)
	}
	if owner := mine[0].Labels.Get("owner"); h.node != "" && owner != "zoe" {
		t.Errorf("owner %q", owner)
	}
	for _, set := range sets {
		for name, value := range s.external {
			if set[name] == "" {
				set[name] = value
			}
		}
	}
	for i, by := range inhibition.Inhibitors(sets) {
		if by < 0 {
			continue
		}
		for name := range s.eu {
			if s.eu[name] != s.us[name] && sets[i][name] == s.us[name] && sets[by][name] == s.eu[name] {
				t.Errorf("%v is suppressed by %v", sets[i], sets[by])
			}
		}
	}
}
