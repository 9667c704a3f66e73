package main

import "strings"

// object is a JSON object of Grafana's classic dashboard schema.
type object = map[string]any

// board is one dashboard.
type board struct {
	file, uid, title, about string
	variables               []variable
	rows                    []row
	logs                    bool // has panels with logs
}

// row answers one question. The first row of a dashboard may have no title.
type row struct {
	title string // the question or the fact
	text  string // what the row answers, and what to do then
	// collapsed marks a row about something that not every operator has.
	collapsed bool
	// panels flow from left to right and wrap at 24 columns.
	panels []*panel
}

// variable is a selection at the top of a dashboard.
type variable struct {
	name, label string
	query       string
	regex       string // selects text and value from the query's result
	all         string // value that means all; empty: each value by name
}

// labelValues returns a variable with the values of a label.
func labelValues(name, label, series, of string) variable {
	return variable{name: name, label: label, query: "label_values(" + series + ", " + of + ")", all: ".*"}
}

var (
	// A network is selected by the jobs of its exporters. With all networks, an exporter without any answering node is included
	// too.
	networkVar = labelValues("network", "Network", "avax_node_info", "network")
	jobVar     = variable{name: "job", label: "Job", query: `label_values({__name__=~"avax_exporter_targets|avax_node_info", network=~"$network"}, job)`}

	nodeVar  = labelValues("node", "Node", `avax_node_up{job=~"$job"}`, "node")
	chainVar = labelValues("chain", "Chain", `avax_node_chain_present{job=~"$job"}`, "chain")
	l1Var    = labelValues("chain", "L1", `avax_l1_weight{job=~"$job"}`, "chain")

	validatorVar   = namedValidators("avax_validator_present")
	l1ValidatorVar = namedValidators("avax_l1_validator_info")
)

// namedValidators returns a variable with the validators that have the family, by name.
func namedValidators(family string) variable {
	return variable{
		name: "node_id", label: "Validator", all: ".*",
		query: "query_result(" + named(`max by (node_id) (last_over_time(`+family+`{job=~"$job"}[$__range]))`) + ")",
		regex: `/name="(?<text>[^"]*)".*node_id="(?<value>[^"]*)"/`,
	}
}

func (v variable) json() object {
	out := object{
		"name": v.name, "label": v.label, "type": "query", "datasource": source,
		"definition": v.query, "query": object{"query": v.query, "refId": "variable-" + v.name},
		"refresh": 2, "sort": 1, "multi": true, "includeAll": true,
		"current": object{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}},
		"hide":    0, "regex": v.regex, "options": []object{}, "skipUrlSync": false,
	}
	if v.all != "" {
		out["allValue"] = v.all
	}
	return out
}

// source is the data source that is selected at the top of the dashboard; lokiSource is that of the logs.
var (
	source     = object{"type": "prometheus", "uid": "${datasource}"}
	lokiSource = object{"type": "loki", "uid": "${loki}"}
)

// sourceVariable returns a variable that selects a data source.
func sourceVariable(name, label, kind string) object {
	return object{
		"name": name, "label": label, "type": "datasource", "query": kind,
		"current": object{}, "hide": 0, "includeAll": false, "multi": false, "options": []object{},
		"refresh": 1, "regex": "", "skipUrlSync": false,
	}
}

func (b board) json() object {
	variables := []object{sourceVariable("datasource", "Data source", "prometheus")}
	for _, v := range append([]variable{networkVar, jobVar}, b.variables...) {
		variables = append(variables, v.json())
	}
	if b.logs {
		variables = append(variables, sourceVariable("loki", "Logs", "loki"))
	}
	return object{
		"uid": b.uid, "title": "Avalanche: " + b.title, "description": b.about,
		"tags": []string{"avalanche", "avax-exporter"}, "schemaVersion": 39, "version": 1, "id": nil,
		"editable": true, "graphTooltip": 1, "refresh": "30s", "liveNow": false, "fiscalYearStartMonth": 0,
		"time": object{"from": "now-6h", "to": "now"}, "timepicker": object{}, "timezone": "browser", "weekStart": "",
		"links": b.links(), "annotations": b.annotations(),
		"templating": object{"list": variables},
		"panels":     b.panels(),
	}
}

// links returns links to the other dashboards, which keep the variables and the time range.
func (b board) links() []object {
	return []object{{
		"type": "dashboards", "title": "Avalanche", "tags": []string{"avax-exporter"}, "asDropdown": false,
		"includeVars": true, "keepTime": true, "targetBlank": false, "icon": "external link", "tooltip": "", "url": "",
	}}
}

// annotations mark events of nodes and of the network.
func (b board) annotations() object {
	mark := func(name, color, title, text, expr string) object {
		return object{
			"name": name, "enable": true, "hide": false, "iconColor": color, "datasource": source,
			"expr": expr, "titleFormat": title, "textFormat": text, "step": "60s", "useValueForTime": false,
		}
	}
	const subject = "{{node}} {{chain}} {{node_id}}"
	up := maxOf("avax_node_up")
	upgrades := mark("Upgrades", "#8AB8FF", "upgrade {{upgrade}}", "{{chain}}",
		"1000 * max by (upgrade) ("+of("avax_upgrade_timestamp_seconds")+") or 1000 * max by (chain, upgrade) ("+of("avax_chain_upgrade_timestamp_seconds")+")")
	upgrades["useValueForTime"] = true
	changed := maxOf("avax_chain_fee_config_last_changed_block")
	return object{"list": []object{
		mark("Pages", bad, "page: {{alertname}}", subject, firing(everyAlert, `severity="page"`)),
		mark("Warnings", warn, "warning: {{alertname}}", subject, firing(everyAlert, `severity="warn"`)),
		mark("Restarts", "#CCCCDC", "up again", "{{node}}",
			"group by (node) ("+up+" == 1 and "+at(up, "offset 1m")+" == 0) or group by (node) (time() - avalanche_process_process_start_time_seconds < 60)"),
		upgrades,
		mark("Fee changes", "#B877D9", "fee configuration changed", "{{chain}}", "group by (chain) ("+changed+" != "+at(changed, "offset 1m")+")"),
	}}
}

// at adds a modifier to the selector of maxOf or minOf.
func at(selection, modifier string) string {
	return strings.Replace(selection, "})", "} "+modifier+")", 1)
}

// panels computes the layout of the rows and gives every panel its id.
func (b board) panels() []object {
	all := []object{}
	y, id := 0, 0
	put := func(into *[]object, p object, x, w, h int) {
		id++
		p["id"], p["gridPos"] = id, object{"x": x, "y": y, "w": w, "h": h}
		*into = append(*into, p)
	}
	for _, r := range b.rows {
		into, within := &all, []object{}
		var heading object
		if r.title != "" {
			heading = object{"type": "row", "title": r.title, "collapsed": r.collapsed}
			put(&all, heading, 0, 24, 1)
			y++
		}
		if r.collapsed {
			into = &within
		}
		if r.text != "" {
			put(into, object{
				"type": "text", "title": "", "transparent": true, "pluginVersion": grafana,
				"options": object{"mode": "markdown", "content": r.text},
			}, 0, 24, 2)
			y += 2
		}
		x, tallest := 0, 0
		for _, p := range r.panels {
			if x+p.w > 24 {
				y, x, tallest = y+tallest, 0, 0
			}
			put(into, p.json(), x, p.w, p.h)
			x, tallest = x+p.w, max(tallest, p.h)
		}
		y += tallest
		if heading != nil {
			heading["panels"] = within
		}
	}
	return all
}
