package notify_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

func TestInhibitorsAreThoseOfAlertmanager(t *testing.T) {
	in, err := notify.ParseInhibition([]byte(`
route: {receiver: r}
receivers: [{name: r}]
inhibit_rules:
  - {source_matchers: ['alertname="Down"'], target_matchers: ['alertname=~"Slow|Dark"'], equal: [node]}
  - {source_matchers: ['alertname="Slow"'], target_matchers: ['alertname="Late"'], equal: [node]}
  - {source_matchers: ['severity="page"'], target_matchers: ['severity=~"warn|page"'], equal: [alertname]}
  - {source_matchers: ['tier=~"high|middle"'], target_matchers: ['tier=~"middle|low"'], equal: [alertname]}
`))
	if err != nil {
		t.Fatal(err)
	}
	type labels = map[string]string
	alert := func(name, node string) labels { return labels{"alertname": name, "node": node} }
	tier := func(severity string) labels {
		return labels{"alertname": "Down", "node": "a", "severity": severity}
	}
	level := func(tier string) labels { return labels{"alertname": "Full", "tier": tier} }
	for name, test := range map[string]struct {
		alerts []labels
		want   []int
	}{
		"same node only":                        {[]labels{alert("Down", "a"), alert("Slow", "a"), alert("Slow", "b")}, []int{-1, 0, -1}},
		"a chain of causes":                     {[]labels{alert("Late", "a"), alert("Slow", "a"), alert("Down", "a")}, []int{1, 2, -1}},
		"a source is no target of its own rule": {[]labels{tier("page"), tier("warn"), alert("Down", "b")}, []int{-1, 0, -1}},
		// Alertmanager 0.34.0 looked at one source only: if this was itself a target, it suppressed no other target that is a source.
		"a source that is no target after one that is":  {[]labels{level("middle"), level("high")}, []int{1, -1}},
		"a source that is no target before one that is": {[]labels{level("high"), level("middle")}, []int{-1, 0}},
		"none": {nil, []int{}},
	} {
		if diff := cmp.Diff(test.want, in.Inhibitors(test.alerts)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if _, err := notify.ParseInhibition(alertmanager.Config); err != nil {
		t.Errorf("shipped rules: %v", err)
	}
}
