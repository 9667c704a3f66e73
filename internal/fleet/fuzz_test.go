package fleet_test

import (
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/fleet"
)

// FuzzNodesFileErrorsContainNoSecrets reads any file of nodes and any credential file. Errors never contain the
// credential.
func FuzzNodesFileErrorsContainNoSecrets(f *testing.F) {
	const group = "- targets: ['http://10.0.0.1:9650']\n  labels: {node: alpha, %: secret}\n"
	for _, label := range []string{"__bearer_file__", "__basic_auth_file__", "__headers_file__", "__ca_file__", "__key_file__", "x"} {
		f.Add(strings.Replace(group, "%", label, 1), false, "c4n4ry", "")
	}
	f.Add(`[{"targets": ["10.0.0.1:9650", "10.0.0.2:9650"], "labels": {"__bearer_file__": "secret"}}]`, true, "user:c4n4ry", "\x00")
	f.Add("- &a targets: [*a]\n", false, "", "X-Key: ")
	f.Add("a: &a [*b, *b]\nb: &b [*a]\n", false, "X-Key", "")
	f.Fuzz(func(t *testing.T, nodes string, inJSON bool, before, after string) {
		if strings.ContainsAny(nodes, "/\\~") && !strings.Contains(nodes, "://") {
			return // it may be a file of this machine
		}
		const canary = "c4n4ry-of-the-file"
		t.Chdir(t.TempDir())
		file := "nodes.yml"
		if inJSON {
			file = "nodes.json"
		}
		put(t, file, nodes)
		put(t, "secret", before+canary+after)
		found, err := (&fleet.Source{File: file}).Read()
		if err != nil {
			if strings.Contains(err.Error(), canary) {
				t.Errorf("content of the file in the error: %v", err)
			}
			return
		}
		taken := map[string]bool{}
		for _, n := range found {
			if !fleet.ValidName(n.Name) || taken[n.Name] || n.URL == "" {
				t.Errorf("%q: node %q at %q", nodes, n.Name, n.URL)
			}
			taken[n.Name] = true
		}
	})
}
