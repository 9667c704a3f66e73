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
`))
	if err != nil {
		t.Fatal(err)
	}
	const firing, pending = true, false
	alert := func(name, node string, firing bool) notify.Active {
		return notify.Active{Labels: map[string]string{"alertname": name, "node": node}, Firing: firing}
	}
	tier := func(severity string) notify.Active {
		return notify.Active{Labels: map[string]string{"alertname": "Down", "node": "a", "severity": severity}, Firing: true}
	}
	for name, test := range map[string]struct {
		alerts []notify.Active
		want   []int
	}{
		"same node only":                         {[]notify.Active{alert("Down", "a", firing), alert("Slow", "a", firing), alert("Slow", "b", firing)}, []int{-1, 0, -1}},
		"a chain of causes":                      {[]notify.Active{alert("Late", "a", firing), alert("Slow", "a", firing), alert("Down", "a", firing)}, []int{1, 2, -1}},
		"a pending alert inhibits no firing one": {[]notify.Active{alert("Down", "a", pending), alert("Slow", "a", firing)}, []int{-1, -1}},
		"a pending alert inhibits pending ones":  {[]notify.Active{alert("Down", "a", pending), alert("Slow", "a", pending)}, []int{-1, 0}},
		"a firing alert inhibits pending ones":   {[]notify.Active{alert("Down", "a", firing), alert("Slow", "a", pending)}, []int{-1, 0}},
		"a source is no target of its own rule":  {[]notify.Active{tier("page"), tier("warn"), alert("Down", "b", firing)}, []int{-1, 0, -1}},
		"none":                                   {nil, []int{}},
	} {
		if diff := cmp.Diff(test.want, in.Inhibitors(test.alerts)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if _, err := notify.ParseInhibition(alertmanager.Config); err != nil {
		t.Errorf("shipped rules: %v", err)
	}
}
