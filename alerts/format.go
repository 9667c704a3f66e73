package alerts

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
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

// GrafanaManaged returns rules, a rule file, with annotations for Grafana-managed alerting: there, $value is a text, and query returns nothing.
func GrafanaManaged(rules []byte) []byte {
	return bytes.ReplaceAll(rules, []byte("$value"), []byte("$.Values.query.Value"))
}

// mimirGroup is the number of rules that a group may have by Mimir's default limit (ruler_max_rules_per_rule_group).
const mimirGroup = 20

var recorded = regexp.MustCompile(`avax:[a-z0-9_]+`)

// Mimir returns rules, a rule file, with groups that Mimir and Cortex accept by default. An alert is in one group with the records that it reads,
// as far as they fit, and follows them. A record of another group may be one evaluation old.
func Mimir(rules []byte) ([]byte, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(rules, &file); err != nil {
		return nil, err
	}
	groups := field(file.Content[0], "groups")
	var all []*yaml.Node
	var names []string // of the group of each rule
	records := map[string][]int{}
	for _, g := range groups.Content {
		for _, r := range field(g, "rules").Content {
			if name := field(r, "record"); name != nil {
				records[name.Value] = append(records[name.Value], len(all))
			}
			all, names = append(all, r), append(names, field(g, "name").Value)
		}
	}
	placed := map[int]bool{}
	var closure func(i int, found map[int]bool)
	closure = func(i int, found map[int]bool) {
		found[i] = true
		for _, name := range recorded.FindAllString(field(all[i], "expr").Value, -1) {
			for _, j := range records[name] {
				if !placed[j] && !found[j] && !strings.HasPrefix(name, "avax:threshold") {
					closure(j, found)
				}
			}
		}
	}
	var split []*yaml.Node
	room, number := 0, map[string]int{}
	open := func(of string) {
		number[of]++
		split = append(split, mapping("name", scalar(fmt.Sprintf("%s-%d", of, number[of])), "rules", &yaml.Node{Kind: yaml.SequenceNode}))
		room = mimirGroup
	}
	for _, kind := range []string{"alert", "record"} {
		for i, r := range all {
			if placed[i] || field(r, kind) == nil {
				continue
			}
			together := map[int]bool{}
			closure(i, together)
			if len(together) > room {
				open(names[i])
			}
			for _, j := range slices.Sorted(maps.Keys(together)) {
				if room == 0 {
					open(names[i])
				}
				rules := field(split[len(split)-1], "rules")
				rules.Content, placed[j] = append(rules.Content, all[j]), true
				room--
			}
		}
	}
	groups.Content = split
	return write(&file)
}

func scalar(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

func mapping(key1 string, value1 *yaml.Node, key2 string, value2 *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar(key1), value1, scalar(key2), value2}}
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
	var changes []struct{ From, To string }
	if err := yaml.Unmarshal(labelChanges, &changes); err != nil {
		return nil, fmt.Errorf("label_changes.yml: %w", err)
	}
	listed := strings.NewReplacer("COMMAS", strings.Join(names, ", "), "BARS", strings.Join(names, "|"))
	for _, c := range changes {
		if len(names) > 0 {
			rules = bytes.ReplaceAll(rules, []byte(c.From), []byte(listed.Replace(c.To)))
		}
	}
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
				labels.Content = append(labels.Content, scalar(name), &yaml.Node{Kind: yaml.ScalarNode, Value: value, Style: yaml.SingleQuotedStyle})
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
