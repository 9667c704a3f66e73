// Package logs checks the files for the logs of the nodes.
package logs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// The rules have the format of Loki's ruler, select lines by labels that both agents set, and have the annotations of the other alerts.
func TestRulesSelectLabelsThatTheAgentsSet(t *testing.T) {
	var rules rulefmt.RuleGroups
	decoder := yaml.NewDecoder(strings.NewReader(string(must.Get(os.ReadFile("rules.yml"))(t))))
	decoder.KnownFields(true)
	must.Do(t, decoder.Decode(&rules))
	var vector struct {
		Sinks struct {
			Loki struct{ Labels map[string]string }
		}
	}
	must.Do(t, yaml.Unmarshal(must.Get(os.ReadFile("vector.yaml"))(t), &vector))
	alloy := string(must.Get(os.ReadFile("alloy.alloy"))(t))
	set := vector.Sinks.Loki.Labels
	for label := range set {
		if !regexp.MustCompile(`values = \{.*\b` + label + ` = `).MatchString(alloy) {
			t.Errorf("vector.yaml sets %s, alloy.alloy does not", label)
		}
	}
	labels := regexp.MustCompile(`(\w+)="`)
	alerts := 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			alerts++
			for _, used := range labels.FindAllStringSubmatch(r.Expr, -1) {
				if set[used[1]] == "" {
					t.Errorf("%s selects by the label %s, which no agent sets", r.Alert, used[1])
				}
			}
			for _, needed := range []string{"summary", "description", "action", "runbook_url", "dashboard_url"} {
				if r.Annotations[needed] == "" {
					t.Errorf("%s has no %s", r.Alert, needed)
				}
			}
		}
	}
	if alerts == 0 || len(set) != 4 {
		t.Errorf("%d alerts, labels %v", alerts, set)
	}
}
