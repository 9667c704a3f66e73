package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/docs"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Silences creates, lists and ends silences.
type Silences interface {
	Silences(ctx context.Context) ([]notify.Silence, error)
	Silence(ctx context.Context, sets []labels.Matchers, lasts time.Duration, by, comment string) error
	EndSilence(ctx context.Context, id string) error
}

// maySilence reports whether the client may change silences.
func (s *Site) maySilence(r *http.Request) bool { return s.Silences != nil && s.Access.Allows(r) }

// silenceSection shows the silences. For clients that may change silences it has forms, for others it shows the command.
func (v *view) silenceSection(what string, may bool) g.Node {
	now := v.At
	if v.site.Silences == nil {
		return g.Group{}
	}
	if v.silencesErr != nil {
		return section("silences", "Silences", nil, h.P(h.Class("bad"), g.Text("Silences cannot be read: "+v.silencesErr.Error())))
	}
	rows := mapped(together(v.silences), func(all []notify.Silence) tableRow {
		one := all[0]
		matches := strings.Join(mapped(all, func(s notify.Silence) string { return s.Matches }), " or ")
		until := one.Ends.UTC().Format("2006-01-02 15:04 UTC") + ", " + words.Span(one.Ends.Sub(now)) + " left"
		if one.Starts.After(now) {
			until += ", begins in " + words.Span(one.Starts.Sub(now))
		}
		cells := []cell{textCell("Until", until, status.Urgency{}), textCell("By", one.By, status.Urgency{}), textCell("Comment", one.Comment, status.Urgency{})}
		if may {
			cells = append(cells, cell{"End", status.Urgency{}, h.Form(h.Method("post"), h.Action("alerts/end"),
				g.Map(all, func(s notify.Silence) g.Node { return h.Input(h.Type("hidden"), h.Name("id"), h.Value(s.ID)) }),
				h.Button(h.Aria("label", "End the silence of "+matches), g.Text("End")))})
		}
		return tableRow{header: h.Code(g.Text(matches)), cells: cells}
	})
	return section("silences", "Silences", nil,
		g.If(len(v.silences) == 0, dim("No silences.")),
		g.If(len(v.silences) > 0, table("", "Silences", "Alerts with", rows)),
		g.If(may, silenceForm(what, v.IsNode(what))),
		g.If(!may, h.P(h.Class("dim"), g.Text("To silence a node, a validator, an L1 or an alert, run "),
			h.Code(g.Text("avax-exporter silence --comment \"why\" "+cmp.Or(what, "NODE")+" 30m")),
			g.Text(". This page has a form for clients with a password or a client certificate (AVAX_WEB_CONFIG_FILE), and on the exporter's machine."))),
	)
}

// together groups the silences that were created at once, which end at once: those of all labels that name one node.
func together(all []notify.Silence) (groups [][]notify.Silence) {
	for _, one := range all {
		same := func(of []notify.Silence) bool {
			return of[0].By == one.By && of[0].Comment == one.Comment && of[0].Ends.Equal(one.Ends)
		}
		if i := slices.IndexFunc(groups, same); i >= 0 {
			groups[i] = append(groups[i], one)
		} else {
			groups = append(groups, []notify.Silence{one})
		}
	}
	return groups
}

// silenceForm creates a silence of a node, validator, L1 or alert, or of what matches labels.
func silenceForm(what string, isNode bool) g.Node {
	field := func(name, label, value string) g.Node {
		return h.Label(g.Text(label+" "), h.Input(h.Name(name), h.Value(value), h.Required()))
	}
	return h.Form(h.Class("silence"), h.Method("post"), h.Action("alerts/silence"),
		field("node", "Silence node, validator, L1, alert or matchers", what), field("for", "for", "30m"), field("comment", "because of", "maintenance"),
		h.Button(g.Text("Silence")),
		g.If(isNode, link("safe-to-stop?hold=false&node="+url.QueryEscape(what), "Is it safe to stop "+what+"?")))
}

// longestSilence is the maximum duration of a silence, to protect against typing errors.
const longestSilence = 31 * 24 * time.Hour

// changeSilences serves POST /alerts/silence, with node (see matchersOf), for and comment, and POST /alerts/end, with the id of a silence.
func (s *Site) changeSilences(w http.ResponseWriter, r *http.Request) {
	if s.Silences == nil {
		http.Error(w, "this process sends no notifications: set AVAX_NOTIFY_FILE", http.StatusNotFound)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	change, by := r.PathValue("change"), s.Access.user(r)
	var err error
	switch change {
	case "silence":
		err = s.silence(r.Context(), r.PostFormValue("node"), r.PostFormValue("for"), by, r.PostFormValue("comment"))
	case "end":
		err = s.endSilences(r)
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.Log.Info("silences changed", "change", change, "by", by, "node", r.PostFormValue("node"), "silence", r.PostFormValue("id"))
	s.silenceChanges.Add(1)
	w.Header().Set("Location", "../alerts#silences")
	w.WriteHeader(http.StatusSeeOther)
}

// endSilences ends the silences of one row.
func (s *Site) endSilences(r *http.Request) (err error) {
	_ = r.PostFormValue("id") // parses the form
	ids := r.PostForm["id"]
	if len(ids) == 0 {
		ids = []string{""}
	}
	for _, id := range ids {
		err = errors.Join(err, s.Silences.EndSilence(r.Context(), id))
	}
	return err
}

func (s *Site) silence(ctx context.Context, what, lasts, by, comment string) error {
	d, err := time.ParseDuration(strings.TrimSpace(lasts))
	if err != nil || d <= 0 || d > longestSilence {
		return fmt.Errorf("%q: write a duration with its unit, such as 30m or 2h, of at most 744h", lasts)
	}
	sets, left, err := s.matchersOf(ctx, what)
	if err != nil {
		return err
	}
	comment = cmp.Or(strings.TrimSpace(comment), "maintenance")
	if len(left) > 0 {
		comment += " (" + strings.Join(left, "; ") + ")"
	}
	return s.Silences.Silence(ctx, sets, d, by, comment)
}

// silenceMatches serves GET /silence-matches?of=NAME: the alerts about what is named, a set of matchers in amtool's syntax in each line. A line that begins
// with # says what is left out. The command silence sends the others to an Alertmanager.
func (s *Site) silenceMatches(w http.ResponseWriter, r *http.Request) {
	sets, left, err := s.matchersOf(r.Context(), r.FormValue("of"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, text := range left {
		fmt.Fprintln(w, "#", text)
	}
	for _, set := range sets {
		fmt.Fprintln(w, notify.MatchersText(set))
	}
}

// matchersOf returns the matchers of the alerts about what a text names: a node, a validator, an L1 or an alert; or the matchers that it has in amtool's
// syntax, such as alertname=AvaxHeadLag, node=alpha. An alert matches all matchers of one of the sets. left says which node IDs are left out, because another
// node reports them, too.
func (s *Site) matchersOf(ctx context.Context, text string) (sets []labels.Matchers, left []string, err error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil, errors.New("nothing to silence: name a node, a validator, an L1 or an alert, or write matchers, such as alertname=AvaxHeadLag, node=alpha")
	}
	st := s.statusAt(time.Now())
	groups, unread := s.groups(ctx)
	if strings.ContainsAny(text, "=~") {
		set, err := labels.ParseMatchers(text)
		if err != nil {
			return nil, nil, err
		}
		known := alertLabels(groups)
		for _, m := range set {
			if !slices.Contains(known, m.Name) {
				return nil, nil, andUnread(fmt.Errorf("no alert has a label %q: the labels of alerts are %s. AVAX_ALERT_LABELS gives alerts the labels of nodes", m.Name,
					strings.Join(known, ", ")), unread)
			}
		}
		return []labels.Matchers{set}, nil, nil
	}
	if sets, left = matchersOfName(st, groups, text); len(sets) > 0 {
		return sets, left, nil
	}
	remedy := st.NodeList()
	if strings.ContainsAny(text, " ,") {
		remedy = "for alerts that match several labels, write matchers, such as alertname=AvaxHeadLag, node=alpha"
	} else if near := spelling.Near(text, slices.Concat(st.NodeNames, st.ChainNames(), alertNames(groups))); len(near) > 0 {
		remedy = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return nil, nil, andUnread(fmt.Errorf("unknown node %q, and no validator, L1 or alert has this name: %s", text, remedy), unread)
}

// andUnread adds why only the built-in alerts and the labels of families are known.
func andUnread(err, unread error) error {
	if unread == nil {
		return err
	}
	return fmt.Errorf("%w; only the names and labels of the built-in alerts are known here, because %w: write another alert as alertname=NAME", err, unread)
}

// alertNames returns the names of the alerts. Those of the built-in ones are always known: an Alertmanager may get alerts from somebody else.
func alertNames(groups []alerting.Group) (names []string) {
	builtin, _ := docs.Runbooks.ReadDir("runbooks")
	for _, file := range builtin {
		names = append(names, strings.TrimSuffix(file.Name(), ".md"))
	}
	for _, group := range groups {
		for _, r := range group.Rules {
			if r.Type == alerting.AlertingRule {
				names = append(names, r.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// alertLabels returns the labels of alerts, sorted: those of families, and those of the rules and of what is active.
func alertLabels(groups []alerting.Group) (all []string) {
	all = []string{"alertname", "severity", "job", "instance", "node", "chain", "node_id", "validation_id", "subnet_id", "collector", "target", "upstream"}
	for _, group := range groups {
		for _, r := range group.Rules {
			all = slices.AppendSeq(all, maps.Keys(r.Labels))
			for _, a := range r.Alerts {
				all = slices.AppendSeq(all, maps.Keys(a.Labels))
			}
		}
	}
	for _, spec := range collectors.All() {
		for _, f := range spec.Families {
			all = append(all, f.Labels...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// matchersOfName returns the matchers of the alerts about a node, a validator, an L1 or an alert; none if nothing has this name.
func matchersOfName(st *status.Status, groups []alerting.Group, name string) (sets []labels.Matchers, left []string) {
	one := func(label, value string) ([]labels.Matchers, []string) {
		return []labels.Matchers{{notify.Matcher(labels.MatchEqual, label, value)}}, nil
	}
	node := func(name, id string) ([]labels.Matchers, []string) {
		// The alerts about an ID that another node reports may be about the other node.
		if others := st.AlsoOf(id, name); len(others) > 0 {
			return notify.NodeMatchers(name, ""), []string{"without the alerts about " + id + ", which " + words.Brief(others) + " reports, too"}
		}
		return notify.NodeMatchers(name, id), nil
	}
	nodeID, validationID := st.IDsOf(name)
	isL1 := func(l *status.L1) bool { return l.Chain == name }
	switch {
	case st.IsNode(name):
		return node(name, st.IDOf(name))
	case slices.ContainsFunc(st.L1s, isL1) || slices.Contains(st.ChainNames(), name):
		return one("chain", name)
	case slices.Contains(alertNames(groups), name):
		return one("alertname", name)
	case nodeID != "" && st.NodeOf(nodeID) != "" && len(st.AlsoOf(nodeID, st.NodeOf(nodeID))) == 0:
		return node(st.NodeOf(nodeID), nodeID)
	case nodeID != "":
		return one("node_id", nodeID)
	case validationID != "":
		return one("validation_id", validationID)
	}
	return nil, nil
}
