package alerting

import (
	"testing"

	"github.com/avax-exporter/avax-exporter/alerts"
)

// FuzzRulesFileIsValidOrAnError parses a rules file like a reload does.
func FuzzRulesFileIsValidOrAnError(f *testing.F) {
	f.Add([]byte("groups: [{name: a, rules: [{alert: A, expr: avax_node_up == 0, for: 5m, annotations: {summary: '{{ $labels.node }}'}}]}]"))
	f.Add([]byte("groups: [{name: a, query_offset: 1d, rules: [{record: 'a:b', expr: 'rate(avax_x[5m:1s] @ end() offset -1h)'}]}]"))
	f.Add([]byte("groups: [{name: a, rules: [{alert: A, expr: vector(1), annotations: {x: '{{ query \"up\" | first }}{{'}}]}]"))
	f.Add(alerts.Rules[:4<<10])
	f.Fuzz(func(t *testing.T, content []byte) {
		set, err := parseRules("rules.yml", content)
		if (set == nil) == (err == nil) {
			t.Fatalf("%q: %v and %v", content, set, err)
		}
		if err == nil && set.alerts == 0 {
			t.Errorf("file without an alert is accepted: %q", content)
		}
	})
}
