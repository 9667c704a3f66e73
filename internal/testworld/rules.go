package testworld

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// since is a comparison of a recorded start with a number of seconds: the `for` of an alert that survives a restart of Prometheus.
var since = regexp.MustCompile(`(time\(\) - avax:[a-z_]+_timestamp_seconds\)? >=? )([0-9]+)`)

// ShortenRules changes every `for`, `keep_firing_for` and time since a recorded start with shorter, and removes the intervals of groups,
// so that an alert pages within seconds. Expressions do not change otherwise. Invalid rules fail the test.
func ShortenRules(t testing.TB, rules []byte, shorter func(time.Duration) time.Duration) []byte {
	t.Helper()
	var file struct {
		Groups []map[string]any `yaml:"groups"`
	}
	if err := yaml.Unmarshal(rules, &file); err != nil {
		t.Fatalf("rules: %v", err)
	}
	if len(file.Groups) == 0 {
		t.Fatal("rules: no groups")
	}
	for _, group := range file.Groups {
		delete(group, "interval")
		rules, _ := group["rules"].([]any)
		for _, rule := range rules {
			rule, _ := rule.(map[string]any)
			if expr, given := rule["expr"].(string); given {
				rule["expr"] = since.ReplaceAllStringFunc(expr, func(found string) string {
					parts := since.FindStringSubmatch(found)
					old, err := time.ParseDuration(parts[2] + "s")
					if err != nil {
						t.Fatalf("rules: %s: %v", expr, err)
					}
					return fmt.Sprint(parts[1], max(shorter(old), 3*time.Second).Seconds()) // longer than a scrape of these tests
				})
			}
			for _, key := range []string{"for", "keep_firing_for"} {
				if value, given := rule[key].(string); given {
					old, err := model.ParseDuration(value)
					if err != nil {
						t.Fatalf("rules: %s: %s: %v", rule["alert"], key, err)
					}
					rule[key] = model.Duration(shorter(time.Duration(old))).String()
				}
			}
		}
	}
	return must.Get(yaml.Marshal(file))(t)
}

// Alternatives expands the groups of a regular expression: a(b|c(d|e)) is ab, acd, ace. An alternative may be there more than once.
func Alternatives(pattern string) (all []string) {
	open := strings.LastIndex(pattern, "(")
	if open < 0 {
		return []string{pattern}
	}
	inner, after, _ := strings.Cut(pattern[open+1:], ")")
	for _, each := range strings.Split(inner, "|") {
		all = append(all, Alternatives(pattern[:open]+each+after)...)
	}
	return all
}
