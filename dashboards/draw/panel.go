package main

import (
	"fmt"
	"strings"
)

// panel is one panel of a dashboard. Its methods return it, so that calls can be chained.
type panel struct {
	kind, title, about string
	w, h               int
	queries            []query
	defaults, custom   object
	options            object
	overrides          []object
	transformations    []object
	opens              string
	source             object
}

// query is an expression with the legend of its result.
type query struct {
	expr, legend string
	format       string
	instant      bool
}

// Colors. Normal values have none: a table cell, tile or graph keeps the background, and a bar or a timeline is grey. White text
// on each has a contrast of at least 4.5. Both differ in lightness, so that color-blind readers can distinguish them.
const (
	good  = "fine" // replaced when the panel is written
	warn  = "#B85C00"
	bad   = "#8F1018"
	plain = "text"
	blank = "transparent"
	grey  = "#5A6B7B"
)

// step is a color from a value on; the first has no value.
type step struct {
	from  any
	color string
}

func steps(all ...step) object {
	var list []object
	for _, s := range all {
		list = append(list, object{"color": s.color, "value": s.from})
	}
	return object{"mode": "absolute", "steps": list}
}

// fact has one color for all values.
func fact() object { return steps(step{nil, plain}) }

// some is bad from 1 on, for counts that should be 0.
func some(color string) object { return steps(step{nil, good}, step{1.0, color}) }

func newPanel(kind, title, about string, w, h int) *panel {
	return &panel{
		kind: kind, title: title, about: about, w: w, h: h, source: source,
		defaults: object{"unit": "none", "thresholds": fact(), "color": object{"mode": "thresholds"}, "mappings": []object{}},
	}
}

// stat returns a tile with one value per query.
func stat(title, about, expr string) *panel {
	p := newPanel("stat", title, about, 4, 3)
	p.queries = []query{{expr: expr, instant: true}}
	p.options = object{
		"colorMode": "none", "graphMode": "none", "justifyMode": "center", "orientation": "vertical",
		"textMode": "value", "reduceOptions": lastValue, "text": object{"titleSize": 12, "valueSize": 22}, "wideLayout": false,
	}
	return p.none(noData)
}

// line spreads tiles over the width of the dashboard.
func line(tiles ...*panel) []*panel {
	for _, p := range tiles {
		p.w = 24 / len(tiles)
	}
	return tiles
}

var lastValue = object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}

// graph returns a panel with a line per series.
func graph(title, about, legend, expr string) *panel {
	p := newPanel("timeseries", title, about, 8, 8)
	p.queries = []query{{expr: expr, legend: legend}}
	p.defaults["color"] = object{"mode": "palette-classic"}
	p.custom = object{
		"drawStyle": "line", "lineWidth": 1, "fillOpacity": 0, "showPoints": "never", "spanNulls": false,
		"stacking": object{"mode": "none", "group": "A"}, "thresholdsStyle": object{"mode": "off"},
	}
	p.options = object{
		"legend":  object{"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []string{}},
		"tooltip": object{"mode": "multi", "sort": "asc"},
	}
	return p.none(noData)
}

// timeline returns a panel with a row of colored time ranges per series.
func timeline(title, about, legend, expr string) *panel {
	p := newPanel("state-timeline", title, about, 12, 7)
	p.queries = []query{{expr: expr, legend: legend}}
	p.custom = object{"lineWidth": 0, "fillOpacity": 100, "spanNulls": false}
	p.options = object{
		"mergeValues": true, "showValue": "auto", "alignValue": "left", "rowHeight": 0.85,
		"legend":  object{"displayMode": "list", "placement": "bottom", "showLegend": false, "calcs": []string{}},
		"tooltip": object{"mode": "single", "sort": "none"},
	}
	return p.none(noData)
}

// logs returns a panel with the lines that a query of Loki selects, the newest first.
func logs(title, about, expr string) *panel {
	p := newPanel("logs", title, about, 24, 10)
	p.source, p.queries = lokiSource, []query{{expr: expr}}
	p.options = object{
		"showTime": true, "showLabels": false, "showCommonLabels": false, "wrapLogMessage": true, "prettifyLogMessage": false,
		"enableLogDetails": true, "dedupStrategy": "none", "sortOrder": "Descending",
	}
	return p
}

// bars returns a panel with a bar per series, the lowest first.
func bars(title, about, legend, expr string) *panel {
	p := newPanel("bargauge", title, about, 8, 8)
	p.queries = []query{{expr: "sort(" + expr + ")", legend: legend, instant: true}}
	p.defaults["min"] = 0
	p.options = object{
		"displayMode": "basic", "orientation": "horizontal", "showUnfilled": true, "valueMode": "text",
		"namePlacement": "left", "sizing": "auto", "text": object{"titleSize": 13, "valueSize": 15},
		"minVizHeight": 16, "minVizWidth": 8, "maxVizHeight": 32, "reduceOptions": lastValue,
		"legend": object{"showLegend": false, "displayMode": "list", "placement": "bottom", "calcs": []string{}},
	}
	return p.none(noData)
}

func (p *panel) size(w, h int) *panel { p.w, p.h = w, h; return p }

// unit sets the unit and the number of decimals.
func (p *panel) unit(unit string, decimals int) *panel {
	p.defaults["unit"], p.defaults["decimals"] = unit, decimals
	if p.kind == "timeseries" && unit == "dtdhms" {
		p.custom["axisWidth"] = 110 // else the first digit of 231 days is cut
	}
	return p
}

// judged colors values by these steps; a graph shows them as areas.
func (p *panel) judged(thresholds object) *panel {
	p.defaults["thresholds"] = thresholds
	if p.kind == "stat" {
		p.options["colorMode"] = "background_solid"
	}
	if p.custom != nil && p.kind == "timeseries" {
		p.custom["thresholdsStyle"] = object{"mode": "area"}
	}
	return p
}

// faults is for the number of faults: 0 shows a text, and each fault the color.
func (p *panel) faults(color, none string) *panel {
	return p.unit("none", 0).judged(some(color)).reads("0", none, good)
}

// reads shows a text instead of a value.
func (p *panel) reads(value, text, color string) *panel {
	p.defaults["mappings"] = append(p.defaults["mappings"].([]object), mapping(value, text, color))
	return p
}

// mapped shows texts instead of values.
func (p *panel) mapped(mappings []object) *panel { p.defaults["mappings"] = mappings; return p }

func mapping(value, text, color string) object {
	return object{"type": "value", "options": object{value: object{"text": text, "color": color, "index": 0}}}
}

// between sets the limits of the axis; nil leaves one open.
func (p *panel) between(low, high any) *panel {
	if low != nil {
		p.defaults["min"] = low
	}
	if high != nil {
		p.defaults["max"] = high
	}
	return p
}

// from and upTo set soft limits of the axis.
func (p *panel) from(v float64) *panel { p.custom["axisSoftMin"] = v; return p }
func (p *panel) upTo(v float64) *panel { p.custom["axisSoftMax"] = v; return p }

// shares is for ratios from 0 to 1, most of them near 1: the axis shows everything from this value on, or more if a value is
// lower.
func (p *panel) shares(from float64) *panel {
	p.defaults["max"] = 1
	return p.unit("percentunit", 1).from(from)
}

// counts sets an axis from 0 that does not stretch small numbers.
func (p *panel) counts() *panel { return p.unit("none", 0).between(0, nil).upTo(5) }

// steady draws values as steps, for values that rarely change.
func (p *panel) steady() *panel { p.custom["lineInterpolation"] = "stepAfter"; return p }

// stacked stacks the series.
func (p *panel) stacked() *panel {
	p.custom["stacking"] = object{"mode": "normal", "group": "A"}
	p.custom["fillOpacity"] = 20
	return p
}

// graded colors by grades. A tile also shows the name of the grade.
func (p *panel) graded(grades []grade) *panel {
	if p.kind == "stat" {
		p.queries[0].expr = inWords(p.queries[0].expr, grades)
		p.legend("{{state}}")
	}
	return p.judged(colors(grades))
}

// legend sets the legend of the query.
func (p *panel) legend(legend string) *panel {
	p.queries[0].legend = legend
	if p.kind == "stat" {
		p.options["textMode"] = "value_and_name"
	}
	return p
}

// painted colors the value with this name by its own steps.
func (p *panel) painted(legend string, thresholds object) *panel {
	p.overrides = append(p.overrides, object{
		"matcher": object{"id": "byName", "options": legend}, "properties": []object{prop("thresholds", thresholds)},
	})
	return p
}

// none sets the text of an empty panel. A tile shows it only while an exporter is scraped: without one, nothing is known.
func (p *panel) none(text string) *panel {
	if p.kind == "stat" && text != noData {
		p.queries[0].expr += ` or on () label_replace(0 * group(` + exporters + `) - 1, "state", "–", "", "")`
		return p.reads("-1", text, good)
	}
	p.defaults["noValue"] = text
	return p
}

// leadsTo makes a click open another dashboard, with the variables and the time range.
func (p *panel) leadsTo(b string) *panel { p.opens = b; return p }

// column is a column of a table: the value of a query, or a label of its series.
type column struct {
	title string
	label string // label of the first query, for a text column
	expr  string // or the query of its value
	width int
	props []object
}

// text returns a text column with a label of the first query.
func text(title, label string, width int) column {
	return column{title: title, label: label, width: width}
}

// value returns a column of numbers.
func value(title, expr, unit string, decimals, width int, thresholds object) column {
	c := column{title: title, expr: expr, width: width, props: []object{
		prop("unit", unit), prop("decimals", decimals), prop("mappings", []object{nothing}),
	}}
	if thresholds != nil {
		c.props = append(c.props, prop("thresholds", thresholds), prop("custom.cellOptions", filled))
	}
	return c
}

// orElse shows a dash for the series that the function orElse adds.
func (c column) orElse() column {
	c.props = append(c.props, prop("mappings", []object{mapping("-1", "–", good), nothing}))
	return c
}

// filled is a cell with a colored background.
var filled = object{"type": "color-background", "mode": "basic"}

// states returns a column of numbers that are shown as words.
func states(title, expr string, width int, mappings ...object) column {
	return column{title: title, expr: expr, width: width, props: []object{
		prop("mappings", append(mappings, nothing)), prop("custom.cellOptions", filled),
	}}
}

// hidden returns a column that only links use.
func hidden(title, label string) column {
	return column{title: title, label: label, props: []object{prop("custom.hidden", true)}}
}

// to makes each cell of the column open another dashboard about the row. It keeps the time range and the selected data
// source, network and job. vars are names of variables, each followed by the column with its value.
func (c column) to(board string, vars ...string) column {
	variables := selected
	for i := 0; i+1 < len(vars); i += 2 {
		variables += "&var-" + vars[i] + "=${__data.fields[\"" + vars[i+1] + "\"]}"
	}
	c.props = append(c.props, prop("links", linkTo(board, variables)))
	return c
}

// yesNo returns a column that shows words for 1 and 0.
func yesNo(title, expr, yes, yesColor, no, noColor string, width int) column {
	return states(title, expr, width, mapping("1", yes, yesColor), mapping("0", no, noColor))
}

func prop(id string, v any) object { return object{"id": id, "value": v} }

// nothing shows a dash for an absent value.
var nothing = object{"type": "special", "options": object{"match": "null+nan", "result": object{"text": "–", "color": good, "index": 0}}}

// table returns a table with the given columns, and a row per combination of the labels that its queries share. The first
// column with a query must have all displayed labels.
func table(title, about string, columns ...column) *panel {
	p := newPanel("table", title, about, 12, 8).none(noData)
	p.custom = object{"align": "left", "cellOptions": object{"type": "auto"}, "filterable": false}
	p.options = object{
		"showHeader": true, "cellHeight": "sm", "sortBy": []object{},
		"footer": object{"show": false, "reducer": []string{}, "fields": ""},
	}
	names, order, seen := object{}, object{}, []string{}
	for i, c := range columns {
		field := c.label
		if c.expr != "" {
			field = fmt.Sprintf("Value #%c", 'A'+len(p.queries))
			p.queries = append(p.queries, query{expr: c.expr, format: "table", instant: true})
		}
		names[field], order[field] = c.title, i
		seen = append(seen, field)
		props := c.props
		if c.width > 0 {
			props = append(props, prop("custom.width", c.width))
		}
		if len(props) > 0 {
			p.overrides = append(p.overrides, object{
				"matcher": object{"id": "byName", "options": c.title}, "properties": props,
			})
		}
	}
	if len(p.queries) == 1 {
		names["Value"], order["Value"] = names["Value #A"], order["Value #A"]
		for i := range seen {
			if seen[i] == "Value #A" {
				seen[i] = "Value"
			}
		}
	} else {
		p.transformations = append(p.transformations, object{"id": "merge", "options": object{}})
	}
	p.transformations = append(p.transformations,
		object{"id": "filterFieldsByName", "options": object{"include": object{"names": seen}}},
		object{"id": "organize", "options": object{"excludeByName": object{}, "indexByName": order, "renameByName": names}})
	return p
}

// withInfo adds a query for a label whose column already exists.
func (p *panel) withInfo(expr string) *panel {
	p.queries = append(p.queries, query{expr: expr, format: "table", instant: true})
	return p
}

// sorted sorts a table by a column, lowest value first.
func (p *panel) sorted(column string) *panel { return p.sort(column, false) }

// sortedDown sorts a table by a column, highest value first.
func (p *panel) sortedDown(column string) *panel { return p.sort(column, true) }

func (p *panel) sort(column string, desc bool) *panel {
	p.transformations = append(p.transformations, object{"id": "sortBy", "options": object{
		"fields": object{}, "sort": []object{{"field": column, "desc": desc}},
	}})
	return p
}

func (p *panel) json() object {
	var targets []object
	for i, q := range p.queries {
		t := object{
			"refId": string(rune('A' + i)), "datasource": p.source, "expr": q.expr, "editorMode": "code",
			"instant": q.instant, "range": !q.instant,
		}
		if q.legend != "" {
			t["legendFormat"] = q.legend
		}
		if q.format != "" {
			t["format"] = q.format
		}
		targets = append(targets, t)
	}
	if p.custom != nil {
		p.defaults["custom"] = p.custom
	}
	if p.overrides == nil {
		p.overrides = []object{}
	}
	color := blank
	if p.kind == "bargauge" || p.kind == "state-timeline" {
		color = grey
	}
	p.defaults, p.overrides = fine(p.defaults, color).(object), fine(p.overrides, color).([]object)
	out := object{
		"type": p.kind, "title": p.title, "description": p.about, "datasource": p.source, "pluginVersion": grafana,
		"fieldConfig": object{"defaults": p.defaults, "overrides": p.overrides},
		"options":     p.options, "targets": targets,
	}
	if p.transformations != nil {
		out["transformations"] = p.transformations
	}
	if p.opens != "" {
		out["links"] = linkTo(p.opens, "${__all_variables}")
	}
	return out
}

// grafana is the Grafana version of this panel format. Later versions convert it.
const grafana = "10.4.0"

// fine replaces the color of normal values.
func fine(v any, color string) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for key, value := range v {
			out[key] = fine(value, color)
		}
		return out
	case []object:
		out := []object{}
		for _, item := range v {
			out = append(out, fine(item, color).(object))
		}
		return out
	case string:
		if v == good {
			return color
		}
	}
	return v
}

// opening makes each line or bar open another dashboard about its subject.
func (p *panel) opening(board, variable, label string) *panel {
	p.defaults["links"] = linkTo(board, selected+"&var-"+variable+"=${__field.labels."+label+"}")
	return p
}

// selected are the selected data source, network and job as parameters of a link.
const selected = "${datasource:queryparam}&${network:queryparam}&${job:queryparam}"

// linkTo returns a link to another dashboard with these variables and the time range.
func linkTo(board, variables string) []object {
	return []object{{"title": "Open: " + strings.TrimPrefix(board, "avax-"), "targetBlank": false,
		"url": "/d/" + board + "?" + variables + "&${__url_time_range}"}}
}
