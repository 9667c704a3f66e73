package alerts

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// PrometheusRule returns rules, a rule file, as a resource of the Prometheus operator.
func PrometheusRule(name string, rules []byte) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: %s
  labels:
    app.kubernetes.io/name: avax-exporter
spec:
`, name)
	for line := range bytes.Lines(rules) {
		if len(bytes.TrimSpace(line)) > 0 {
			out.WriteString("  ")
		}
		out.Write(line)
	}
	return out.Bytes()
}

// GrafanaManaged returns rules, a rule file, with annotations for Grafana-managed alerting: there, $value is a text, $externalLabels is
// unknown and query returns nothing.
func GrafanaManaged(rules []byte) []byte {
	rules = bytes.ReplaceAll(rules, []byte("$value"), []byte("$.Values.query.Value"))
	return bytes.ReplaceAll(rules, []byte("{{ $externalLabels.grafana_url }}"), nil)
}

// WithDigest adds the rules of the weekly digest to rules. Rules and result are in the format of rules.yml.
func WithDigest(rules []byte) ([]byte, error) {
	var file, digest yaml.Node
	if err := errors.Join(yaml.Unmarshal(rules, &file), yaml.Unmarshal(Digest, &digest)); err != nil {
		return nil, err
	}
	groups := field(file.Content[0], "groups")
	groups.Content = append(groups.Content, field(digest.Content[0], "groups").Content...)
	return write(&file)
}

// WithLabels adds labels of nodes and validators, such as owner, to the alerts of rules, and the rules of label.yml for each of them.
// In an alert without such a label its value is none. Rules and result are in the format of rules.yml.
func WithLabels(rules []byte, names []string) ([]byte, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(rules, &file); err != nil {
		return nil, err
	}
	var added []*yaml.Node
	for _, name := range names {
		var of yaml.Node
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(labelRules, "LABEL", name)), &of); err != nil {
			return nil, fmt.Errorf("label.yml: %w", err)
		}
		added = append(added, of.Content[0].Content...)
	}
	for _, g := range field(file.Content[0], "groups").Content {
		rules := field(g, "rules")
		before := slices.IndexFunc(rules.Content, func(r *yaml.Node) bool {
			record := field(r, "record")
			return record != nil && record.Value == "avax:labels"
		})
		if before >= 0 {
			rules.Content = slices.Insert(rules.Content, before+1, added...)
		}
		for _, r := range rules.Content {
			labels := field(r, "labels")
			if field(r, "alert") == nil || labels == nil {
				continue
			}
			for _, name := range names {
				value := strings.ReplaceAll(strings.TrimSpace(labelTemplate), "LABEL", name)
				labels.Content = append(labels.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, &yaml.Node{Kind: yaml.ScalarNode, Value: value, Style: yaml.SingleQuotedStyle})
			}
		}
	}
	return write(&file)
}

func write(file *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(file); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return out.Bytes(), nil
}

// field returns the value of a key of a mapping; nil if there is no such key.
func field(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}
