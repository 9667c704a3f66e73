package config

import (
	"os"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// FuzzConfigurationIsValidOrAnError sets one variable to any text and the others to valid defaults. An accepted value is
// within the limits that the program relies on.
func FuzzConfigurationIsValidOrAnError(f *testing.F) {
	all := Variables()
	for i, v := range all {
		f.Add(uint8(i), v.Default)
		f.Add(uint8(i), "x")
	}
	for i, v := range all {
		switch v.Name {
		case "NODES":
			f.Add(uint8(i), "alpha=http://user:c4n4ry@10.0.0.1:9650,bravo=https://[::1]:9650/ext")
		case "CHAINS":
			f.Add(uint8(i), "auto,C,one=2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM")
		case "SCHEDULES":
			f.Add(uint8(i), "up=@every 1s;heads=*/5 * * * *;peers=CRON_TZ=x 61 * * * *")
		case "WATCH_TOKENS":
			f.Add(uint8(i), "C/0x1f0000000000000000000000000000000000001f/7:reindex")
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, value string) {
		v := all[int(which)%len(all)]
		if strings.HasSuffix(v.Name, "_FILE") || v.Name == "STATE_DIR" {
			value = "no such file: " + strings.ReplaceAll(value, "/", "")
		}
		c, err := Environment{v.Name: value}.Parse()
		if err != nil {
			if !strings.Contains(err.Error(), prefix) {
				t.Errorf("%s=%q: error without the variable: %v", v.Name, value, err)
			}
			return
		}
		if c.Timeout <= 0 || c.Concurrency <= 0 || c.TotalShards < 1 || c.Shard < 0 || int(c.Shard) >= int(c.TotalShards) {
			t.Errorf("%s=%q accepted: %+v", v.Name, value, c)
		}
		for _, n := range c.Upstreams.Nodes {
			if n.Name == "" || n.URL == "" {
				t.Errorf("%s=%q: node without name or address", v.Name, value)
			}
		}
		seen := map[nodes.Chain]bool{}
		for _, chain := range c.Chains.List {
			if chain.Name == "" || chain.Ref == "" || seen[chain] {
				t.Errorf("%s=%q: chains %v", v.Name, value, c.Chains.List)
			}
			seen[chain] = true
		}
	})
}

// FuzzFileErrorsContainNoSecrets reads any file of nodes, and any file with a token.
func FuzzFileErrorsContainNoSecrets(f *testing.F) {
	f.Add("- targets: ['http://10.0.0.1:9650']\n  labels: {node: alpha}\n", "c4n4ry", "")
	f.Add(`[{"targets": ["10.0.0.1:9650", "10.0.0.2:9650"], "labels": {"__role__": "observer"}}]`, "user:c4n4ry", "\x00")
	f.Add("- targets: &a [*a]\n", "", "X-Key: ")
	f.Add("a: &a [*b, *b]\nb: &b [*a]\n", "X-Key", "")
	f.Fuzz(func(t *testing.T, nodes string, before, after string) {
		const canary = "c4n4ry-of-the-file"
		t.Chdir(t.TempDir())
		for name, text := range map[string]string{
			"nodes.yml": nodes, "secret": before + canary + after,
			"http.yml": `[{upstreams: ["*"], http_config: {authorization: {credentials_file: secret}, tls_config: {ca_file: secret}}}]`,
		} {
			must.Do(t, os.WriteFile(name, []byte(text), 0o600))
		}
		u, err := (&Config{Values: Values{NodesFile: "nodes.yml", HTTPConfigFile: "http.yml"}}).ReadUpstreams()
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("content of the file in the error: %v", err)
		}
		taken := map[string]bool{}
		for _, n := range u.Nodes {
			if !ValidName(n.Name) || taken[n.Name] || n.URL == "" {
				t.Errorf("%q: node %q at %q", nodes, n.Name, n.URL)
			}
			taken[n.Name] = true
		}
	})
}
