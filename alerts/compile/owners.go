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
			r.Labels[name] = OwnerOf(name, r.Alert)
		}
	}
}

// labelsOf is the record with the labels of nodes and validators.
const labelsOf = "avax:labels"

// notOwner are the labels of alerts that do not say on which site the owner's node or validator is.
var notOwner = []string{
	"__name__", "alertgroup", "alertname", "cause", "chain", "check", "collector", "fact", "instance", "ip", "level", "node", "node_id", "noticed", "objective",
	"output", "pod", "reason", "requirement", "scope", "severity", "stage", "subject", "subnet_id", "target", "upstream", "validation_id", "within",
}

// OwnerOf returns the value of a label that the operator gives to nodes and validators: that of the alert, of its validator or node, or of the only owner
// of the chain's validators. It is none otherwise, not empty: the series ALERTS would then have the template as its value. While the alert lasts, the value
// stays: whose the fault is does not depend on what is known later, or no longer, or on who has the name now. Only "none" may become known until it fires.
func OwnerOf(name, alert string) string {
	// An alert about several nodes, or about an L1, is one for each owner.
	const one, about = `(and (or $labels.validation_id $labels.node_id $labels.node) "ALERT")`, `%[2]snode=%[3]q,node_id=%[4]q,validation_id=%[5]q,`
	template := `{{ if $labels.LABEL }}{{ $labels.LABEL }}{{ else }}{{ if $labels.label }}{{ if eq $labels.label "LABEL" }}{{ $labels.value }}` +
		`{{ else }}none{{ end }}{{ else }}` + site(notOwner) +
		"{{ with query (printf `last_over_time(ALERTS{alertname=%[1]q," + about + "LABEL!~\"|none\"}[20m]) or on () " +
		"last_over_time(ALERTS{alertname=%[1]q," + about + "alertstate=\"firing\",LABEL=\"none\"}[20m])` " + one +
		` $site (or $labels.node "") (or $labels.node_id "") (or $labels.validation_id "")) }}` +
		`{{ . | sortByLabel "LABEL" | first | label "LABEL" }}{{ else }}` +
		"{{ with query (printf `avax:labels{LABEL!=\"\",validation_id=%q} or on () avax:labels{LABEL!=\"\",node_id=%q} or on () " +
		"avax:labels{%sLABEL!=\"\",node=%q}` (or $labels.validation_id \"-\") (or $labels.node_id \"-\") $site (or $labels.node \"-\")) }}" +
		`{{ . | sortByLabel "LABEL" | first | label "LABEL" }}{{ else }}` +
		"{{ $of := query (printf `count by (LABEL) (avax:labels{%sLABEL!=\"\"} and on (job, node_id) " +
		"last_over_time(avax_l1_validator_weight{%schain=%q}[20m]))` $site $site (or $labels.chain \"-\")) }}" +
		`{{ if and (eq (len $of) 1) (or $labels.parameter $labels.upgrade $labels.address) }}{{ $of | first | label "LABEL" }}{{ else }}none{{ end }}` +
		`{{ end }}{{ end }}{{ end }}{{ end }}`
	template = strings.ReplaceAll(template, "ALERT\"", alert+"\"")
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
