package testworld

import (
	"slices"
	"testing"

	amcommon "github.com/prometheus/alertmanager/config/common"
	"github.com/prometheus/alertmanager/pkg/labels"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// Alertmanager starts an Alertmanager that runs until the test ends. It sends each alert separately to the webhook, immediately when it
// fires and when it resolves, without reminders.
func Alertmanager(t testing.TB, webhookURL string) *Program {
	t.Helper()
	return AlertmanagerWith(t, map[string]any{
		"route": map[string]any{
			"receiver":        "webhook",
			"group_by":        []string{"..."}, // all labels: each alert is its own group
			"group_wait":      "10ms",
			"group_interval":  "200ms",
			"repeat_interval": "1h",
		},
		"receivers": []any{map[string]any{
			"name":            "webhook",
			"webhook_configs": []any{map[string]any{"url": webhookURL, "send_resolved": true}},
		}},
	})
}

// AlertmanagerWith starts an Alertmanager with this configuration, until the test ends.
func AlertmanagerWith(t testing.TB, config map[string]any) *Program {
	t.Helper()
	return AlertmanagerFile(t, writeYAML(t, "alertmanager.yml", config))
}

// AlertmanagerFile starts an Alertmanager with this configuration file, until the test ends.
func AlertmanagerFile(t testing.TB, file string) *Program {
	t.Helper()
	data := t.TempDir()
	return start(t, "alertmanager", func(address string) []string {
		return []string{
			"--config.file=" + file,
			"--storage.path=" + data,
			"--data.maintenance-interval=1s", // notifications are saved before a kill
			"--web.listen-address=" + address,
			"--cluster.listen-address=", // without peers
		}
	})
}

// ShippedRoutes returns the shipped configuration of Alertmanager, in which every receiver is the webhook.
func ShippedRoutes(t testing.TB, webhookURL string) map[string]any {
	t.Helper()
	config := map[string]any{}
	must.Do(t, yaml.Unmarshal(alertmanager.Config, &config))
	for _, r := range config["receivers"].([]any) {
		r.(map[string]any)["webhook_configs"] = []any{map[string]any{"url_file": File(t, webhookURL)}}
	}
	return config
}

// ShortRoutes returns ShippedRoutes with waits of a second.
func ShortRoutes(t testing.TB, webhookURL string) map[string]any {
	t.Helper()
	config := ShippedRoutes(t, webhookURL)
	var shorten func(route map[string]any)
	shorten = func(route map[string]any) {
		for _, name := range []string{"group_wait", "group_interval"} {
			if route[name] != nil {
				route[name] = "1s"
			}
		}
		routes, _ := route["routes"].([]any)
		for _, r := range routes {
			shorten(r.(map[string]any))
		}
	}
	shorten(config["route"].(map[string]any))
	return config
}

// Inhibitions returns the inhibit rules of the shipped configuration of Alertmanager.
func Inhibitions(t testing.TB) []amcommon.InhibitRule {
	t.Helper()
	var config struct {
		Rules []amcommon.InhibitRule `yaml:"inhibit_rules"`
	}
	must.Do(t, yaml.Unmarshal(alertmanager.Config, &config))
	if len(config.Rules) == 0 {
		t.Fatal("no inhibit rules")
	}
	return config.Rules
}

// MayMatch reports whether an alert whose rule sets these labels may match. A label that the rule does not set may have any value,
// unless only rules set it, or the alert is about all nodes and the label is node.
func MayMatch(matchers []*labels.Matcher, rule map[string]string) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
		value, set := rule[m.Name]
		known := set || slices.Contains([]string{"within", "scope", "reason", "cause"}, m.Name) || m.Name == "node" && rule["scope"] == "all"
		return known && !m.Matches(value)
	})
}
