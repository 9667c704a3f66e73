package stack

import "testing"

// Alertmanager starts an Alertmanager that runs until the test ends. It sends every alert by itself to the webhook: at once when it
// fires, at once when it resolves, and never as a reminder.
func Alertmanager(t testing.TB, webhookURL string) *Program {
	t.Helper()
	return AlertmanagerWith(t, map[string]any{
		"route": map[string]any{
			"receiver":        "webhook",
			"group_by":        []string{"..."}, // every label: a group of its own for each alert
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

// AlertmanagerWith starts an Alertmanager of that configuration, which runs until the test ends.
func AlertmanagerWith(t testing.TB, config map[string]any) *Program {
	t.Helper()
	file := writeYAML(t, "alertmanager.yml", config)
	data := t.TempDir()
	return start(t, "alertmanager", func(address string) []string {
		return []string{
			"--config.file=" + file,
			"--storage.path=" + data,
			"--data.maintenance-interval=1s", // what was notified is known again after a kill
			"--web.listen-address=" + address,
			"--cluster.listen-address=", // alone: no peers to wait for
		}
	})
}
