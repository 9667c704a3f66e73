package notify

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/prometheus/alertmanager/alert"
	amconfig "github.com/prometheus/alertmanager/config"
	amcommon "github.com/prometheus/alertmanager/config/common"
	"github.com/prometheus/alertmanager/inhibit"
	"github.com/prometheus/alertmanager/marker"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/alertmanager/provider"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// Inhibition holds inhibit rules of Alertmanager: which active alert suppresses which. The zero Inhibition suppresses nothing.
type Inhibition struct{ rules []amcommon.InhibitRule }

// ParseInhibition returns the inhibit rules of a configuration in Alertmanager's format. It ignores the rest, which may be that of another
// version.
func ParseInhibition(config []byte) (Inhibition, error) {
	var conf struct {
		Rules []amcommon.InhibitRule `yaml:"inhibit_rules"`
	}
	if err := yaml.Unmarshal(config, &conf); err != nil {
		return Inhibition{}, fmt.Errorf("inhibit rules: %w", err)
	}
	return Inhibition{conf.Rules}, nil
}

// InhibitionOf returns the inhibit rules of a configuration.
func InhibitionOf(conf *amconfig.Config) Inhibition { return Inhibition{conf.InhibitRules} }

// Inhibition returns the inhibit rules in force: those of AVAX_NOTIFY_FILE or, if it has none, the shipped rules.
func (n *Notifier) Inhibition() Inhibition {
	n.mu.Lock()
	defer n.mu.Unlock()
	return InhibitionOf(n.conf)
}

// InhibitionFor returns the inhibit rules of the file or, if it has none, the shipped rules.
func InhibitionFor(c Config) (Inhibition, error) {
	conf, err := load(c)
	if err != nil {
		return Inhibition{}, err
	}
	return InhibitionOf(conf), nil
}

// Applies reports whether a rule has both a source and a target among these alerts. Without one, no cause suppresses its effects.
func (in Inhibition) Applies(alerts []map[string]string) bool {
	matches := func(ms labels.Matchers) bool {
		return slices.ContainsFunc(alerts, func(a map[string]string) bool { return ms.Matches(LabelSet(a)) })
	}
	return slices.ContainsFunc(in.rules, func(r amcommon.InhibitRule) bool {
		source, target := matchersOf(r)
		return matches(source) && matches(target)
	})
}

// Suppressed returns which alerts, given by their index, a source suppresses. An alert that is itself a source of the rule is no target of a source that
// is a target too.
func (in Inhibition) Suppressed(source map[string]string, alerts []map[string]string) (suppressed []int) {
	from, sets := LabelSet(source), make([]model.LabelSet, len(alerts))
	for i, a := range alerts {
		sets[i] = LabelSet(a)
	}
	for _, r := range in.rules {
		sources, targets := matchersOf(r)
		if !sources.Matches(from) {
			continue
		}
		both := targets.Matches(from)
		for i, a := range alerts {
			differs := slices.ContainsFunc(r.Equal, func(name string) bool { return source[name] != a[name] })
			if to := sets[i]; !differs && targets.Matches(to) && (!both || !sources.Matches(to)) {
				suppressed = append(suppressed, i)
			}
		}
	}
	slices.Sort(suppressed)
	return slices.Compact(suppressed)
}

// matchersOf returns the matchers of a rule, with those of its old form.
func matchersOf(r amcommon.InhibitRule) (source, target labels.Matchers) {
	source, target = labels.Matchers(slices.Clone(r.SourceMatchers)), labels.Matchers(slices.Clone(r.TargetMatchers))
	for name, value := range r.SourceMatch {
		source = append(source, &labels.Matcher{Type: labels.MatchEqual, Name: name, Value: value})
	}
	for name, value := range r.TargetMatch {
		target = append(target, &labels.Matcher{Type: labels.MatchEqual, Name: name, Value: value})
	}
	return source, target
}

// Inhibitors returns, for each alert, the index of the alert that inhibits it, or -1. Alertmanager's inhibitor decides, as if all
// alerts fired. alerts has the labels of each alert.
func (in Inhibition) Inhibitors(alerts []map[string]string) []int {
	sets := make([]model.LabelSet, len(alerts))
	sources, index := given{}, map[string]int{}
	for i, a := range alerts {
		sets[i] = LabelSet(a)
		sources.alerts = append(sources.alerts, &alert.Alert{Alert: model.Alert{Labels: sets[i]}})
		index[sets[i].Fingerprint().String()] = i
	}
	inhibitor := inhibit.NewInhibitor(sources, in.rules, slog.New(slog.DiscardHandler), recorder)
	go inhibitor.Run()
	defer inhibitor.Stop()
	inhibitor.WaitForLoading()
	by := make([]int, len(alerts))
	marks := marker.NewAlertMarker()
	ctx := marker.WithContext(context.Background(), marks)
	for i, set := range sets {
		by[i] = -1
		if inhibitor.Mutes(ctx, set) {
			by[i] = index[marks.Status(set.Fingerprint()).InhibitedBy[0]]
		}
	}
	return by
}

// LabelSet returns labels in the type of Alertmanager.
func LabelSet(labels map[string]string) model.LabelSet {
	set := make(model.LabelSet, len(labels))
	for name, value := range labels {
		set[model.LabelName(name)] = model.LabelValue(value)
	}
	return set
}

// given provides a fixed list of alerts to an inhibitor.
type given struct {
	provider.Alerts // nil: an inhibitor calls only SlurpAndSubscribe
	alerts          []*alert.Alert
}

// SlurpAndSubscribe implements provider.Alerts.
func (g given) SlurpAndSubscribe(string) ([]*alert.Alert, provider.AlertIterator) {
	return g.alerts, provider.NewAlertIterator(nil, make(chan struct{}), nil)
}
