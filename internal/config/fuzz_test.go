package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/nodes"
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
		switch strings.TrimPrefix(v.Name, prefix+"_") {
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
		env, v := Defaults(), all[int(which)%len(all)]
		fields := reflect.TypeOf(env)
		for i := range fields.NumField() {
			field := fields.Field(i)
			if prefix+"_"+field.Tag.Get("name") != v.Name {
				continue
			}
			if strings.HasSuffix(v.Name, "_FILE") || v.Name == prefix+"_STATE_DIR" {
				value = "no such file: " + strings.ReplaceAll(value, "/", "")
			}
			reflect.ValueOf(&env).Elem().Field(i).SetString(value)
		}
		c, err := env.Parse()
		if err != nil {
			if !strings.Contains(err.Error(), prefix+"_") {
				t.Errorf("%s=%q: error without the variable: %v", v.Name, value, err)
			}
			return
		}
		if c.Timeout <= 0 || c.Concurrency <= 0 || c.Shard.Of < 1 || c.Shard.Shard < 0 || c.Shard.Shard >= c.Shard.Of {
			t.Errorf("%s=%q accepted: %+v", v.Name, value, c)
		}
		for _, n := range c.Nodes {
			if n.Name == "" || n.URL == "" {
				t.Errorf("%s=%q: node without name or address", v.Name, value)
			}
		}
		seen := map[nodes.Chain]bool{}
		for _, chain := range c.Chains {
			if chain.Name == "" || chain.Ref == "" || seen[chain] {
				t.Errorf("%s=%q: chains %v", v.Name, value, c.Chains)
			}
			seen[chain] = true
		}
	})
}
