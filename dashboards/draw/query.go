package main

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

// Matchers of the variables. Every selector of the exporter's series also has that of the job: see of.
const (
	onNodes      = `node=~"$node"`
	onChains     = `chain=~"$chain"`
	onValidators = `node_id=~"$node_id"`
)

// of selects a family in the selected jobs.
func of(family string, matchers ...string) string {
	return family + "{" + strings.Join(append([]string{`job=~"$job"`}, matchers...), ", ") + "}"
}

// maxOf and minOf merge the replicas of an exporter, which differ only by instance and pod. They take the highest and the
// lowest value.
func maxOf(family string, matchers ...string) string {
	return "max without (instance, pod) (" + of(family, matchers...) + ")"
}

func minOf(family string, matchers ...string) string {
	return "min without (instance, pod) (" + of(family, matchers...) + ")"
}

// number counts the series of all that meet the condition, such as "== 0". It is 0 if none does, and absent without series.
func number(all, condition string) string {
	return "count(" + all + " " + condition + ") or 0 * count(" + all + ")"
}

// orElse adds a series of -1 with this text in a label if expr is empty and present is not. A table then shows that there is
// nothing, and is empty only without data. The column shows a dash.
func orElse(expr, present, label, text string) string {
	return fmt.Sprintf(`%s or on () label_replace(-1 * group(%s), "%s", "%s", "", "")`, expr, present, label, text)
}

// scaled divides by a unit.
func scaled(expr string, unit float64) string { return fmt.Sprintf("(%s) / %g", expr, unit) }

// inNanoAVAX converts wei to nAVAX.
func inNanoAVAX(expr string) string { return scaled(expr, 1e9) }

// day is in seconds.
const day = 86400.0

// names has a series for each node ID or validation ID with a name, which is in this label: that of avax:validator_name, and without rules that
// of the configured node. A validator that is gone keeps the name of the last day.
func names(id, label string) string {
	known := `last_over_time(avax:validator_name{job=~"$job", ` + id + `!=""}[1d] @ end())`
	if id == "node_id" {
		known += ` or last_over_time(avax_node_identity_info{job=~"$job"}[1d] @ end())`
	}
	return `label_replace(bottomk by (` + id + `) (1, max by (node, ` + id + `) (` + known + `)), "` + label + `", "$1", "node", "(.+)")`
}

// ownIDs has a series per configured node, with its ID in node_id. A node that is down keeps the ID of the last day.
const ownIDs = `bottomk by (job, node) (1, max by (job, node, node_id) (last_over_time(avax_node_identity_info{job=~"$job"}[1d] @ end())))`

// named sets the label name of a validator: its name, or the first six letters of its node ID.
func named(expr string) string { return namedAs("name", expr) }

// namedAs does the same with another label.
func namedAs(label, expr string) string {
	return `(` + expr + `) * on (node_id) group_left (` + label + `) ` + names("node_id", label) +
		` or label_replace((` + expr + `) unless on (node_id) ` + names("node_id", label) + `, "` + label + `", "$1", "node_id", "NodeID-(.{6}).*")`
}

// namedL1 does the same for validators of L1s: the name of the validation ID comes first.
func namedL1(expr string) string {
	return `(` + expr + `) * on (validation_id) group_left (name) ` + names("validation_id", "name") + ` or on (chain, node_id, validation_id) (` + named(expr) +
		`)`
}

// namedItem sets the label name of a monitored address, asset or NFT: its name in the configuration, or what these labels join to.
func namedItem(on, join, expr string) string {
	names := `bottomk by (` + on + `) (1, max by (name, ` + on + `) (last_over_time(avax_watch_labels{job=~"$job"}[1d] @ end())))`
	return `(` + expr + `) * on (` + on + `) group_left (name) ` + names +
		` or label_join((` + expr + `) unless on (` + on + `) ` + names + `, "name", ` + join + `)`
}

// namedAddress does so for addresses and assets.
func namedAddress(expr string) string {
	return namedItem("address, asset_id", `"", "address", "asset_id"`, expr)
}

// ofNodes converts series about nodes to series about their validators.
func ofNodes(expr string) string {
	return `(` + expr + `) * on (job, node) group_left (node_id) ` + ownIDs
}

// subnetName sets the label name to that of the subnet's chain, to the primary network, or to the first letters of the subnet's ID.
func subnetName(expr string) string {
	names := `label_replace(bottomk by (subnet_id) (1, max by (chain, subnet_id) (last_over_time(avax_chain_info{job=~"$job", subnet_id!~"1{32}LpoYY"}[1d] ` +
		`@ end()))), "name", "$1", "chain", "(.+)")`
	return `(` + expr + `) * on (subnet_id) group_left (name) ` + names + ` or label_replace(label_replace((` + expr + `) unless on (subnet_id) ` + names +
		`, "name", "$1", "subnet_id", "(.{6}).*"), "name", "primary network", "subnet_id", "1{32}LpoYY")`
}

// lowest selects the ten series that are lowest at the end of the time range, for graphs of large fleets.
func lowest(expr string) string { return expr + " and bottomk(10, " + atEnd(expr) + ")" }

// highest selects the ten series that are highest at the end of the time range.
func highest(expr string) string { return expr + " and topk(10, " + atEnd(expr) + ")" }

// atEnd evaluates every selector of the expression at the end of the time range. A series that ended before counts with its last
// value. A selector is one of our names with its matchers.
func atEnd(expr string) string {
	return ours.ReplaceAllString(expr, "last_over_time($0[$$__range] @ end())")
}

var ours = regexp.MustCompile(`avax[a-z0-9_:]*(\{[^}]*\})?`)

// grade is a range of values with its meaning.
type grade struct {
	below float64 // infinite for the last one
	color string
	words string
}

// lowGrades returns the grades of an alert that fires below its thresholds. A threshold that the alert does not have is NaN. show
// formats a threshold.
func lowGrades(page, warning float64, show func(float64) string) (all []grade) {
	if !math.IsNaN(page) {
		all = append(all, grade{page, bad, "page: below " + show(page)})
	}
	if !math.IsNaN(warning) {
		all = append(all, grade{warning, warn, "warning: below " + show(warning)})
	}
	last := all[len(all)-1].below
	return append(all, grade{math.Inf(1), good, "fine: " + show(last) + " or more"})
}

// highGrades returns the grades of an alert that fires above its thresholds.
func highGrades(warning, page float64, show func(float64) string) (all []grade) {
	first := warning
	if math.IsNaN(warning) {
		first = page
	}
	all = append(all, grade{first, good, "fine: below " + show(first)})
	if !math.IsNaN(page) && !math.IsNaN(warning) {
		all = append(all, grade{page, warn, "warning: " + show(warning) + " or more"})
	}
	if !math.IsNaN(page) {
		return append(all, grade{math.Inf(1), bad, "page: " + show(page) + " or more"})
	}
	return append(all, grade{math.Inf(1), warn, "warning: " + show(warning) + " or more"})
}

// inWords sets the label state to the name of the grade.
func inWords(expr string, grades []grade) string {
	var parts []string
	for i, g := range grades {
		within := "(" + expr + ")"
		if i > 0 {
			within += fmt.Sprintf(" >= %g", grades[i-1].below)
		}
		if !math.IsInf(g.below, 1) {
			within += fmt.Sprintf(" < %g", g.below)
		}
		parts = append(parts, fmt.Sprintf(`label_replace(%s, "state", "%s", "", "")`, within, g.words))
	}
	return strings.Join(parts, " or ")
}

// colors returns the color steps of grades.
func colors(grades []grade) object {
	var list []step
	from := any(nil)
	for _, g := range grades {
		list = append(list, step{from, g.color})
		from = g.below
	}
	return steps(list...)
}

// Formats of thresholds.
func percents(v float64) string { return fmt.Sprintf("%g %%", math.Round(v*1000)/10) }
func days(v float64) string     { return fmt.Sprintf("%g days", v/day) }
func seconds(v float64) string  { return fmt.Sprintf("%g s", v) }
func blocks(v float64) string   { return fmt.Sprintf("%g blocks", v) }
func times(v float64) string    { return fmt.Sprintf("%g times", v) }
func numbers(v float64) string  { return fmt.Sprintf("%g", v) }

func minutes(v float64) string { return fmt.Sprintf("%g min", v/60) }

// nan means that an alert does not have this threshold.
var nan = math.NaN()
