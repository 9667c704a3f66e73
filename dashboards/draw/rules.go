package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
)

type group struct {
	Name  string
	Rules []struct {
		Record, Alert, Expr string
		Labels              map[string]string
	}
}

// groups are the groups of the built-in alert rules.
var groups = func() []group {
	var file struct{ Groups []group }
	if err := yaml.Unmarshal(alerts.Rules, &file); err != nil {
		fatal("alerts: %v", err)
	}
	return file.Groups
}()

// bar is the threshold of an alert: the one with this severity, and with this
// label within where there are several.
func bar(alert, severity string, within ...string) float64 {
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Record == "avax:threshold" && r.Labels["alert"] == alert &&
				(severity == "" || r.Labels["severity"] == severity) &&
				(len(within) == 0 || r.Labels["within"] == within[0]) {
				return product(r.Expr)
			}
		}
	}
	fatal("the rules have no threshold for %s %s %s", alert, severity, within)
	return 0
}

var vector = regexp.MustCompile(`^vector\((.*)\)$`)

// product reckons vector(a * b * c), the form that thresholds have.
func product(expr string) float64 {
	m := vector.FindStringSubmatch(strings.TrimSpace(expr))
	if m == nil {
		fatal("the threshold %s is no vector(…)", expr)
	}
	v := 1.0
	for factor := range strings.SplitSeq(m[1], "*") {
		f, err := strconv.ParseFloat(strings.TrimSpace(factor), 64)
		if err != nil {
			fatal("the threshold %s: %v", expr, err)
		}
		v *= f
	}
	return v
}

// lowBy and highBy colour by an alert's own bars.
func lowBy(alert string) object  { return low(bar(alert, "page"), bar(alert, "warn")) }
func highBy(alert string) object { return high(bar(alert, "warn"), bar(alert, "page")) }

// alertsOf is a pattern of the names of the alerts in these groups.
func alertsOf(names ...string) string {
	var found []string
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Alert != "" && slices.Contains(names, g.Name) && !slices.Contains(found, r.Alert) {
				found = append(found, r.Alert)
			}
		}
	}
	if len(found) == 0 {
		fatal("the rules have no alert in the groups %s", names)
	}
	return strings.Join(found, "|")
}

// firing is a table of the alerts that fire, pages first, of those the ones that
// fire longest. The watchdog at its end says that the rules are evaluated at all.
func firing(names string) *panel {
	const subject = `"collector", "target", "upstream", "upgrade", "node", "chain", "node_id", "address"`
	labels := `{alertname=~"` + names + `|AvaxWatchdog", severity=~"page|warn|none"}`
	expr := `(time() - ALERTS_FOR_STATE` + labels + `) and ignoring (alertstate) ALERTS` + strings.Replace(labels, "{", `{alertstate="firing", `, 1)
	expr = `label_replace(label_join(` + expr + `, "subject", " ", ` + subject + `), "subject", "$1", "subject", " *(.*?) *")`
	expr = `label_replace(` + expr + `, "subject", "alerting works", "subject", "")`
	for order, severity := range []string{"page", "warn", "none"} {
		expr = fmt.Sprintf(`label_replace(%s, "severity", "%d", "severity", "%s")`, expr, order+1, severity)
	}
	p := table("Which alerts fire?", "Firing pages, then warnings, those first that fire longest. The alert's name opens its runbook. The watchdog always fires: without it, Prometheus does not evaluate the rules.", "",
		column{title: "Severity", label: "severity", width: 75, props: []object{
			prop("mappings", []object{{"type": "value", "options": object{
				"1": object{"text": "page", "color": bad, "index": 0},
				"2": object{"text": "warn", "color": warn, "index": 1},
				"3": object{"text": "fine", "color": good, "index": 2},
			}}}),
			prop("custom.cellOptions", object{"type": "color-text"}),
		}},
		column{title: "Alert", label: "alertname", width: 215, props: []object{prop("links", []object{{
			"title": "Runbook", "url": "https://github.com/avax-exporter/avax-exporter/blob/main/docs/runbooks/${__value.raw}.md", "targetBlank": true,
		}})}},
		text("About", "subject", 0),
		value("For", expr, "s", 0, 90, nil),
	)
	return p.none("The rules are not evaluated").sortedDown("For").sorted("Severity")
}
