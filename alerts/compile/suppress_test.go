package compile

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const causes = `group: g
suppresses:
- {if: ['severity="page"'], of: ['severity="warn"'], on: [alertname, node]}
rules:
- alert: AvaxNodeDown
  about: node
  suppresses:
  # It is down.
  - {if: ['severity="page"'], effects: [node, AvaxChain.*], except: [AvaxNodeNameShared], on: [node]}
  - {effects: [HostDown], on: [node], companion: true}
- {alert: AvaxNodeSlow, about: node}
- {alert: AvaxNodeNameShared, about: node}
- {alert: AvaxChainMissing, about: chain, suppresses: [{effects: [HostDown], on: [node], companion: true}]}
`

func inhibited(rules string) (string, error) {
	text, err := Inhibitions(fstest.MapFS{"0.yml": {Data: []byte(rules)}}, fstest.MapFS{"0.yml": {Data: []byte("group: c\nrules:\n- {alert: HostDown, about: host}\n")}})
	return string(text), err
}

// A new alert about a node is suppressed by what suppresses all alerts of a node. Causes of the same effects share a rule.
func TestAlertsSuppressTheirEffects(t *testing.T) {
	const site = "cluster, datacenter, environment, region, site, zone"
	want := `inhibit_rules:
  - source_matchers: ['severity="page"']
    target_matchers: ['severity="warn"']
    equal: [job, namespace, ` + site + `, alertname, node]
  # It is down.
  - source_matchers: ['alertname="AvaxNodeDown"', 'severity="page"']
    target_matchers: ['alertname=~"AvaxChainMissing|AvaxNodeSlow"']
    equal: [job, namespace, ` + site + `, node]
  - source_matchers: ['alertname=~"AvaxNodeDown|AvaxChainMissing"']
    target_matchers: ['alertname="HostDown"']
    equal: [` + site + `, node]
`
	if got := must.Get(inhibited(causes))(t); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A misspelt name would suppress nothing.
func TestUnknownEffectsAreRefused(t *testing.T) {
	for _, change := range [][2]string{{"AvaxChain.*", "AvaxBlock.*"}, {"AvaxNodeNameShared]", "AvaxNodeName]"}, {"[HostDown]", "[AvaxNodeSlow]"}} {
		if _, err := inhibited(strings.Replace(causes, change[0], change[1], 1)); err == nil || !strings.Contains(err.Error(), "AvaxNodeDown: suppresses: "+strings.Trim(change[1], "[]")+" is no alert") {
			t.Errorf("%s instead of %s: %v", change[1], change[0], err)
		}
	}
}
