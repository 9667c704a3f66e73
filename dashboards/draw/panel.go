package main

import (
	"fmt"
	"strings"
)

// panel is one panel of a board. Its methods return it, so that a board reads as
// a list of panels.
type panel struct {
	kind, title, about string
	w, h               int
	queries            []query
	defaults, custom   object
	options            object
	overrides          []object
	transformations    []object
	opens              string
}

// query is an expression with the name that its result has in the legend.
type query struct {
	expr, legend string
	format       string
	instant      bool
}

// The colours of good, of what will soon want somebody, and of bad; and of a
// plain fact.
const (
	good  = "green"
	warn  = "orange"
	bad   = "red"
	plain = "text"
)

// step is a colour from a value on; the first has none.
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

// fact has one colour whatever its value.
func fact() object { return steps(step{nil, plain}) }

// low is bad where the value is low: below the page's bar, and below the warning's.
func low(page, warning float64) object {
	return steps(step{nil, bad}, step{page, warn}, step{warning, good})
}

// high is bad where the value is high.
func high(warning, page float64) object {
	return steps(step{nil, good}, step{warning, warn}, step{page, bad})
}

// some is bad from 1 on: something counted that should not be there.
func some(color string) object { return steps(step{nil, good}, step{1.0, color}) }

func newPanel(kind, title, about string, w, h int) *panel {
	return &panel{
		kind: kind, title: title, about: about, w: w, h: h,
		defaults: object{"unit": "none", "thresholds": fact(), "color": object{"mode": "thresholds"}, "mappings": []object{}},
	}
}

// stat is a tile with one value, or one for each query.
func stat(title, about, expr string) *panel {
	p := newPanel("stat", title, about, 6, 3)
	p.queries = []query{{expr: expr, instant: true}}
	p.options = object{
		"colorMode": "none", "graphMode": "none", "justifyMode": "center", "orientation": "vertical",
		"textMode": "value", "reduceOptions": lastValue,
	}
	return p
}

var lastValue = object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}

// graph is a line for each series of the query.
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
	return p
}

// bars is a bar for each series of the query.
func bars(title, about, legend, expr string) *panel {
	p := newPanel("bargauge", title, about, 8, 8)
	p.queries = []query{{expr: expr, legend: legend, instant: true}}
	p.defaults["min"] = 0
	p.options = object{
		"displayMode": "basic", "orientation": "horizontal", "showUnfilled": true, "valueMode": "color",
		"namePlacement": "left", "sizing": "auto", "text": object{"titleSize": 13, "valueSize": 15},
		"minVizHeight": 16, "minVizWidth": 8, "maxVizHeight": 32, "reduceOptions": lastValue,
		"legend": object{"showLegend": false, "displayMode": "list", "placement": "bottom", "calcs": []string{}},
	}
	return p
}

func (p *panel) size(w, h int) *panel { p.w, p.h = w, h; return p }

// unit sets what the value is measured in, and how many decimals are shown.
func (p *panel) unit(unit string, decimals int) *panel {
	p.defaults["unit"], p.defaults["decimals"] = unit, decimals
	return p
}

// judged colours values by these steps; a graph draws them as dashed lines.
func (p *panel) judged(thresholds object) *panel {
	p.defaults["thresholds"] = thresholds
	if p.kind == "stat" {
		p.options["colorMode"] = "background"
	}
	if p.custom != nil && p.kind == "timeseries" {
		p.custom["thresholdsStyle"] = object{"mode": "dashed"}
	}
	return p
}

// reads shows a text in the place of a value.
func (p *panel) reads(value, text, color string) *panel {
	p.defaults["mappings"] = append(p.defaults["mappings"].([]object), mapping(value, text, color))
	return p
}

func mapping(value, text, color string) object {
	return object{"type": "value", "options": object{value: object{"text": text, "color": color, "index": 0}}}
}

// between sets the ends of the axis; nil leaves one open.
func (p *panel) between(low, high any) *panel {
	if low != nil {
		p.defaults["min"] = low
	}
	if high != nil {
		p.defaults["max"] = high
	}
	return p
}

// from sets where the axis begins unless a value is lower.
func (p *panel) from(v float64) *panel { p.custom["axisSoftMin"] = v; return p }

// steady draws values as steps, for what changes seldom.
func (p *panel) steady() *panel { p.custom["lineInterpolation"] = "stepAfter"; return p }

// stacked draws the series on top of each other.
func (p *panel) stacked() *panel {
	p.custom["stacking"] = object{"mode": "normal", "group": "A"}
	p.custom["fillOpacity"] = 20
	return p
}

// also adds a query.
func (p *panel) also(legend, expr string) *panel {
	p.queries = append(p.queries, query{expr: expr, legend: legend, instant: p.queries[0].instant})
	if p.kind == "stat" {
		p.options["textMode"] = "value_and_name"
	}
	return p
}

// painted colours the value of the query with this legend by steps of its own.
func (p *panel) painted(legend string, thresholds object) *panel {
	p.overrides = append(p.overrides, object{
		"matcher": object{"id": "byName", "options": legend}, "properties": []object{prop("thresholds", thresholds)},
	})
	return p
}

// named names the first query's value.
func (p *panel) named(legend string) *panel { p.queries[0].legend = legend; return p }

// none is what the panel says where there is nothing to show.
func (p *panel) none(text string) *panel { p.defaults["noValue"] = text; return p }

// leadsTo makes a click open another board, with the variables and the time.
func (p *panel) leadsTo(b string) *panel { p.opens = b; return p }

// column is a column of a table: what a query gives, or a label that came with one.
type column struct {
	title string
	label string // a label of the first query, for a column of text
	expr  string // or the query whose value it shows
	width int
	props []object
}

// text is a column of a label of the first query.
func text(title, label string, width int) column {
	return column{title: title, label: label, width: width}
}

// value is a column of numbers.
func value(title, expr, unit string, decimals, width int, thresholds object) column {
	c := column{title: title, expr: expr, width: width, props: []object{
		prop("unit", unit), prop("decimals", decimals), prop("mappings", []object{nothing}),
	}}
	if thresholds != nil {
		c.props = append(c.props, prop("thresholds", thresholds), prop("custom.cellOptions", object{"type": "color-text"}))
	}
	return c
}

// yesNo is a column that shows words for 1 and 0.
func yesNo(title, expr, yes, yesColor, no, noColor string, width int) column {
	return column{title: title, expr: expr, width: width, props: []object{
		prop("mappings", []object{mapping("1", yes, yesColor), mapping("0", no, noColor), nothing}),
		prop("custom.cellOptions", object{"type": "color-text"}),
	}}
}

func prop(id string, v any) object { return object{"id": id, "value": v} }

// nothing shows a dash where a value is absent.
var nothing = object{"type": "special", "options": object{"match": "null+nan", "result": object{"text": "–", "color": plain, "index": 0}}}

// table has a row for each value of the label key, and the given columns.
func table(title, about, key string, columns ...column) *panel {
	p := newPanel("table", title, about, 12, 8)
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
		p.transformations = append(p.transformations, object{"id": "joinByField", "options": object{"byField": key, "mode": "outer"}})
	}
	p.transformations = append(p.transformations,
		object{"id": "filterFieldsByName", "options": object{"include": object{"names": seen}}},
		object{"id": "organize", "options": object{"excludeByName": object{}, "indexByName": order, "renameByName": names}})
	return p
}

// withInfo adds a query for the sake of a label, whose column stands among the
// others already.
func (p *panel) withInfo(expr string) *panel {
	p.queries = append(p.queries, query{expr: expr, format: "table", instant: true})
	return p
}

// sorted orders a table's rows by a column, the lowest value first.
func (p *panel) sorted(column string) *panel { return p.sort(column, false) }

// sortedDown orders a table's rows by a column, the highest value first.
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
			"refId": string(rune('A' + i)), "datasource": source, "expr": q.expr, "editorMode": "code",
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
	out := object{
		"type": p.kind, "title": p.title, "description": p.about, "datasource": source,
		"fieldConfig": object{"defaults": p.defaults, "overrides": p.overrides},
		"options":     p.options, "targets": targets,
	}
	if p.transformations != nil {
		out["transformations"] = p.transformations
	}
	if p.opens != "" {
		out["links"] = []object{{
			"title": "Open: " + strings.TrimPrefix(p.opens, "avax-"), "targetBlank": false,
			"url": "/d/" + p.opens + "?${__all_variables}&${__url_time_range}",
		}}
	}
	return out
}
