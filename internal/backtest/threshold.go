package backtest

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"

	"github.com/avax-exporter/avax-exporter/internal/evaluation"
)

// Threshold replaces a threshold of the rules. It is the series avax:threshold_override.
type Threshold struct {
	Labels map[string]string // alert and, for most alerts, severity or within
	Value  float64
}

// ParseThreshold parses a threshold, such as AvaxHeadLag/warn=100, AvaxBaseFeeHigh=20 or AvaxStakeEndsSoon/within=7d=864000.
func ParseThreshold(text string) (Threshold, error) {
	invalid := fmt.Errorf("invalid threshold %q: write ALERT=NUMBER, ALERT/SEVERITY=NUMBER or ALERT/LABEL=VALUE=NUMBER", text)
	at := strings.LastIndexByte(text, '=')
	if at < 0 {
		return Threshold{}, invalid
	}
	value, err := strconv.ParseFloat(text[at+1:], 64)
	alert, label, labelled := strings.Cut(text[:at], "/")
	if err != nil || alert == "" || labelled && label == "" {
		return Threshold{}, invalid
	}
	t := Threshold{map[string]string{"alert": alert}, value}
	if labelled {
		name, value, named := strings.Cut(label, "=")
		if !named {
			name, value = "severity", label
		}
		t.Labels[name] = value
	}
	return t, nil
}

// Rules are the groups of a rule file.
type Rules = rulefmt.RuleGroups

// ParseRules parses a rule file and sets thresholds. A threshold that the file does not record is an error.
func ParseRules(file []byte, thresholds []Threshold) (*Rules, error) {
	groups, errs := rulefmt.Parse(file, false, model.UTF8Validation, evaluation.PromQL, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var known []string
	found := make([]bool, len(thresholds))
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if r.Record != "avax:threshold" {
				continue
			}
			known = append(known, written(r.Labels))
			for i, t := range thresholds {
				found[i] = found[i] || maps.Equal(r.Labels, t.Labels)
			}
		}
	}
	for i, t := range thresholds {
		if !found[i] {
			return nil, fmt.Errorf("unknown threshold %s: use one of %s", written(t.Labels), strings.Join(known, ", "))
		}
	}
	if len(thresholds) > 0 {
		groups.Groups = append([]rulefmt.RuleGroup{overrides(thresholds)}, groups.Groups...)
	}
	return groups, nil
}

// written returns a threshold as ParseThreshold reads it, without its value.
func written(labels map[string]string) string {
	text := labels["alert"]
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		switch name {
		case "alert":
		case "severity":
			text += "/" + labels[name]
		default:
			text += "/" + name + "=" + labels[name]
		}
	}
	return text
}

// overrides returns the group of rules that sets thresholds.
func overrides(thresholds []Threshold) rulefmt.RuleGroup {
	g := rulefmt.RuleGroup{Name: "avax-threshold-overrides"}
	for _, t := range thresholds {
		g.Rules = append(g.Rules, rulefmt.Rule{
			Record: "avax:threshold_override", Labels: t.Labels, Expr: "vector(" + strconv.FormatFloat(t.Value, 'g', -1, 64) + ")",
		})
	}
	return g
}

// ParseMatchers parses label matchers, such as job="avax",network!="fuji", and returns each as text.
func ParseMatchers(text string) (matchers []string, err error) {
	parsed, err := evaluation.PromQL.ParseMetricSelector("{" + text + "}")
	if err != nil {
		return nil, fmt.Errorf(`invalid label matchers %q: write them as in PromQL, such as job="avax"`, text)
	}
	for _, m := range parsed {
		matchers = append(matchers, m.String())
	}
	return matchers, nil
}
