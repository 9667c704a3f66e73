// Package compile translates the source of the alert rules, alerts/source, into rules of Prometheus. docs/decisions/source.md describes the
// language.
package compile

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// File is a rule file of Prometheus.
type File struct {
	Head   string // comment
	Groups []Group
}

// Group is a group of rules, which are evaluated in order.
type Group struct {
	Name     string
	Interval model.Duration // 0: that of the server
	Rules    []Rule
}

// Rule is a rule of Prometheus.
type Rule struct {
	rulefmt.Rule
	Subject  string // group of the source
	Comment  string // lines above the rule
	KeepNote string // why it keeps firing

	Determined []string // labels of a record that its other labels determine: they distinguish no series
}

// file is a file of the source.
type file struct {
	Group      string
	Interval   model.Duration
	Suppresses []suppression // by any alert
	Rules      []entry
	head       string
}

// entry is a record, or an alert with a rule for each of its tiers. A tier has the fields of its alert, unless it has its own.
type entry struct {
	Record, Alert, About, Expr string
	Severity, Within           string
	Labels                     map[string]string
	Determined                 []string // labels of a record that its other labels determine
	For, Board                 string
	Keep                       string            `yaml:"keep_firing_for"`
	Bar                        string            // threshold
	Bars                       map[string]string // more thresholds, by severity, the label needs, or both
	Clears                     float64           // the multiple of Bar at which an alert ends; 0: at Bar

	Summary, Description, Impact, Action string
	Forecast                             string // the value is the time of a loss to come (at), or the time until then (in)
	Since                                string // a query whose first result is the time of the first sign of the fault
	Chains                               string // a text that names the chains for which the alert stands, with a space after each
	PagesWithin                          string `yaml:"pages_within"` // known: the time from the first sign to the page follows from the rules

	Suppresses []suppression
	Tiers      []entry

	comment string
	notes   map[string]string // comments behind values, by key; those of Bars by theirs
}

// read reads the files of the source, in the order of their names.
func read(source fs.FS) (all []file, err error) {
	names, err := fs.Glob(source, "*.yml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		var f file
		var node yaml.Node
		text, err := fs.ReadFile(source, name)
		if err == nil {
			d := yaml.NewDecoder(strings.NewReader(string(text)))
			d.KnownFields(true)
			err = d.Decode(&f)
		}
		if err == nil {
			err = yaml.Unmarshal(text, &node)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f.head = strings.TrimSpace(node.HeadComment)
		readComments(f.Suppresses, value(node.Content[0], "suppresses"))
		for i, n := range value(node.Content[0], "rules").Content {
			if err := f.Rules[i].read(n); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// read reads the comments of an entry, and gives its tiers the fields that they do not have.
func (e *entry) read(n *yaml.Node) error {
	inherited := e.notes
	e.comment, e.notes = n.HeadComment, map[string]string{}
	readComments(e.Suppresses, value(n, "suppresses"))
	for _, key := range []string{"bar", "for", "keep_firing_for"} {
		e.notes[key] = cmp.Or(value(n, key).LineComment, inherited[key])
	}
	bars := value(n, "bars").Content
	for i := 0; i < len(bars); i += 2 {
		e.notes[bars[i].Value] = bars[i+1].LineComment
	}
	for i, of := range value(n, "tiers").Content {
		tier := *e
		tier.Bar, tier.Tiers, tier.Labels = "", nil, maps.Clone(e.Labels)
		if i > 0 {
			tier.notes = maps.Clone(e.notes)
			tier.notes["bar"] = e.Tiers[0].notes["bar"]
		}
		if err := of.Decode(&tier); err != nil {
			return err
		}
		if err := tier.read(of); err != nil {
			return err
		}
		if e.Tiers[i] = tier; i == 0 {
			e.Tiers[i].comment = strings.TrimSpace(e.comment + "\n" + tier.comment)
		}
	}
	return nil
}

// value returns the value of a key of a mapping; an empty node if there is no such key.
func value(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return &yaml.Node{}
}

// Rules compiles the files of a directory. The comment at the head of the first one is that of the rules. owners are labels that the operator gives to
// nodes and validators, such as owner: each alert gets them.
func Rules(source fs.FS, owners ...string) (*File, error) {
	files, err := read(source)
	if err != nil {
		return nil, err
	}
	c := &compiler{owners: owners, records: map[*entry]parser.Expr{}, files: files}
	var records []record
	for _, f := range files {
		for i := range f.Rules {
			if e := &f.Rules[i]; e.Record != "" {
				expr, err := expression{owners: owners}.translate(e.Expr)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", e.Record, err)
				}
				c.records[e], records = expr, append(records, record{name: e.Record, expr: expr})
			}
		}
	}
	c.names = &Names{distinguish: map[string]set{"ALERTS": nil, "ALERTS_FOR_STATE": nil}, otherwise: setOf(replica...)}
	c.names.derive(records)
	compiled := &File{Head: files[0].head}
	for _, f := range files {
		g := Group{Name: f.Group, Interval: f.Interval}
		for i := range f.Rules {
			e := &f.Rules[i]
			rules, err := c.entry(e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", cmp.Or(e.Alert, e.Record), err)
			}
			g.Rules = append(g.Rules, rules...)
			if e.Record == labelsOf {
				g.Rules = append(g.Rules, ownerRules(owners)...)
			}
		}
		for i := range g.Rules {
			g.Rules[i].Subject = f.Group
		}
		compiled.Groups = append(compiled.Groups, g)
	}
	compiled.Groups[0].Rules = slices.Concat(c.thresholds, compiled.Groups[0].Rules)
	compiled.Groups = pace(compiled.Groups, namedEffects(files))
	return compiled, nil
}

// compiler compiles entries in their order.
type compiler struct {
	owners     []string
	files      []file
	thresholds []Rule
	records    map[*entry]parser.Expr
	names      *Names // whether their series have the labels of replicas
}

func (c *compiler) entry(e *entry) (rules []Rule, err error) {
	if expr := c.records[e]; expr != nil {
		return []Rule{{Rule: rulefmt.Rule{Record: e.Record, Labels: e.Labels, Expr: layout(expr)}, Comment: e.comment, Determined: e.Determined}}, nil
	}
	own := map[string]string{"alert": e.Alert}
	c.threshold(own, e.Bar, e.notes["bar"])
	for _, which := range sortedKeys(e.Bars) {
		with := maps.Clone(own)
		for word := range strings.FieldsSeq(which) {
			if slices.Contains(severities, word) {
				with["severity"] = word
			} else {
				with["needs"] = word
			}
		}
		c.threshold(with, e.Bars[which], e.notes[which])
	}
	tiers := e.Tiers
	if len(tiers) == 0 {
		tiers = []entry{*e}
	}
	for _, t := range tiers {
		bar := own
		if len(e.Tiers) > 0 && t.Bar != "" { // the labels of the threshold are those that distinguish the tier
			bar = map[string]string{"alert": e.Alert, "severity": t.Severity}
			if t.Within != "" {
				bar = map[string]string{"alert": e.Alert, "within": t.Within}
			}
			c.threshold(bar, t.Bar, t.notes["bar"])
		}
		r, err := c.alert(t, expression{bar: matchers(bar), clears: t.Clears, owners: c.owners})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(t.Severity+" "+t.Within), err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// alert returns the rule of one tier.
func (c *compiler) alert(t entry, x expression) (r Rule, err error) {
	kind, known := kinds[t.About]
	if !known {
		return r, fmt.Errorf("about: %q: write one of %s", t.About, strings.Join(sortedKeys(kinds), ", "))
	}
	r = Rule{Comment: t.comment, KeepNote: t.notes["keep_firing_for"]}
	r.Alert, r.Labels = t.Alert, map[string]string{"severity": t.Severity}
	maps.Copy(r.Labels, t.Labels)
	if t.Within != "" {
		r.Labels["within"] = t.Within
	}
	x.firing = matchers(r.Labels)
	for _, m := range [][2]string{{labels.AlertName, r.Alert}, {"alertstate", "firing"}, {model.MetricNameLabel, "ALERTS"}} {
		x.firing = append(x.firing, labels.MustNewMatcher(labels.MatchEqual, m[0], m[1]))
	}
	expr, err := c.condition(t, x, kind.replicas)
	if x.ending = t.Clears != 0 && !clearsWord.MatchString(t.Expr); err == nil && x.ending {
		var ends parser.Expr
		ends, err = c.condition(t, x, kind.replicas)
		expr = x.continues(expr, ends, sortedKeys(r.Labels))
	}
	for _, subject := range kind.leaves {
		expr = unlessLeft(expr, subject, slices.Concat(c.owners, kind.leaves, kind.others))
	}
	if err != nil {
		return r, err
	}
	r.Expr = layout(expr)
	r.own(c.owners)
	if t.For != "" {
		r.For, err = model.ParseDuration(t.For)
	}
	if err == nil && t.Keep != "" {
		r.KeepFiringFor, err = model.ParseDuration(t.Keep)
	}
	r.Annotations = map[string]string{"runbook_url": runbooks + t.Alert + ".md", "dashboard_url": dashboard(cmp.Or(t.Board, kind.board))}
	within := ""
	if t.PagesWithin != "" && err == nil {
		within, err = c.pagesWithin(r.Rule)
	}
	since := ""
	if t.Since != "" {
		since = "<with " + t.Since + "><its moment><end>"
	}
	for name, text := range map[string]string{
		"summary": t.Summary, "description": t.Description, "impact": t.Impact, "action": t.Action, "forecast": t.Forecast, "since": since,
		"pages_within": within, "chains": t.Chains,
	} {
		if text != "" && err == nil {
			r.Annotations[name], err = x.text(text)
		}
	}
	if err == nil {
		err = t.check()
	}
	return r, err
}

var clearsWord = regexp.MustCompile(`\b` + clears + `\b`)

// condition returns the expression of a tier. If replicas do not raise an alert each, its result does not distinguish them.
func (c *compiler) condition(t entry, x expression, replicas bool) (parser.Expr, error) {
	expr, err := x.translate(t.Expr)
	if err == nil && !replicas && c.names.of(expr)[replica[0]] {
		expr = &parser.AggregateExpr{Op: parser.MAX, Without: true, Grouping: replica, Expr: expr}
	}
	return expr, err
}

// continues returns an expression that begins with one condition, and ends with another. own are the labels of the rule.
func (x expression) continues(begins, ends parser.Expr, own []string) parser.Expr {
	own = slices.DeleteFunc(own, func(name string) bool { return slices.Contains(alerts, name) })
	return &parser.BinaryExpr{
		Op: parser.LOR, LHS: begins, VectorMatching: &parser.VectorMatching{Card: parser.CardManyToMany},
		RHS: &parser.BinaryExpr{
			Op: parser.LAND, LHS: &parser.ParenExpr{Expr: ends}, RHS: &parser.VectorSelector{Name: "ALERTS", LabelMatchers: x.firing},
			VectorMatching: &parser.VectorMatching{Card: parser.CardManyToMany, MatchingLabels: slices.Concat(alerts, own, x.owners)},
		},
	}
}

// unlessLeft ends what is about a node or a chain when this subject leaves the configuration: its newest samples are those of before.
func unlessLeft(expr parser.Expr, subject string, others []string) parser.Expr {
	if or, is := expr.(*parser.BinaryExpr); is && or.Op == parser.LOR {
		expr = &parser.ParenExpr{Expr: expr}
	}
	left := "avax:" + subject + leftRecord
	return &parser.BinaryExpr{
		Op: parser.LUNLESS, LHS: expr,
		RHS: &parser.VectorSelector{Name: left, LabelMatchers: []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, left)}},
		VectorMatching: &parser.VectorMatching{
			Card:           parser.CardManyToMany,
			MatchingLabels: slices.DeleteFunc(others, func(name string) bool { return name == subject }),
		},
	}
}

// leftRecord is the end of the records of subjects that have left the configuration.
const leftRecord = "_left"

const runbooks = "https://github.com/avax-exporter/avax-exporter/blob/main/docs/runbooks/"

// kinds are the kinds of what alerts are about.
var kinds = map[string]struct {
	board    string
	replicas bool     // whether each replica of an exporter, or each target of another job, has an alert of its own
	leaves   []string // labels of subjects that end the alert when they leave the configuration
	others   []string // other labels that distinguish such alerts: Names.Check tells which ones are missing
}{
	"exporter":  {"exporter", true, nil, nil},
	"node":      {"overview?node", false, []string{"node"}, []string{"chain", "check", "fact", "ip", "node_id", "noticed"}},
	"validator": {"validators?node_id", false, nil, nil},
	"chain": {"chains?chain", false, []string{"chain"}, []string{
		"address", "asset_id", "destination", "list", "node", "noticed", "parameter", "probe", "source", "subnet_id", "upgrade",
	}},
	"chain of a node": {"chains?chain&node", false, []string{"node", "chain"}, []string{"check", "objective", "stage"}},
	"l1":              {"l1?chain", false, []string{"chain"}, []string{"node", "node_id", "noticed", "subnet_id", "validation_id"}},
	"network":         {"network", false, nil, nil},
	"delegation":      {"delegator", false, nil, nil},
	"host":            {"overview?node", true, nil, nil},
	"relayer":         {"chains", true, nil, nil},
}

// dashboard returns the address of a dashboard: chains?chain&node is the dashboard of chains for the alert's chain and node, and
// chains?chain=destination that of the alert's destination.
func dashboard(board string) string {
	name, variables, _ := strings.Cut(board, "?")
	url, separator := "/d/avax-"+name, "?"
	for v := range strings.FieldsFuncSeq(variables, func(r rune) bool { return r == '&' }) {
		variable, from, _ := strings.Cut(v, "=")
		url += separator + "var-" + variable + "={{ $labels." + cmp.Or(from, variable) + " | urlquery }}"
		separator = "&"
	}
	return url
}

var severities = []string{"page", "warn", "info", "none"}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
