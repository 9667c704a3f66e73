package alerts

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// vmalert adds these to the $labels of a text, and to ALERTS: Prometheus has neither in the one, and no alertgroup in the other.
var ofVMAlert = []string{"alertgroup", "alertname"}

var sites = regexp.MustCompile(`range \$k, \$v := \$labels }}{{ if not \(eq \$k ([^)]+)\)`)

// A query of a text selects with the labels of the series: they are the site. The $labels of vmalert 1.151 also have the alert's name, its group and
// the labels of its rule, with which such a query finds nothing, and the text loses the validator or the reward. Prometheus has none of these.
func TestTextsSelectWithLabelsOfTheSeries(t *testing.T) {
	all, _ := parseRules(t, Rules, Companion)
	added := map[string]bool{}
	for _, name := range ofVMAlert {
		added[name] = true
	}
	var texts []string
	labelled, _ := parseRules(t, must.Get(With(Options{Labels: []string{"owner"}}))(t))
	for _, r := range labelled {
		if value := r.Labels["owner"]; value != "" {
			texts = append(texts, value)
		}
	}
	for _, r := range all {
		if r.Alert == "" {
			continue
		}
		for name := range r.Labels {
			added[name] = true
		}
		texts = slices.AppendSeq(texts, maps.Values(r.Annotations))
	}
	delete(added, "unit") // of companion.yml, and of no text with a site
	found := 0
	for _, text := range texts {
		for _, site := range sites.FindAllStringSubmatch(text, -1) {
			found++
			for name := range added {
				if !strings.Contains(site[1], `"`+name+`"`) {
					t.Errorf("the label %s of vmalert is part of the site: add it to %s", name, site[1])
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("%d texts with a site", found)
	}
}

// A rule that reads alerts matches them with what has no label of an alert. vmalert without -disableAlertgroupLabel gives them one more.
func TestJoinsWithAlertsIgnoreTheirGroup(t *testing.T) {
	all, _ := parseRules(t, Rules, Companion)
	found := 0
	for _, r := range all {
		parser.Inspect(must.Get(testworld.PromQL.ParseExpr(r.Expr))(t), func(n parser.Node, path []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); !ok || s.Name != "ALERTS" {
				return nil
			}
			found++
			for _, outer := range slices.Backward(path) {
				var dropped []string
				switch outer := outer.(type) {
				case *parser.BinaryExpr:
					dropped = outer.VectorMatching.MatchingLabels
				case *parser.AggregateExpr:
					dropped = outer.Grouping
				default:
					continue
				}
				for _, label := range []string{"alertname", "alertstate", "alertgroup"} {
					if !slices.Contains(dropped, label) {
						t.Errorf("%s%s: %s: ignore %s", r.Record, r.Alert, outer, label)
					}
				}
				return nil
			}
			t.Errorf("%s%s: %s is not matched", r.Record, r.Alert, n)
			return nil
		})
	}
	if found < 15 {
		t.Errorf("%d alerts are read", found)
	}
}

// Among equal values topk chooses the series that was created first: after a restart another, and promtool of 2.42 and 3.15 choose differently.
func TestRulesDoNotChooseAmongEqualValues(t *testing.T) {
	all, _ := parseRules(t, Rules, Companion)
	for _, r := range all {
		inspect(t, r.Expr, func(n parser.Node) {
			if a, ok := n.(*parser.AggregateExpr); ok && (a.Op == parser.TOPK || a.Op == parser.BOTTOMK || a.Op == parser.LIMITK) {
				t.Errorf("%s%s: %s: the choice is not the same after a restart: match what is unique", r.Record, r.Alert, a)
			}
		})
	}
}
