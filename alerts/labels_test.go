package alerts

import (
	"os"
	"path/filepath"
	"testing"
)

// Labels of nodes and validators reach the alerts. A missing, doubled or removed label breaks no alert. Two replicas (job a), and two
// networks with a node of the same name (jobs a and b), double no alert and miss none.
const labelCases = `
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'avax_node_up{job="a",instance="1",node="alpha"}', values: 0x20}
      - {series: 'avax_node_up{job="a",instance="1",node="bravo"}', values: 0x20}
      - {series: 'avax_node_up{job="a",instance="1",node="charlie"}', values: 0x20}
      - {series: 'avax_node_up{job="a",instance="1",node="delta"}', values: 0x20}
      - {series: 'avax_node_up{job="b",instance="2",node="alpha"}', values: 0x20}
      - {series: 'avax_node_up{job="a",instance="2",node="alpha"}', values: 0x20}
      - {series: 'avax_node_labels{job="a",instance="2",node="alpha",owner="acme",region="eu"}', values: 1x20}
      - {series: 'avax_node_identity_info{job="a",instance="1",node="charlie",node_id="NodeID-C"}', values: 1x20}
      - {series: 'avax_node_labels{job="a",instance="1",node="alpha",owner="acme",region="eu"}', values: 1x20}
      - {series: 'avax_node_labels{job="b",instance="2",node="alpha",owner="beam",region="none"}', values: 1x20}
      - {series: 'avax_node_labels{job="a",instance="1",node="bravo",owner="zoo"}', values: 1x20}
      - {series: 'avax_node_labels{job="a",instance="2",node="bravo",owner="zed"}', values: 1x20}
      - {series: 'avax_node_labels{job="a",instance="1",node="delta",owner="lost",region="none"}', values: 1x4}
      - {series: 'avax_validator_labels{job="a",instance="1",node_id="NodeID-C",owner="coop"}', values: 1x20}
      - {series: 'avax_validator_labels{job="a",instance="1",node_id="NodeID-D",owner="dora",name="dora-1"}', values: 1x20}
    promql_expr_test:
      - expr: 'count by (job, node, owner, region) (ALERTS{alertname="AvaxNodeDown", severity="warn"})'
        eval_time: 8m
        exp_samples:
          - {labels: '{job="a",node="alpha",owner="acme",region="eu"}', value: 1}
          - {labels: '{job="b",node="alpha",owner="beam",region="none"}', value: 1}
          - {labels: '{job="a",node="bravo",owner="zed",region="none"}', value: 1}
          - {labels: '{job="a",node="charlie",owner="coop",region="none"}', value: 1}
          - {labels: '{job="a",node="delta",owner="lost",region="none"}', value: 1}
      - expr: 'avax:label{node=~"alpha|charlie|delta"}'
        eval_time: 3m
        exp_samples:
          - {labels: 'avax:label{job="a",label="owner",value="acme",node="alpha"}', value: 1}
          - {labels: 'avax:label{job="b",label="owner",value="beam",node="alpha"}', value: 1}
          - {labels: 'avax:label{job="a",label="owner",value="coop",node="charlie"}', value: 1}
          - {labels: 'avax:label{job="a",label="owner",value="lost",node="delta"}', value: 1}
          - {labels: 'avax:label{job="a",label="region",value="eu",node="alpha"}', value: 1}
          - {labels: 'avax:label{job="a",label="region",value="none",node="delta"}', value: 1}
          - {labels: 'avax:label{job="b",label="region",value="none",node="alpha"}', value: 1}
      - expr: 'avax:label{node_id!=""}'
        eval_time: 8m
        exp_samples:
          - {labels: 'avax:label{job="a",label="owner",value="coop",node_id="NodeID-C"}', value: 1}
          - {labels: 'avax:label{job="a",label="owner",value="dora",node_id="NodeID-D"}', value: 1}
      - expr: 'avax:label_alerts{severity="warn"}'
        eval_time: 8m
        exp_samples:
          - {labels: 'avax:label_alerts{job="a",label="owner",value="acme",severity="warn"}', value: 1}
          - {labels: 'avax:label_alerts{job="b",label="owner",value="beam",severity="warn"}', value: 1}
          - {labels: 'avax:label_alerts{job="a",label="owner",value="zed",severity="warn"}', value: 1}
          - {labels: 'avax:label_alerts{job="a",label="owner",value="coop",severity="warn"}', value: 1}
          - {labels: 'avax:label_alerts{job="a",label="owner",value="lost",severity="warn"}', value: 1}
          - {labels: 'avax:label_alerts{job="a",label="region",value="eu",severity="warn"}', value: 1}
      - expr: 'avax:label_nodes{label="owner"}'
        eval_time: 8m
        exp_samples:
          - {labels: 'avax:label_nodes{job="a",label="owner",value="acme"}', value: 1}
          - {labels: 'avax:label_nodes{job="b",label="owner",value="beam"}', value: 1}
          - {labels: 'avax:label_nodes{job="a",label="owner",value="zoo"}', value: 1}
          - {labels: 'avax:label_nodes{job="a",label="owner",value="zed"}', value: 1}
          - {labels: 'avax:label_nodes{job="a",label="owner",value="coop"}', value: 1}
          - {labels: 'avax:label_nodes{job="a",label="owner",value="lost"}', value: 1}
      - expr: 'avax:validator_name'
        eval_time: 8m
        exp_samples:
          - {labels: 'avax:validator_name{job="a",node="charlie",node_id="NodeID-C"}', value: 1}
          - {labels: 'avax:validator_name{job="a",node="dora-1",node_id="NodeID-D"}', value: 1}
  - interval: 1m
    input_series:
      - {series: 'avax_node_up{job="a",instance="1",node="alpha"}', values: 0x20}
    promql_expr_test:
      - expr: 'count by (job, node, owner) (ALERTS{alertname="AvaxNodeDown", severity="warn"})'
        eval_time: 8m
        exp_samples: [{labels: '{job="a",node="alpha",owner="none"}', value: 1}]
`

func TestAlertsHaveTheLabelsOfTheirNodeOrValidator(t *testing.T) {
	t.Parallel()
	rules, err := WithLabels(Rules, []string{"owner", "region"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"rules.yml": rules, "labels_test.yml": []byte(labelCases)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	promtool(t, "test", "rules", filepath.Join(dir, "labels_test.yml"))
}
