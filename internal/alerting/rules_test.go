package alerting

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func TestBuiltInRulesAreValid(t *testing.T) {
	summary := must.Get(CheckRules(Config{Rules: alerts.Rules}))(t)
	if summary.Name != "rules.yml" || summary.Alerts == 0 || summary.Recording == 0 {
		t.Errorf("summary %+v", summary)
	}
}

func TestInvalidRulesFileNamesTheReason(t *testing.T) {
	group := func(rule string) string { return "groups: [{name: g, rules: [" + rule + "]}]" }
	for _, test := range []struct{ content, want string }{
		{"groups: [", "my.yml"},
		{"gruops: []", "gruops"},
		{group("{alert: A, expr: 'up =='}"), "parse error"},
		{group("{alert: A, expr: up, for: soon}"), "soon"},
		{group("{alert: A, expr: up, annotations: {summary: '{{ .Value'}}"), "template"},
		{"groups: []", "the file has no rule"},
		{group("{alert: A, expr: 'increase(up[3h])'}"), "A looks back 3h, but samples are kept for 2h"},
		{group("{alert: A, expr: 'up offset 130m'}"), "looks back 2h15m"},
		{group("{alert: A, expr: 'max_over_time(up[1h:1m] offset 90m)'}"), "looks back 2h35m"},
		{group("{alert: A, expr: 'up @ 1700000000'}"), "looks back"},
		{"groups: [{name: g, query_offset: 3h, rules: [{alert: A, expr: up}]}]", "looks back 3h5m"},
	} {
		_, err := parseRules("my.yml", []byte(test.content))
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "my.yml") {
			t.Errorf("%s\nerror %v, want it to contain %q", test.content, err, test.want)
		}
	}
	for _, bad := range []string{"groups: [", "groups: 3", "no rules", "groups: [{name: g, rules: 7}]"} {
		if _, err := parseRules("my.yml", []byte(bad)); err == nil || strings.Count(err.Error(), "my.yml") != 1 {
			t.Errorf("%s\nerror %v, want it once", bad, err)
		}
	}
	for _, good := range []string{"increase(up[2h])", "up offset 2h", "vector(1)", "vector(time()) > 0", "up offset -1h"} {
		if _, err := parseRules("my.yml", []byte(group("{alert: A, expr: '"+good+"'}"))); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

// A file that only overrides thresholds works as it does next to rules.yml in a Prometheus: the built-in alerts stay.
func TestFileOfThresholdsIsAddedToTheBuiltInRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.yml")
	write := func(text string) { must.Do(t, os.WriteFile(file, []byte(text), 0o600)) }
	const override = "{record: 'avax:threshold_override', labels: {alert: AvaxHeadLag, severity: warn}, expr: vector(100)}"
	builtIn := must.Get(CheckRules(Config{Rules: alerts.Rules}))(t)

	write("groups: [{name: my-thresholds, rules: [" + override + "]}]")
	if both := must.Get(CheckRules(Config{Rules: alerts.Rules, RulesFile: file}))(t); both.Alerts != builtIn.Alerts || both.Recording != builtIn.Recording+1 {
		t.Errorf("%+v, want those of %+v and one more", both, builtIn)
	}
	if Replaces(file) {
		t.Error("replaces the built-in rules")
	}
	write("groups: [{name: avax-l1, rules: [" + override + "]}]")
	if _, err := CheckRules(Config{Rules: alerts.Rules, RulesFile: file}); err == nil || !strings.Contains(err.Error(), "group avax-l1 is one of the built-in rules: rename it") {
		t.Errorf("error %v", err)
	}
	write("groups: [{name: g, rules: [" + override + ", {alert: Mine, expr: up == 0}]}]")
	if own := must.Get(CheckRules(Config{Rules: alerts.Rules, RulesFile: file}))(t); own.Alerts != 1 || !Replaces(file) {
		t.Errorf("%+v, want one alert", own)
	}
}
