package main

import "strings"

// object is a JSON object of Grafana's classic dashboard schema.
type object = map[string]any

// board is one dashboard.
type board struct {
	file, uid, title, about string
	variables               []variable
	rows                    []row
}

// row is what answers one question. The first row of a board may have no title:
// it stands at the top without a heading.
type row struct {
	title string // the question, or a plain fact
	text  string // what the row answers, and what to do with the answer
	// panels flow from left to right and wrap at 24 columns.
	panels []*panel
}

// variable is a choice at the top of a board, filled from the values of a label.
type variable struct{ name, label, family, of string }

var (
	nodeVar      = variable{"node", "Node", "avax_node_up", "node"}
	chainVar     = variable{"chain", "Chain", "avax_node_chain_present", "chain"}
	validatorVar = variable{"node_id", "Validator", "avax_validator_present", "node_id"}
	l1Var        = variable{"chain", "L1", "avax_l1_weight", "chain"}
)

func (v variable) json() object {
	query := "label_values(" + v.family + ", " + v.of + ")"
	return object{
		"name": v.name, "label": v.label, "type": "query", "datasource": source,
		"definition": query, "query": object{"query": query, "refId": "variable-" + v.name},
		"refresh": 2, "sort": 1, "multi": true, "includeAll": true, "allValue": ".*",
		"current": object{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}},
		"hide":    0, "regex": "", "options": []object{}, "skipUrlSync": false,
	}
}

// source is the data source that is chosen at the top of the board.
var source = object{"type": "prometheus", "uid": "${datasource}"}

func (b board) json() object {
	variables := []object{{
		"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
		"current": object{}, "hide": 0, "includeAll": false, "multi": false, "options": []object{},
		"refresh": 1, "regex": "", "skipUrlSync": false,
	}}
	for _, v := range b.variables {
		variables = append(variables, v.json())
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

// links lead to the other boards, with the chosen variables and the time.
func (b board) links() []object {
	return []object{{
		"type": "dashboards", "title": "Avalanche", "tags": []string{"avax-exporter"}, "asDropdown": false,
		"includeVars": true, "keepTime": true, "targetBlank": false, "icon": "external link", "tooltip": "", "url": "",
	}}
}

// annotations mark when pages fire.
func (b board) annotations() object {
	return object{"list": []object{{
		"name": "Pages", "enable": true, "hide": false, "iconColor": "red", "datasource": source,
		"expr":        `ALERTS{alertname=~"Avax.*", alertstate="firing", severity="page"}`,
		"titleFormat": "{{alertname}}", "textFormat": "{{node}} {{chain}} {{node_id}}", "step": "60s",
	}}}
}

// panels lays the rows out and gives every panel its id.
func (b board) panels() []object {
	var all []object
	y, id := 0, 0
	put := func(p object, x, w, h int) {
		id++
		p["id"], p["gridPos"] = id, object{"x": x, "y": y, "w": w, "h": h}
		all = append(all, p)
	}
	for _, r := range b.rows {
		if r.title != "" {
			put(object{"type": "row", "title": r.title, "collapsed": false, "panels": []object{}}, 0, 24, 1)
			y++
		}
		if r.text != "" {
			put(object{
				"type": "text", "title": "", "transparent": true,
				"options": object{"mode": "markdown", "content": r.text},
			}, 0, 24, 2)
			y += 2
		}
		x, tallest := 0, 0
		for _, p := range r.panels {
			if x+p.w > 24 {
				y, x, tallest = y+tallest, 0, 0
			}
			put(p.json(), x, p.w, p.h)
			x, tallest = x+p.w, max(tallest, p.h)
		}
		y += tallest
	}
	return all
}

// short puts the first letters of a node ID into the label short, for legends.
func short(expr string) string {
	return `label_replace(` + expr + `, "short", "$1", "node_id", "NodeID-(.{6}).*")`
}

// subnet does the same for a subnet ID; the primary network has its name.
func subnet(expr string) string {
	return `label_replace(label_replace(` + expr + `, "short", "$1", "subnet_id", "(.{6}).*"), "short", "primary network", "subnet_id", "1{32}LpoYY")`
}

// lowest keeps the series that are lowest at the end of the time range, so that
// a graph over a large fleet shows those that matter.
func lowest(expr string) string { return expr + " and bottomk(10, " + atEnd(expr) + ")" }

// highest keeps the series that are highest at the end of the time range.
func highest(expr string) string { return expr + " and topk(10, " + atEnd(expr) + ")" }

// atEnd evaluates every selector of the expression at the end of the time
// range. A selector here is a name of ours with its matchers.
func atEnd(expr string) string {
	var out strings.Builder
	for expr != "" {
		start := strings.Index(expr, "avax_")
		if start < 0 {
			break
		}
		end := start
		for end < len(expr) && (expr[end] == '_' || 'a' <= expr[end] && expr[end] <= 'z' || '0' <= expr[end] && expr[end] <= '9') {
			end++
		}
		for _, brackets := range []string{"{}", "[]"} {
			if end < len(expr) && expr[end] == brackets[0] {
				end += strings.IndexByte(expr[end:], brackets[1]) + 1
			}
		}
		out.WriteString(expr[:end] + " @ end()")
		expr = expr[end:]
	}
	return out.String() + expr
}
