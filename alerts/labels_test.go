package alerts

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// Labels of nodes and validators reach the alerts. A missing, doubled or removed label breaks no alert. Two replicas (job a), and two
// networks with a node of the same name (jobs a and b), double no alert and miss none.
func TestAlertsHaveTheLabelsOfTheirNodeOrValidator(t *testing.T) {
	t.Parallel()
	rules := must.Get(With(Options{Labels: []string{"owner", "region"}}))(t)
	cases := must.Get(os.ReadFile("testdata/labels_test.yml"))(t)
	dir := t.TempDir()
	for name, text := range map[string][]byte{"rules.yml": rules, "labels_test.yml": cases} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	promtool(t, "test", "rules", filepath.Join(dir, "labels_test.yml"))
}

// The compiler joins each alert about a node with the nodes that have left: what distinguishes several alerts of one node is ignored.
func TestEachAlertOfANodeMatchesTheNode(t *testing.T) {
	ignored := map[string][]string{} // by alert
	_, all := rules(t)
	fixed := map[string][]string{}
	for _, r := range all {
		fixed[r.Alert] = append(fixed[r.Alert], slices.Collect(maps.Keys(r.Labels))...)
		e, is := must.Get(testworld.PromQL.ParseExpr(r.Expr))(t).(*parser.BinaryExpr)
		if is && strings.HasSuffix(strings.TrimSpace(r.Expr), "avax:node_left") {
			ignored[r.Alert] = e.VectorMatching.MatchingLabels
		}
	}
	if len(ignored) < 20 {
		t.Errorf("only %d alerts end with their node", len(ignored))
	}
	// The label instance is that of alerts of companion.yml with the same name.
	site := []string{"instance", "job", "node", "cluster", "namespace", "region", "site", "zone", "datacenter", "environment"}
	for _, file := range readTests(t) {
		for _, g := range file.Tests {
			for _, c := range g.Alerts {
				for _, e := range c.ExpAlerts {
					for name := range e.Labels {
						if e.Labels["node"] != "" && ignored[c.Alertname] != nil && !slices.Contains(slices.Concat(site, fixed[c.Alertname], ignored[c.Alertname]), name) {
							t.Errorf("%s has the label %s: ignore it in the compiler's unlessLeft", c.Alertname, name)
						}
					}
				}
			}
		}
	}
}
