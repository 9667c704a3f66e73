package compile

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	text "github.com/avax-exporter/avax-exporter/internal/words"
)

const alertAround = `group: g
rules:
  - record: avax:merged
    expr: max without (replica) (avax_node_up)
  - record: avax:own
    expr: avax:own or avax:merged
  - alert: AvaxExample
    about: network
    summary: '<node>: down'
    description: It is down.
    action: Start it.
    severity: warn
`

func compiled(t *testing.T, source string, owners ...string) (*File, error) {
	t.Helper()
	return Rules(fstest.MapFS{"0.yml": {Data: []byte(source)}}, owners...)
}

// last returns the rule at the end of the source.
func last(t *testing.T, source string, owners ...string) Rule {
	t.Helper()
	rules := must.Get(compiled(t, source, owners...))(t).Groups[0].Rules
	return rules[len(rules)-1]
}

func TestExpressionsMean(t *testing.T) {
	for source, want := range map[string]string{
		// A family means its newest sample.
		`avax_node_up == 0`:               `max without (instance, pod) (last_over_time(avax_node_up[7m]) == 0)`,
		`avax_node_up offset 2m`:          `max without (instance, pod) (last_over_time(avax_node_up[7m] offset 2m))`,
		`raw:avax_node_up == 0`:           `max without (instance, pod) (avax_node_up == 0)`,
		`increase(avax_calls_total[5m])`:  `max without (instance, pod) (increase(avax_calls_total[5m]))`,
		`timestamp(raw:avax_node_up) > 5`: `max without (instance, pod) (timestamp(avax_node_up) > 5)`,
		// What has no label of a replica is not merged again.
		`avax:merged == 0`:            `avax:merged == 0`,
		`avax:own`:                    `avax:own`,
		`avax:merged and avax:own`:    `avax:merged and avax:own`,
		`avax:merged or avax_node_up`: `max without (instance, pod) (avax:merged or last_over_time(avax_node_up[7m]))`,
		`avax:merged unless ignoring (replica) avax_node_up`: `avax:merged unless ignoring (instance, pod) last_over_time(avax_node_up[7m])`,
		`count by (job) (avax_node_up)`:                      `count by (job) (last_over_time(avax_node_up[7m]))`,
		`avax_a / on (job, node) avax_b`:                     `last_over_time(avax_a[7m]) / on (job, node) last_over_time(avax_b[7m])`,
		// Labels with names for lists of them.
		`avax:merged unless ignoring (ALERTS, node) ALERTS`: `avax:merged unless ignoring (alertname, alertstate, severity, alertgroup, node) ALERTS`,
		// Thresholds.
		`avax:merged < bar`:                                      `avax:merged < scalar(max(avax:threshold_used{alert="AvaxExample"}))`,
		`avax:merged < bar{needs="views"}`:                       `avax:merged < scalar(max(avax:threshold_used{alert="AvaxExample",needs="views"}))`,
		`clamp_min(avax:merged, scalar(bar{alert="AvaxOther"}))`: `clamp_min(avax:merged, scalar(max(avax:threshold_used{alert="AvaxOther"})))`,
		// Without labels of the operator, an alert about several nodes is one.
		`count without (node) (owned:avax:merged)`: `count without (node) (avax:merged)`,
	} {
		if got := last(t, alertAround+"    expr: '"+source+"'\n").Expr; got != want {
			t.Errorf("%s means\n%s, want\n%s", source, got, want)
		}
	}
}

// What is about a node or a chain ends when the node or the chain leaves the configuration.
func TestAlertsEndWithTheirSubject(t *testing.T) {
	const (
		node       = " unless ignoring (chain, check, fact, ip, node_id, noticed) avax:node_left"
		nodesChain = "unless ignoring (chain, check, objective, stage) avax:node_left unless ignoring (node, check, objective, stage) avax:chain_left"
		l1         = " unless ignoring (team, node, node_id, noticed, subnet_id, validation_id) avax:chain_left"
	)
	for about, want := range map[string]string{
		"network":         "avax:merged or avax:own",
		"node":            "(avax:merged or avax:own)" + strings.Replace(node, "(", "(team, ", 1),
		"chain of a node": "(avax:merged or avax:own) " + strings.ReplaceAll(nodesChain, "ignoring (", "ignoring (team, "),
		"l1":              "(avax:merged or avax:own)" + l1,
	} {
		r := last(t, strings.Replace(alertAround, "about: network", "about: "+about, 1)+"    expr: avax:merged or avax:own\n", "team")
		if got := strings.Join(strings.Fields(r.Expr), " "); got != want {
			t.Errorf("about %s means\n%s, want\n%s", about, got, want)
		}
	}
}

func TestLabelsOfTheOperator(t *testing.T) {
	r := last(t, alertAround+"    expr: count without (node) (owned:avax:merged unless ignoring (ALERTS) ALERTS)\n    impact: <with avax:merged{node}>x<end>\n", "owner", "team")
	want := "count without (node) (\n" +
		"  avax:labels_of_each_node * on (job, node) group_right (owner, team) avax:merged\n" +
		"  unless ignoring (alertname, alertstate, severity, alertgroup, owner, team) ALERTS\n)"
	if r.Expr != want {
		t.Errorf("%s, want\n%s", r.Expr, want)
	}
	if !strings.Contains(r.Labels["team"], "$labels.team") || !strings.Contains(r.Annotations["impact"], `(eq $k "owner" "team" "__name__" `) {
		t.Errorf("labels %v, impact %s", r.Labels, r.Annotations["impact"])
	}
}

func TestTextsMean(t *testing.T) {
	inSite := func(text string) string { return site(notSite) + text }
	for source, want := range map[string]string{
		"<node>: <percent>":                `{{ $labels.node }}: ` + words["percent"],
		"a < b":                            "a < b",
		"<if chain>on <chain><else>x<end>": `{{ if $labels.chain }}on {{ $labels.chain }}{{ else }}x{{ end }}`,
		// A query by an ID finds its validator on every site. A query by a name has the labels of the site.
		"<with avax:name{node_id}><its number><end>":            "{{ with query (printf `avax:name{node_id=%q}` $labels.node_id) }}" + words["its number"] + "{{ end }}",
		"<range avax:name{node, chain; x=\"y\"} by node>.<end>": inSite("{{ range query (printf `avax:name{%snode=%q,chain=%q,x=\"y\"}` $site $labels.node $labels.chain) | sortByLabel \"node\" }}.{{ end }}"),
		"<if avax:name{site}>x<end>":                            inSite("{{ if query (printf `avax:name{%s}` $site) }}x{{ end }}"),
		"<with avax:all>x<end>":                                 "{{ with query `avax:all` }}x{{ end }}",
		"<if avax:name{site} > 0>x<end>":                        inSite("{{ if query (printf `avax:name{%s} > 0` $site) }}x{{ end }}"),
		"<node or instance>":                                    "{{ or $labels.node $labels.instance }}",
		"<with avax:all><first name><end>":                      "{{ with query `avax:all` }}{{ . | sortByLabel \"name\" | first | label \"name\" }}{{ end }}",
	} {
		if got := last(t, alertAround+"    expr: avax:merged\n    impact: '"+source+"'\n").Annotations["impact"]; got != want {
			t.Errorf("%s means\n%s, want\n%s", source, got, want)
		}
	}
}

// A tier has the fields of its alert, unless it has its own, and a threshold with the label that distinguishes it.
func TestTiers(t *testing.T) {
	file := must.Get(compiled(t, `group: g
rules:
  - alert: AvaxExample
    about: validator
    expr: avax_x < time() + bar
    summary: s
    description: d
    action: a
    for: 5m
    tiers:
      - {severity: warn, within: 7d, bar: 7d} # no comment
      - severity: page
        bar: 0.5 # share
        impact: i
        action: other
        for: 3m
        keep_firing_for: 2m # its effects are over later
`))(t)
	text := string(must.Get(file.YAML())(t))
	for _, want := range []string{
		"  - {record: 'avax:threshold', labels: {alert: AvaxExample, within: 7d}, expr: vector(7 * 86400)}\n",
		"  # share\n  - {record: 'avax:threshold', labels: {alert: AvaxExample, severity: page}, expr: vector(0.5)}\n",
		`time() + scalar(max(avax:threshold_used{alert="AvaxExample",severity="page"}))`,
		"    for: 5m\n    labels:\n      severity: warn\n      within: 7d\n",
		"    for: 3m\n    keep_firing_for: 2m # its effects are over later\n    labels:\n      severity: page\n",
		"      impact: i\n      action: other\n",
		"docs/runbooks/AvaxExample.md\n      dashboard_url: /d/avax-validators?var-node_id={{ $labels.node_id | urlquery }}\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Each error says what to write.
func TestMistakesAreRefused(t *testing.T) {
	for source, want := range map[string]string{
		"expr: avax:merged ==":                                                         "parse error",
		"expr: avax:merged\n    severity: urgent":                                      "write one of page, warn, info, none",
		"expr: avax:merged\n    severity: page":                                        "impact: say what is lost",
		"expr: avax:merged\n    action: ''":                                            "action: say what to do first",
		"expr: avax:merged\n    about: thing":                                          "write one of chain, chain of a node, delegation",
		"expr: avax:merged\n    keep_firing_for: 5m":                                   "add the reason as a comment",
		"expr: avax:merged\n    for: 1m":                                               "may be older after a lost scrape",
		"expr: avax:merged\n    impact: <nodes gone>":                                  "no such word",
		"expr: avax:merged\n    impact: <number> nodes":                                "write <number> node<s>",
		"expr: avax:merged\n    impact: <with avax:merged{node}>":                      "unexpected EOF",
		"expr: max_over_time(avax_x[3h])":                                              "longer than 2h",
		"expr: topk without (replica) (1, avax_x)":                                     "among equal values",
		"expr: avax:merged\n  - record: avax:old\n    expr: max_over_time(avax_x[3h])": "avax:old: avax_x[3h]: longer",
		"expr: avax:merged\n    fro: 5m":                                               "field fro not found",
		"expr: avax:merged + on (node) group_left (x) avax:merged\n  - record: avax:bar\n    expr: avax_x < bar": `bar{alert="NAME"}`,
	} {
		source = strings.Replace(alertAround, "    severity: warn\n", "", 1) + "    " + source + "\n"
		if !strings.Contains(source, "    severity: ") {
			source = strings.Replace(source, "    about: network\n", "    about: node\n    severity: warn\n", 1)
		}
		for _, field := range []string{"about: ", "action: "} { // the first one is that of the example
			if strings.Count(source, field) > 1 {
				i := strings.Index(source, "    "+field)
				source = source[:i] + source[i+strings.IndexByte(source[i:], '\n')+1:]
			}
		}
		if _, err := compiled(t, source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in the error of\n%s", err, want, source)
		}
	}
}

// An alert ends at another value than it begins: the condition stands twice, or once with the words.
func TestAnAlertEndsAtAnotherValue(t *testing.T) {
	const (
		threshold = `scalar(max(avax:threshold_used{alert="AvaxExample",severity="page"}))`
		firing    = `ALERTS{alertname="AvaxExample",alertstate="firing",scope="all",severity="page"}`
		ignoring  = `ignoring (alertname, alertstate, severity, alertgroup, scope)`
	)
	for source, want := range map[string]string{
		"avax:merged < bar": "avax:merged < " + threshold + " or (avax:merged < " + threshold + " * 1.05) and " + ignoring + " " + firing,
		"avax:merged < bar or avax:own < clears and ignoring (ALERTS, scope) firing": "avax:merged < " + threshold +
			" or avax:own < " + threshold + " * 1.05 and " + ignoring + " " + firing,
		`avax:merged < bar{alert="AvaxOther"}`: `avax:merged < scalar(max(avax:threshold_used{alert="AvaxOther"})) or (avax:merged < scalar(max(avax:threshold_used{alert="AvaxOther"}))) and ` +
			ignoring + " " + firing,
	} {
		r := last(t, strings.Replace(alertAround, "    severity: warn\n", "", 1)+"    impact: i\n    tiers:\n      - severity: page\n        labels: {scope: all}\n        bar: 0.8\n        clears: 1.05\n        expr: '"+source+"'\n")
		if got := strings.Join(strings.Fields(r.Expr), " "); got != want {
			t.Errorf("%s means\n%s, want\n%s", source, got, want)
		}
	}
	for _, word := range []string{"clears", "firing"} {
		if _, err := compiled(t, alertAround+"    expr: avax:merged\n  - record: avax:bar\n    expr: avax_x < "+word+"\n"); err == nil || !strings.Contains(err.Error(), word+": ") {
			t.Errorf("%s in a record: %v", word, err)
		}
	}
}

// What may wait moves to the group that says so. What a page, or its text, reads stays, and so does an effect that it names.
func TestPace(t *testing.T) {
	source := fstest.MapFS{"0.yml": {Data: []byte(`group: quick
rules:
  - {record: 'avax:read', expr: avax_a}
  - {record: 'avax:shown', expr: avax_b}
  - {record: 'avax:other', expr: avax_c}
  - {record: 'avax:lag', expr: avax_d}
  - {alert: AvaxPage, about: l1, severity: page, expr: 'avax:read == 0', for: 5m, summary: s, description: d, impact: '<if avax:shown>x<end>', action: a,
     suppresses: [{effects: [AvaxEffect, l1], on: [chain]}]}
  - {alert: AvaxEffect, about: chain of a node, severity: warn, expr: 'avax:lag > 1', for: 5m, summary: s, description: d, action: a}
  - {alert: AvaxTicket, about: l1, severity: warn, expr: 'avax:other == 0', for: 5m, summary: s, description: d, action: a}
  - {alert: AvaxQuick, about: l1, severity: warn, expr: 'avax:read == 1', for: 4m, summary: s, description: d, action: a}
  - {alert: AvaxNote, about: l1, severity: info, expr: 'avax:read == 2', summary: s, description: d}
  - {alert: AvaxLatePage, about: l1, severity: page, expr: 'avax:read == 2', for: 10m, summary: s, description: d, impact: i, action: a}
`)}, "1.yml": {Data: []byte("group: slow\ninterval: 1m\n")}}
	var got []string
	for _, g := range must.Get(Rules(source))(t).Groups {
		got = append(got, g.Name+":")
		for _, r := range g.Rules {
			got = append(got, r.Record+r.Alert)
		}
	}
	if want := "quick: avax:read avax:shown avax:lag AvaxPage AvaxEffect AvaxQuick slow: avax:other AvaxTicket AvaxNote AvaxLatePage"; strings.Join(got, " ") != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// The time to the page follows from the rules: the source cannot say another one.
func TestPagesWithinFollowsFromTheRules(t *testing.T) {
	const alert = "    expr: avax:merged == 0\n    for: 5m\n    pages_within: "
	recorded := func(expr string) string {
		return strings.Replace(alertAround, "  - alert:", `  - record: avax:hold_seconds
    expr: clamp(2 * max without (replica) (avax_restart_seconds), 75, 240) or avax:begin_timestamp_seconds * 0 + 100
  - record: avax:fault_pages_timestamp_seconds
    labels: {alert: AvaxOther}
    expr: 9999 + avax:begin_timestamp_seconds
  - record: avax:fault_pages_timestamp_seconds
    labels: {alert: AvaxExample}
    expr: `+expr+"\n  - alert:", 1) + alert
	}
	for source, want := range map[string]string{
		alertAround + alert: "5m",
		recorded("600 + max without (replica) (avax:begin_timestamp_seconds > avax:other)"):                                     "10m",
		recorded("avax:begin_timestamp_seconds + 150 and avax:merged or avax:begin_timestamp_seconds + 30 + avax:hold_seconds"): "4m30s",
	} {
		if got := last(t, source+"known\n").Annotations["pages_within"]; got != want {
			t.Errorf("pages within %s, want %s:\n%s", got, want, source)
		}
	}
	for _, source := range []string{alertAround + alert + "5m", recorded("rate(avax_x[5m])") + "known"} {
		if _, err := compiled(t, source+"\n"); err == nil || !strings.Contains(err.Error(), "pages_within: ") {
			t.Errorf("%v for %s", err, source)
		}
	}
}

// Texts of rules write numbers as the pages do.
func TestNumbersInTextsAreThoseOfThePages(t *testing.T) {
	for _, n := range []float64{0, 1, 7, 999, 1000, 40438, 999_999, 1_234_567, 987_654_321} {
		expand := template.NewTemplateExpander(t.Context(), "{{ $value := .Value }}"+words["number"]+" node"+words["s"], "", template.AlertTemplateData(nil, nil, "", promql.Sample{F: n}), 0, nil, nil, nil)
		want := text.Count(n) + " nodes"
		if n == 1 {
			want = "1 node"
		}
		if got := must.Get(expand.Expand())(t); got != want {
			t.Errorf("%v: %s, want %s", n, got, want)
		}
	}
}
