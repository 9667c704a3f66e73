// Package compile translates the source of the alert rules, alerts/source, into rules of Prometheus. docs/decisions/source.md describes the
// language.
package compile

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// Options select what is added to the rules.
type Options struct {
	// Owners are labels that the operator gives to nodes and validators, such as owner. Each alert gets them.
	Owners []string
}

// Group is a group of rules, which are evaluated in order.
type Group struct {
	Name  string
	Rules []Rule
}

// Rule is a rule of Prometheus.
type Rule struct {
	rulefmt.Rule
	About    string // kind of what an alert is about: one of the keys of boards
	Comment  string // lines above the rule
	KeepNote string // why it keeps firing
}

// file is a file of the source.
type file struct {
	Group string
	Rules []entry
}

// entry is an entry of a file: a record, or an alert with one rule for each tier.
type entry struct {
	Record, Alert string
	About         string
	fields        `yaml:",inline"`
	Bars          map[string]string // more thresholds, by severity or the label needs
	Tiers         []fields

	comment string
	notes   map[string]string // by threshold
}

// fields are those of an alert that a tier may replace.
type fields struct {
	Severity, Within string
	Labels           map[string]string
	Expr             string
	Bar              string
	For              string
	Keep             string `yaml:"keep_firing_for"`
	Board            string

	Summary, Description, Impact, Action string

	comment, keepNote, barNote string
}

// Read reads the files of the source, in the order of their names.
func read(source fs.FS) (all []file, err error) {
	names, err := fs.Glob(source, "*.yml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return nil, err
		}
		var f file
		d := yaml.NewDecoder(strings.NewReader(string(text)))
		d.KnownFields(true)
		if err := d.Decode(&f); err != nil {
			return nil, fmt.Errorf("%s: %w", path.Base(name), err)
		}
		var node yaml.Node
		if err := yaml.Unmarshal(text, &node); err != nil {
			return nil, fmt.Errorf("%s: %w", path.Base(name), err)
		}
		for i, n := range value(node.Content[0], "rules").Content {
			f.Rules[i].readComments(n)
		}
		all = append(all, f)
	}
	return all, nil
}

func (e *entry) readComments(n *yaml.Node) {
	e.comment, e.notes = n.HeadComment, map[string]string{}
	e.fields.readComments(n)
	if bars := value(n, "bars"); bars != nil {
		for i := 0; i < len(bars.Content); i += 2 {
			e.notes[bars.Content[i].Value] = cmp.Or(bars.Content[i+1].LineComment, bars.Content[i].HeadComment)
		}
	}
	if tiers := value(n, "tiers"); tiers != nil {
		for i, t := range tiers.Content {
			e.Tiers[i].comment = t.HeadComment
			e.Tiers[i].readComments(t)
		}
	}
}

func (f *fields) readComments(n *yaml.Node) {
	if v := value(n, "keep_firing_for"); v != nil {
		f.keepNote = v.LineComment
	}
	if v := value(n, "bar"); v != nil {
		f.barNote = v.LineComment
	}
}

// value returns the value of a key of a mapping; nil if there is no such key.
func value(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// Rules compiles the source.
func Rules(source fs.FS, o Options) ([]Group, error) {
	files, err := read(source)
	if err != nil {
		return nil, err
	}
	c := &compiler{Options: o, records: map[*entry]parser.Expr{}}
	byName := map[string][]parser.Expr{}
	for _, f := range files {
		for i := range f.Rules {
			e := &f.Rules[i]
			if e.Record == "" {
				continue
			}
			expr, err := expression{nil, o.Owners}.translate(e.Expr, func(parser.Expr) bool { return false })
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.Record, err)
			}
			c.records[e], byName[e.Record] = expr, append(byName[e.Record], expr)
		}
	}
	c.replicas = replicaRecords(byName)
	var groups []Group
	for _, f := range files {
		g := Group{Name: f.Group}
		for i := range f.Rules {
			e := &f.Rules[i]
			rules, err := c.entry(e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", cmp.Or(e.Alert, e.Record), err)
			}
			g.Rules = append(g.Rules, rules...)
			if e.Record == labelsOf && len(o.Owners) > 0 {
				g.Rules = append(g.Rules, c.ownerRules()...)
			}
		}
		groups = append(groups, g)
	}
	groups[0].Rules = slices.Concat(c.thresholds, groups[0].Rules)
	return groups, nil
}

// compiler compiles entries in their order.
type compiler struct {
	Options
	thresholds []Rule
	records    map[*entry]parser.Expr
	replicas   map[string]bool // by record: whether it has the labels of replicas
}

func (c *compiler) entry(e *entry) (rules []Rule, err error) {
	if expr := c.records[e]; expr != nil {
		return []Rule{{Rule: rulefmt.Rule{Record: e.Record, Labels: e.Labels, Expr: parser.Prettify(expr)}, Comment: e.comment}}, nil
	}
	c.bar(e.Alert, e.fields, nil)
	for _, which := range sortedKeys(e.Bars) {
		label := "needs"
		if slices.Contains(severities, which) {
			label = "severity"
		}
		c.threshold(map[string]string{"alert": e.Alert, label: which}, e.Bars[which], e.notes[which])
	}
	tiers := e.Tiers
	if len(tiers) == 0 {
		tiers = []fields{{}}
	}
	for i, t := range tiers {
		if i > 0 {
			t.barNote = cmp.Or(t.barNote, tiers[0].barNote)
		}
		r, err := c.alert(e, t)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", cmp.Or(t.Severity, e.Severity), t.Within, err)
		}
		if r.Comment = t.comment; i == 0 {
			r.Comment = strings.TrimSpace(e.comment + "\n" + t.comment)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// bar adds the threshold of an alert or of one of its tiers. The labels of the threshold are those that distinguish the tier.
func (c *compiler) bar(alert string, f fields, tier *fields) map[string]string {
	with := map[string]string{"alert": alert}
	if tier != nil {
		f = *tier
		switch {
		case f.Within != "":
			with["within"] = f.Within
		default:
			with["severity"] = f.Severity
		}
	}
	if f.Bar != "" {
		c.threshold(with, f.Bar, f.barNote)
	}
	return with
}

// threshold adds a threshold: a number, or a duration in seconds.
func (c *compiler) threshold(with map[string]string, value, note string) {
	if m := span.FindStringSubmatch(value); m != nil {
		value = m[1] + " * " + seconds[m[2]]
	}
	c.thresholds = append(c.thresholds, Rule{
		Rule: rulefmt.Rule{Record: threshold, Labels: with, Expr: "vector(" + value + ")"}, Comment: note,
	})
}

// alert returns the rule of one tier.
func (c *compiler) alert(e *entry, t fields) (r Rule, err error) {
	x := expression{owners: c.Owners}
	with := map[string]string{"alert": e.Alert}
	if t.Bar != "" {
		with = c.bar(e.Alert, e.fields, &t)
	}
	for _, name := range slices.Sorted(maps.Keys(with)) { // alert comes first
		x.bar = append(x.bar, labels.MustNewMatcher(labels.MatchEqual, name, with[name]))
	}
	f := t.or(e.fields)
	expr, err := x.translate(f.Expr, func(expr parser.Expr) bool { return e.About != "exporter" && distinguishesReplicas(expr, c.replicas) })
	if err != nil {
		return r, err
	}
	r = Rule{About: e.About, KeepNote: f.keepNote}
	r.Alert, r.Expr = e.Alert, parser.Prettify(expr)
	r.Labels = maps.Clone(f.Labels)
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	r.Labels["severity"] = f.Severity
	if f.Within != "" {
		r.Labels["within"] = f.Within
	}
	for _, owner := range c.Owners {
		r.Labels[owner] = c.ownerOf(owner)
	}
	for _, d := range []struct {
		text string
		of   *model.Duration
	}{{f.For, &r.For}, {f.Keep, &r.KeepFiringFor}} {
		if d.text != "" {
			if *d.of, err = model.ParseDuration(d.text); err != nil {
				return r, err
			}
		}
	}
	board, known := boards[e.About]
	if !known {
		return r, fmt.Errorf("about: %q: write one of %s", e.About, strings.Join(sortedKeys(boards), ", "))
	}
	r.Annotations = map[string]string{"runbook_url": runbooks + e.Alert + ".md", "dashboard_url": dashboard(cmp.Or(f.Board, board))}
	for name, text := range map[string]string{"summary": f.Summary, "description": f.Description, "impact": f.Impact, "action": f.Action} {
		if text == "" {
			continue
		}
		if r.Annotations[name], err = x.text(text); err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
	}
	return r, nil
}

// or returns the fields with those of the alert where the tier has none.
func (f fields) or(of fields) fields {
	f.Severity, f.Within, f.Expr, f.For = cmp.Or(f.Severity, of.Severity), cmp.Or(f.Within, of.Within), cmp.Or(f.Expr, of.Expr), cmp.Or(f.For, of.For)
	f.Keep, f.keepNote, f.Board = cmp.Or(f.Keep, of.Keep), cmp.Or(f.keepNote, of.keepNote), cmp.Or(f.Board, of.Board)
	f.Summary, f.Description = cmp.Or(f.Summary, of.Summary), cmp.Or(f.Description, of.Description)
	f.Impact, f.Action = cmp.Or(f.Impact, of.Impact), cmp.Or(f.Action, of.Action)
	f.Labels = maps.Clone(f.Labels)
	for name, value := range of.Labels {
		if _, has := f.Labels[name]; !has {
			if f.Labels == nil {
				f.Labels = map[string]string{}
			}
			f.Labels[name] = value
		}
	}
	return f
}

var (
	span    = regexp.MustCompile(`^([0-9]+)([mhd])$`)
	seconds = map[string]string{"m": "60", "h": "3600", "d": "86400"}
)

// threshold is the record with the thresholds.
const threshold = "avax:threshold"

const runbooks = "https://github.com/avax-exporter/avax-exporter/blob/main/docs/runbooks/"

// boards are the dashboards of what alerts are about.
var boards = map[string]string{
	"exporter": "exporter", "node": "overview?node", "validator": "validators?node_id", "chain": "chains?chain", "l1": "l1?chain", "network": "network",
	"delegation": "delegator",
}

// dashboard returns the address of a dashboard: chains?chain&node is the dashboard of chains for the alert's chain and node, and
// chains?chain=destination that of the alert's destination.
func dashboard(board string) string {
	name, variables, _ := strings.Cut(board, "?")
	url := "/d/avax-" + name
	separator := "?"
	for v := range strings.SplitSeq(variables, "&") {
		if v == "" {
			continue
		}
		variable, from, is := strings.Cut(v, "=")
		if !is {
			from = variable
		}
		url += separator + "var-" + variable + "={{ $labels." + from + " | urlquery }}"
		separator = "&"
	}
	return url
}

var severities = []string{"page", "warn", "info", "none"}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
