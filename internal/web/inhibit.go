package web

import (
	"strings"
	"sync"

	amlabels "github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
)

// inhibition is an inhibit rule of Alertmanager: an active source suppresses the targets that have the same values of the
// labels in equal.
type inhibition struct {
	source, target amlabels.Matchers
	equal          []string
}

// shippedInhibitions are the rules of deploy/alertmanager/alertmanager.yml. Invalid rules cause a panic. Tests load
// the same file into Alertmanager.
var shippedInhibitions = sync.OnceValue(func() []inhibition {
	rules, err := inhibitionsOf(alertmanager.Config)
	if err != nil {
		panic(err)
	}
	return rules
})

// inhibitionsOf parses the inhibit rules of an Alertmanager configuration.
func inhibitionsOf(config []byte) ([]inhibition, error) {
	var file struct {
		InhibitRules []struct {
			SourceMatchers []string `yaml:"source_matchers"`
			TargetMatchers []string `yaml:"target_matchers"`
			Equal          []string
		} `yaml:"inhibit_rules"`
	}
	if err := yaml.Unmarshal(config, &file); err != nil {
		return nil, err
	}
	parse := func(texts []string) (all amlabels.Matchers, err error) {
		for _, text := range texts {
			matchers, err := amlabels.ParseMatchers(text)
			if err != nil {
				return nil, err
			}
			all = append(all, matchers...)
		}
		return all, nil
	}
	rules := make([]inhibition, len(file.InhibitRules))
	for i, r := range file.InhibitRules {
		var err error
		if rules[i].source, err = parse(r.SourceMatchers); err != nil {
			return nil, err
		}
		if rules[i].target, err = parse(r.TargetMatchers); err != nil {
			return nil, err
		}
		rules[i].equal = r.Equal
	}
	return rules, nil
}

// class tells for each inhibition whether an alert is a source or a target. Alerts with equal matched labels share a class.
type class struct{ source, target []bool }

// inhibit sets active.by as Alertmanager would suppress alerts. In addition, a pending alert suppresses pending alerts.
func inhibit(alerts []*active, rules []inhibition) {
	var names []string // labels that matchers use
	for _, r := range rules {
		for _, m := range append(r.source[:len(r.source):len(r.source)], r.target...) {
			names = appendNew(names, m.Name)
		}
	}
	classes := map[string]*class{}
	of := make([]*class, len(alerts))
	for i, a := range alerts {
		key := joined(a.Labels, names)
		if classes[key] == nil {
			set := make(model.LabelSet, len(a.Labels))
			for name, value := range a.Labels {
				set[model.LabelName(name)] = model.LabelValue(value)
			}
			c := &class{make([]bool, len(rules)), make([]bool, len(rules))}
			for n, r := range rules {
				c.source[n], c.target[n] = r.source.Matches(set), r.target.Matches(set)
			}
			classes[key] = c
		}
		of[i] = classes[key]
	}
	for n, r := range rules {
		// Sources by the values of the labels in equal. The map only omits the sources that are also targets.
		only, all := map[string]*active{}, map[string]*active{}
		add := func(to map[string]*active, key string, a *active) {
			if old := to[key]; old == nil || a.firing && !old.firing {
				to[key] = a
			}
		}
		for i, a := range alerts {
			if of[i].source[n] {
				key := joined(a.Labels, r.equal)
				add(all, key, a)
				if !of[i].target[n] {
					add(only, key, a)
				}
			}
		}
		for i, a := range alerts {
			if !of[i].target[n] || a.by != nil {
				continue
			}
			sources := all
			if of[i].source[n] { // an alert that is also a source: two such alerts must not suppress each other
				sources = only
			}
			if s := sources[joined(a.Labels, r.equal)]; s != nil && s != a && (s.firing || !a.firing) {
				a.by = s
			}
		}
	}
}

// joined joins the values of some labels; an absent label is empty.
func joined(labels map[string]string, names []string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(labels[name])
		b.WriteByte(0xff) // never part of a label value
	}
	return b.String()
}
