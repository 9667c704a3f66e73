package compile

import (
	"strings"

	"github.com/prometheus/prometheus/model/rulefmt"
)

// Own adds labels that the operator gives to nodes and validators to the alerts of groups that have no source.
func Own(groups []Group, owners []string) {
	for _, g := range groups {
		for i := range g.Rules {
			g.Rules[i].own(owners)
		}
	}
}

func (r *Rule) own(owners []string) {
	for _, name := range owners {
		if r.Alert != "" {
			r.Labels[name] = ownerOf(name)
		}
	}
}

// labelsOf is the record with the labels of nodes and validators.
const labelsOf = "avax:labels"

// notOwner are the labels of alerts that do not say on which site the owner's node or validator is.
var notOwner = []string{
	"__name__", "alertgroup", "alertname", "cause", "chain", "check", "collector", "fact", "instance", "ip", "level", "node", "node_id", "noticed", "output",
	"pod", "reason", "requirement", "scope", "severity", "stage", "subject", "subnet_id", "target", "upstream", "validation_id", "within",
}

// ownerOf is the value of a label that the operator gives to nodes and validators: that of the alert, of its validator or node, or of the only owner
// of the chain's validators. It is none otherwise, not empty: the series ALERTS would then have the template as its value.
func ownerOf(name string) string {
	template := `{{ if $labels.LABEL }}{{ $labels.LABEL }}{{ else }}{{ if $labels.label }}{{ if eq $labels.label "LABEL" }}{{ $labels.value }}` +
		`{{ else }}none{{ end }}{{ else }}` + site(notOwner) +
		"{{ with query (printf `avax:labels{LABEL!=\"\",validation_id=%q} or on () avax:labels{LABEL!=\"\",node_id=%q} or on () " +
		"avax:labels{%sLABEL!=\"\",node=%q}` (or $labels.validation_id \"-\") (or $labels.node_id \"-\") $site (or $labels.node \"-\")) }}" +
		`{{ . | sortByLabel "LABEL" | first | label "LABEL" }}{{ else }}` +
		"{{ $of := query (printf `count by (LABEL) (avax:labels{%sLABEL!=\"\"} and on (job, node_id) " +
		"last_over_time(avax_l1_validator_weight{%schain=%q}[20m]))` $site $site (or $labels.chain \"-\")) }}" +
		`{{ if and (eq (len $of) 1) (or $labels.parameter $labels.upgrade $labels.address) }}{{ $of | first | label "LABEL" }}{{ else }}none{{ end }}` +
		`{{ end }}{{ end }}{{ end }}`
	return strings.ReplaceAll(template, "LABEL", name)
}

// ownerRules returns, for each label of the operator, the series of nodes and validators with the label, and the number of their alerts.
func ownerRules(owners []string) (rules []Rule) {
	for _, name := range owners {
		expr := strings.NewReplacer("LABEL", name).Replace
		rules = append(rules,
			Rule{Rule: rulefmt.Rule{
				Record: "avax:label", Labels: map[string]string{"label": name},
				Expr: expr(`max by (job, node, node_id, validation_id, value) (label_replace(avax:labels{LABEL!=""}, "value", "$1", "LABEL", "(.+)"))`),
			}},
			Rule{Rule: rulefmt.Rule{
				Record: "avax:label_alerts", Labels: map[string]string{"label": name},
				Expr: expr(`count by (job, severity, value) ` +
					`(label_replace(ALERTS{alertstate="firing", severity=~"page|warn", LABEL!~"|none"}, "value", "$1", "LABEL", "(.+)"))`),
			}})
	}
	return rules
}
