package compile

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/template"

	advice "github.com/avax-exporter/avax-exporter/internal/words"
)

// thousands separates them, as on the pages, in numbers below a billion.
const thousands = ` | reReplaceAll "^(\\d+)(\\d{3})(\\d{3})$" "$1,$2,$3" | reReplaceAll "^(\\d+)(\\d{3})$" "$1,$2"`

// words are what a text may contain between < and >. Every other word is a label of the alert.
var words = map[string]string{
	"value":    `{{ $value }}`,
	"number":   `{{ $value | printf "%.0f"` + thousands + ` }}`,
	"s":        `{{ if ne (printf "%.0f" $value) "1" }}s{{ end }}`, // of what <number> counts
	"percent":  `{{ $value | humanizePercentage | reReplaceAll "([.][0-9]+)?%" " %" }}`,
	"duration": `{{ $value | humanizeDuration | reReplaceAll "( 0[hms])+$" "" }}`,
	"time":     `{{ $value | humanizeTimestamp | reReplaceAll ":[0-9.]+ .*" " UTC" }}`,

	// Of the first result of a query; <its LABEL> is a label of one result, and <first LABEL> that of the first one by this label.
	"its number":        `{{ . | first | value | printf "%.0f"` + thousands + ` }}`,
	"its exact percent": `{{ . | first | value | humanizePercentage | reReplaceAll "%" " %" }}`,
	"its percent":       `{{ . | first | value | humanizePercentage | reReplaceAll "([.][0-9]+)?%" " %" }}`,
	"its duration":      `{{ . | first | value | humanizeDuration | reReplaceAll "( 0[hms])+$" "" }}`,
	"its moment":        `{{ . | first | value | humanizeTimestamp | reReplaceAll "([.][0-9]+)? [+]0000 UTC" " UTC" }}`,
	"its time":          `{{ . | first | value | humanizeTimestamp | reReplaceAll ":[0-9.]+ .*" " UTC" }}`,

	// Names, by node ID, validation ID and address.
	"validator": `<with avax:validator_name{node_id}><first node><else><node_id><end>`,
	"validation": "{{ with query (printf `avax:validator_name{validation_id=%q} or on () avax:validator_name{node_id=%q}` " +
		`(or $labels.validation_id "-") $labels.node_id) }}` +
		`<first node><else><node_id><end>`,
	// Of all results of a query, whose validators have names; the number if they are many.
	"its validators": `{{ if gt (len .) 20 }} {{ len . }}<else>{{ range . | sortByLabel "node_id" }}{{ $id := . | label "node_id" }} ` +
		"{{ with query (printf `avax:validator_name{validation_id=%q} or on () avax:validator_name{node_id=%q}` " +
		`(or (. | label "validation_id") "-") $id) }}<first node><else>{{ $id }}<end><end><end>`,
	"wallet": `<with avax_watch_labels{address}><first name><else><address><end>`,

	"reward of node":      `<with avax:reward_at_risk_avax{node}> of <its number> AVAX<end>`,
	"reward of validator": `<with avax:reward_at_risk_avax{node_id}> of <its number> AVAX<end>`,

	// Only public networks have a status page.
	"status of the network": `<with last_over_time(avax_node_info{site; network_id=~"1|5"}[2h])> Check status.avax.network.<end>`,

	// Of the check of a chain whose VM did not start.
	"if not started": "{{ if query (printf `avax_node_chain_start_failed{%snode=%q,chain=%q} == 1` $site $labels.node $labels.check) }}",

	"free disk":       advice.FreeDisk,
	"start again":     advice.StartAgain,
	"track subnet":    advice.TrackSubnet,
	"no peers":        "<node> has no peers, and waiting does not help: " + advice.FindPeers,
	"stake again":     advice.StakeAgain,
	"check validator": advice.CheckValidator,

	"else": `{{ else }}`,
	"end":  `{{ end }}`,
}

// unique are labels whose values no two sites share: a query by one of them needs no labels of the site.
var unique = []string{"node_id", "validation_id", "subnet_id", "tx_id", "address", "job"}

var (
	word      = regexp.MustCompile(`<([a-z](?: [<>] |[^<>])*)>`) // a query may compare
	condition = regexp.MustCompile(`^if ([a-z_]+)$`)
	either    = regexp.MustCompile(`^([a-z_]+) or ([a-z_]+)$`)
	its       = regexp.MustCompile(`^its ([a-z_]+)$`)
	first     = regexp.MustCompile(`^first ([a-z_]+)$`)
	query     = regexp.MustCompile(`^(if|with|range) (.+?)(?: by ([a-z_]+))?$`)
	filled    = regexp.MustCompile(`\{([a-z_]+(?:, ?[a-z_]+)*)(?:; ([^}]*))?\}`)
	label     = regexp.MustCompile(`^[a-zA-Z_]+$`)
	plural    = regexp.MustCompile(`<number> ([a-z]{3,})s\b`)
)

// notSite are the labels of alerts that do not say on which site a node is.
var notSite = []string{
	"__name__", "alertgroup", "alertname", "cause", "chain", "check", "node", "noticed", "objective", "reason", "scope", "severity", "stage", "within",
}

// site sets $site to the matchers of the labels that distinguish sites. A template compiles a regular expression for each label again: eq does not.
func site(except []string) string {
	return `{{ $site := "" }}{{ range $k, $v := $labels }}{{ if not (eq $k "` + strings.Join(except, `" "`) + `") }}` +
		`{{ $site = printf "%s%s=%q," $site $k $v }}{{ end }}{{ end }}`
}

// text translates a text of the source into a template of Prometheus.
func (x expression) text(text string) (string, error) {
	var failed error
	if m := plural.FindStringSubmatch(text); m != nil && m[1] != "serie" {
		failed = fmt.Errorf("%s: it may be one; write <number> %s<s>", m[0], m[1])
	}
	for depth := 0; word.MatchString(text); depth++ {
		if depth > 4 {
			return "", fmt.Errorf("%s: words that contain themselves", text)
		}
		text = word.ReplaceAllStringFunc(text, func(found string) string {
			inner := found[1 : len(found)-1]
			if known, is := words[inner]; is {
				return known
			}
			if m := condition.FindStringSubmatch(inner); m != nil {
				return "{{ if $labels." + m[1] + " }}"
			}
			if m := either.FindStringSubmatch(inner); m != nil {
				return "{{ or $labels." + m[1] + " $labels." + m[2] + " }}"
			}
			if m := its.FindStringSubmatch(inner); m != nil {
				return "{{ . | label \"" + m[1] + "\" }}"
			}
			if m := first.FindStringSubmatch(inner); m != nil {
				return "{{ . | sortByLabel \"" + m[1] + "\" | first | label \"" + m[1] + "\" }}"
			}
			if m := query.FindStringSubmatch(inner); m != nil {
				sorted := ""
				if m[3] != "" {
					sorted = " | sortByLabel \"" + m[3] + "\""
				}
				return "{{ " + m[1] + " " + ask(m[2]) + sorted + " }}"
			}
			if !label.MatchString(inner) {
				failed = fmt.Errorf("<%s>: no such word; write a label, or one of %s", inner, strings.Join(sortedKeys(words), ", "))
				return ""
			}
			return "{{ $labels." + inner + " }}"
		})
	}
	if strings.Contains(text, "$site") {
		text = site(slices.Concat(x.owners, notSite)) + text
	}
	if failed == nil {
		const variables = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
		failed = template.NewTemplateExpander(context.Background(), variables+text, "text", nil, 0, nil, &url.URL{}, nil).ParseTest()
	}
	return text, failed
}

// ask returns the template of a query, in which {node} stands for the label of the alert, on its site.
func ask(promql string) string {
	var values []string
	promql = filled.ReplaceAllStringFunc(promql, func(found string) string {
		m := filled.FindStringSubmatch(found)
		var matchers []string
		where := ""
		names := strings.Split(strings.ReplaceAll(m[1], " ", ""), ",")
		if !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(unique, name) }) {
			where = "%s"
			values = append(values, "$site")
		}
		for _, name := range names {
			if name == "site" {
				continue
			}
			matchers = append(matchers, name+"=%q")
			values = append(values, "$labels."+name)
		}
		if m[2] != "" {
			matchers = append(matchers, m[2])
		}
		return "{" + where + strings.Join(matchers, ",") + "}"
	})
	if len(values) == 0 {
		return "query `" + promql + "`"
	}
	return "query (printf `" + promql + "` " + strings.Join(values, " ") + ")"
}
