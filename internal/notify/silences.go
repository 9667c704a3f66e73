package notify

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/silence"
	"github.com/prometheus/alertmanager/silence/silencepb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Silence suppresses the notifications of matching alerts until it ends.
type Silence struct {
	ID, By, Comment string
	Matches         string // matchers in amtool's syntax
	Starts, Ends    time.Time
}

// Match is a label that an alert must have.
type Match struct{ Label, Value string }

// NodeMatches returns the labels that identify the alerts about a node, including alerts about its validators on the primary
// network and L1s. Such an alert has one of these labels. Name is the configured name, id the node ID, which may be empty.
func NodeMatches(name, id string) []Match {
	matches := []Match{{"node", name}}
	if id != "" {
		matches = append(matches, Match{"node_id", id})
	}
	return matches
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
		for _, set := range s.MatcherSets {
			var matchers []string
			for _, m := range set.Matchers {
				matchers = append(matchers, m.Name+operators[m.Type]+strconv.Quote(m.Pattern))
			}
			sets = append(sets, strings.Join(matchers, ", "))
		}
		all = append(all, Silence{
			ID: s.Id, By: s.CreatedBy, Comment: s.Comment, Matches: strings.Join(sets, " or "),
			Starts: s.StartsAt.AsTime(), Ends: s.EndsAt.AsTime(),
		})
	}
	slices.SortFunc(all, func(a, b Silence) int {
		if order := a.Ends.Compare(b.Ends); order != 0 {
			return order
		}
		return strings.Compare(a.Matches+a.ID, b.Matches+b.ID)
	})
	return all, nil
}

var operators = map[silencepb.Matcher_Type]string{
	silencepb.Matcher_EQUAL: "=", silencepb.Matcher_NOT_EQUAL: "!=", silencepb.Matcher_REGEXP: "=~", silencepb.Matcher_NOT_REGEXP: "!~",
}

// Silence creates a silence for alerts with at least one of these labels. It starts now and lasts for this duration.
func (n *Notifier) Silence(ctx context.Context, matches []Match, lasts time.Duration, by, comment string) error {
	now := time.Now()
	for _, m := range matches {
		err := n.silences.Set(ctx, &silencepb.Silence{
			MatcherSets: []*silencepb.MatcherSet{{Matchers: []*silencepb.Matcher{{Type: silencepb.Matcher_EQUAL, Name: m.Label, Pattern: m.Value}}}},
			StartsAt:    timestamppb.New(now), EndsAt: timestamppb.New(now.Add(lasts)), CreatedBy: by, Comment: comment,
		})
		if err != nil {
			return err
		}
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
