package notify

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/alertmanager/silence"
	"github.com/prometheus/alertmanager/silence/silencepb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Silence suppresses the notifications of matching alerts until it ends.
type Silence struct {
	ID, By, Comment string
	Matches         string // matchers in amtool's syntax
	Starts, Ends    time.Time

	sets []labels.Matchers
}

// Mutes reports whether the silence is about an alert with these labels at this time.
func (s Silence) Mutes(of map[string]string, now time.Time) bool {
	if now.Before(s.Starts) || !now.Before(s.Ends) {
		return false
	}
	set := LabelSet(of)
	return slices.ContainsFunc(s.sets, func(m labels.Matchers) bool { return m.Matches(set) })
}

// Matcher returns a matcher of a label. It panics if the value is a pattern that is no regular expression.
func Matcher(of labels.MatchType, label, value string) *labels.Matcher {
	m, err := labels.NewMatcher(of, label, value)
	if err != nil {
		panic(err)
	}
	return m
}

// MatchersText formats matchers in amtool's syntax, such as alertname="AvaxHeadLag",node="alpha".
func MatchersText(set labels.Matchers) string {
	return strings.TrimSuffix(strings.TrimPrefix(set.String(), "{"), "}")
}

// nodeLabels are the labels that say which node an alert is about: NodeMatchers and NodesOf decide by them.
var nodeLabels = []struct {
	name   string
	isID   bool // its value is the node ID, else the configured name
	isPath bool // a chain may follow the name, such as alpha/C
}{{name: "node"}, {name: "node_id", isID: true}, {name: "upstream"}, {name: "target", isPath: true}}

// NodeMatchers returns the matchers of the alerts about a node, including alerts about calling it, and about its validators on the primary network and L1s.
// Such an alert matches one of the sets. Name is the configured name, id the node ID. One of them may be empty.
func NodeMatchers(name, id string) (sets []labels.Matchers) {
	for _, l := range nodeLabels {
		of, value := labels.MatchEqual, name
		switch {
		case l.isID:
			value = id
		case name != "" && l.isPath:
			of, value = labels.MatchRegexp, regexp.QuoteMeta(name)+"(/.*)?"
		}
		if value != "" {
			sets = append(sets, labels.Matchers{Matcher(of, l.name, value)})
		}
	}
	return sets
}

// NodesOf returns which nodes an alert with these labels is about: their configured names and node IDs.
func NodesOf(label func(name string) string) (found []string) {
	for _, l := range nodeLabels {
		value := label(l.name)
		if l.isPath {
			value, _, _ = strings.Cut(value, "/")
		}
		if value != "" {
			found = append(found, value)
		}
	}
	return found
}

// AlertMatchers returns the matchers of one alert, in amtool's syntax: all of its labels, but not those that are the same for all alerts of this process. These
// are the external labels and some others.
func AlertMatchers(of, external map[string]string) string {
	var set labels.Matchers
	for _, label := range slices.Sorted(maps.Keys(of)) {
		value := of[label]
		if value != "" && external[label] != value && !slices.Contains([]string{"job", "instance", "pod"}, label) {
			set = append(set, Matcher(labels.MatchEqual, label, value))
		}
	}
	return MatchersText(set)
}

// Silences returns active and pending silences, sorted by end.
func (n *Notifier) Silences(ctx context.Context) ([]Silence, error) {
	found, _, err := n.silences.Query(ctx, silence.QState(silence.SilenceStateActive, silence.SilenceStatePending))
	if err != nil {
		return nil, err
	}
	var all []Silence
	for _, s := range found {
		var sets []string
		var parsed []labels.Matchers
		for _, set := range s.MatcherSets {
			var matchers []string
			var one labels.Matchers
			for _, m := range set.Matchers {
				matchers = append(matchers, m.Name+operators[m.Type].String()+strconv.Quote(m.Pattern))
				matcher, err := labels.NewMatcher(operators[m.Type], m.Name, m.Pattern)
				if err != nil {
					return nil, err
				}
				one = append(one, matcher)
			}
			sets, parsed = append(sets, strings.Join(matchers, ", ")), append(parsed, one)
		}
		all = append(all, Silence{
			sets: parsed,
			ID:   s.Id, By: s.CreatedBy, Comment: s.Comment, Matches: strings.Join(sets, " or "),
			Starts: s.StartsAt.AsTime(), Ends: s.EndsAt.AsTime(),
		})
	}
	slices.SortFunc(all, func(a, b Silence) int {
		return cmp.Or(a.Ends.Compare(b.Ends), strings.Compare(a.Matches+a.ID, b.Matches+b.ID))
	})
	return all, nil
}

var operators = map[silencepb.Matcher_Type]labels.MatchType{
	silencepb.Matcher_EQUAL: labels.MatchEqual, silencepb.Matcher_NOT_EQUAL: labels.MatchNotEqual,
	silencepb.Matcher_REGEXP: labels.MatchRegexp, silencepb.Matcher_NOT_REGEXP: labels.MatchNotRegexp,
}

// Silence creates a silence for each set of matchers: for the alerts that match all of them. It starts now and lasts for this duration. If one cannot be
// created, Silence ends the others.
func (n *Notifier) Silence(ctx context.Context, sets []labels.Matchers, lasts time.Duration, by, comment string) error {
	now := time.Now()
	var created []string
	for _, set := range sets {
		var matchers []*silencepb.Matcher
		for _, m := range set {
			one := &silencepb.Matcher{Name: m.Name, Pattern: m.Value}
			for stored, of := range operators {
				if of == m.Type {
					one.Type = stored
				}
			}
			matchers = append(matchers, one)
		}
		one := &silencepb.Silence{
			MatcherSets: []*silencepb.MatcherSet{{Matchers: matchers}},
			StartsAt:    timestamppb.New(now), EndsAt: timestamppb.New(now.Add(lasts)), CreatedBy: by, Comment: comment,
		}
		if err := n.silences.Set(ctx, one); err != nil {
			for _, id := range created {
				err = errors.Join(err, n.silences.Expire(ctx, id))
			}
			return err
		}
		created = append(created, one.Id)
	}
	return n.saved(ctx)
}

// EndSilence ends a silence now.
func (n *Notifier) EndSilence(ctx context.Context, id string) error {
	if err := n.silences.Expire(ctx, id); err != nil {
		return err
	}
	return n.saved(ctx)
}
