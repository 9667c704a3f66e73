package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const (
	someNode       = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"
	someValidation = "2Z36RnQuk1hvsnFeGWzfZUfXNr7w1SjzmDQ78YxfTVNAkDq3nZ"
)

func TestLabelsHaveOneSeriesEach(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "nodes.yml", `
- {targets: ["a:1"], labels: {node: a, owner: acme, empty: "", __meta_x: y}}
- {targets: ["b:1", "c:1"], labels: {region: eu}}
- {targets: ["d:1"], labels: {node: d}}
`)
	put(t, "validators.yml", someNode+": {name: one, owner: beam}\n"+someValidation+": {owner: acme}\n")
	source := &config.Config{Values: config.Values{NodesFile: "nodes.yml", ValidatorsFile: "validators.yml"}}
	u := must.Get(source.ReadUpstreams())(t)
	registry := prometheus.NewRegistry()
	config.ExportLabels(registry, func() config.Upstreams { return u })
	families := must.Get(registry.Gather())(t)
	got := map[string]bool{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			got[f.GetName()+" "+strings.Join(labels, " ")] = m.GetGauge().GetValue() == 1
		}
	}
	want := map[string]bool{
		"avax_node_labels node=a owner=acme":                                 true,
		"avax_node_labels node=b-1 region=eu":                                true,
		"avax_node_labels node=c-1 region=eu":                                true,
		"avax_validator_labels name=one node_id=" + someNode + " owner=beam": true,
		"avax_validator_labels owner=acme validation_id=" + someValidation:   true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What has a name in the configuration has a series with this name. An address in two sections has one series.
func TestNamesOfTheWatchListAreExported(t *testing.T) {
	registry := prometheus.NewRegistry()
	config.ExportLabels(registry, func() config.Upstreams {
		return config.Upstreams{Watch: collector.Watchlist{
			Addresses:  []collector.Item{{Name: "treasury", Value: "P-avax1a"}, {Name: "X-avax1b", Value: "X-avax1b"}},
			EVM:        []collector.Item{{Name: "relayer", Value: "0xa"}},
			Contracts:  []collector.Item{{Name: "deployer", Value: "0xa"}, {Name: "factory", Value: "0xb"}},
			Delegators: []collector.Item{{Name: "fund", Value: "P-avax1c"}},
			Assets:     []collector.Item{{Name: "gold", Value: "2oYM"}},
			Tokens:     []collector.Token{{Name: "ticket", Chain: "C", Contract: "0xc", ID: "7"}, {Chain: "C", Contract: "0xc", ID: "8"}},
		}}
	})
	const want = `
# HELP avax_watch_labels Name of a monitored address, asset or NFT; always 1. An address has the labels address and name. An asset has asset_id and name. An NFT has chain, contract, token and name.
# TYPE avax_watch_labels gauge
avax_watch_labels{address="0xa",name="relayer"} 1
avax_watch_labels{address="0xb",name="factory"} 1
avax_watch_labels{address="P-avax1a",name="treasury"} 1
avax_watch_labels{address="P-avax1c",name="fund"} 1
avax_watch_labels{asset_id="2oYM",name="gold"} 1
avax_watch_labels{chain="C",contract="0xc",name="ticket",token="7"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestInvalidLabelsAreReported(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "nodes.yml", "- {targets: [\"a:1\"], labels: {node: a, job: x, alertstate: z, my-owner: y, long: "+strings.Repeat("x", 257)+"}}\n")
	put(t, "validators.yml", strings.Join([]string{
		someNode + ": {severity: page}", "alpha: {owner: x}", someValidation + ": acme", someNode + ": {owner: again}",
	}, "\n"))
	source := &config.Config{Values: config.Values{NodesFile: "nodes.yml", ValidatorsFile: "validators.yml"}}
	_, err := source.ReadUpstreams()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`AVAX_NODES_FILE: nodes.yml, line 1: label "alertstate": series and alerts use it already: choose another name`, `label "job": series`,
		`label "my-owner": a name consists of`,
		`label "long": the value has more than 256 bytes`, `AVAX_VALIDATORS_FILE: validators.yml, line 1: label "severity"`,
		`line 2: "alpha": write a node ID`, `line 3: write the labels as name: value`, `line 4: duplicate ID ` + someNode + `: remove it here or in line 1`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	if _, err := (config.Environment{"NODES": "a=http://a", "ALERT_LABELS": "owner,job"}).Parse(); err == nil ||
		!strings.Contains(err.Error(), `AVAX_ALERT_LABELS: label "job"`) {
		t.Errorf("AVAX_ALERT_LABELS: %v", err)
	}
}
