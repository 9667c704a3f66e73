package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/config"
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
	u, err := source.ReadUpstreams()
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	config.ExportLabels(registry, func() config.Upstreams { return u })
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
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
