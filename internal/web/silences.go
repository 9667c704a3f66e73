package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

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
	Silence(ctx context.Context, sets [][]notify.Match, lasts time.Duration, by, comment string) error
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
		g.If(!may, h.P(h.Class("dim"), g.Text("To silence a node, a validator, an L1, an alert or a label, run "),
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

// silenceForm creates a silence of a node, validator, L1, alert or label, or of several that an alert must all be about.
func silenceForm(what string, isNode bool) g.Node {
	field := func(name, label, value string) g.Node {
		return h.Label(g.Text(label+" "), h.Input(h.Name(name), h.Value(value), h.Required()))
	}
	return h.Form(h.Class("silence"), h.Method("post"), h.Action("alerts/silence"),
		field("node", "Silence node, validator, L1, alert or label=value", what), field("for", "for", "30m"), field("comment", "because of", "maintenance"),
		h.Button(g.Text("Silence")),
		g.If(isNode, link("safe-to-stop?hold=false&node="+url.QueryEscape(what), "Is it safe to stop "+what+"?")))
}

// longestSilence is the maximum duration of a silence, to protect against typing errors.
const longestSilence = 31 * 24 * time.Hour

// changeSilences serves POST /alerts/silence, with node (see matchesOf), for and comment, and POST /alerts/end, with the id of a silence.
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
	sets, left, err := s.matchesOf(ctx, what)
	if err != nil {
		return err
	}
	comment = cmp.Or(strings.TrimSpace(comment), "maintenance")
	if len(left) > 0 {
		comment += " (" + strings.Join(left, "; ") + ")"
	}
	return s.Silences.Silence(ctx, sets, d, by, comment)
}

// silenceMatches serves GET /silence-matches?of=WORDS: the labels of the alerts about what the words name, a set of matchers in amtool's syntax in each line.
// A line that begins with # says what is left out. The command silence sends the others to an Alertmanager.
func (s *Site) silenceMatches(w http.ResponseWriter, r *http.Request) {
	sets, left, err := s.matchesOf(r.Context(), r.FormValue("of"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, text := range left {
		fmt.Fprintln(w, "#", text)
	}
	for _, set := range sets {
		fmt.Fprintln(w, strings.Join(mapped(set, notify.Match.String), ", "))
	}
}

// matchesOf returns the labels of the alerts about what words name: a node, a validator, an L1, an alert, or a label with its value. An alert has one of the
// sets. With several words, it is about all of them. Together with alertname=NAME, each label is one of the alert itself: notify.AlertWords names one alert so.
// left says which node IDs are left out, because another node reports them, too.
func (s *Site) matchesOf(ctx context.Context, text string) (sets [][]notify.Match, left []string, err error) {
	named, err := wordsOf(text)
	if err != nil {
		return nil, nil, err
	}
	if len(named) > maxWords {
		return nil, nil, fmt.Errorf("%d words: name at most %d, of which an alert must have all", len(named), maxWords)
	}
	st := s.statusAt(time.Now())
	groups, unread := s.groups(ctx)
	ofAlert := slices.ContainsFunc(named, func(word string) bool { return strings.HasPrefix(word, "alertname=") })
	for _, word := range named {
		of, without, err := matchesOfWord(st, groups, word, ofAlert)
		switch {
		case err != nil && unread != nil:
			return nil, nil, fmt.Errorf("%w; only the names and labels of the built-in alerts are known here, because %w: write another alert as alertname=NAME",
				err, unread)
		case err != nil:
			return nil, nil, err
		}
		left = append(left, without...)
		if sets == nil {
			sets = of
			continue
		}
		var both [][]notify.Match
		for _, a := range sets {
			for _, b := range of {
				both = append(both, append(slices.Clone(a), b...))
			}
		}
		if sets = both; len(sets) > maxSets {
			return nil, nil, fmt.Errorf("%d silences are needed, at most %d are possible: name fewer labels of nodes and validators", len(sets), maxSets)
		}
	}
	if len(sets) == 0 {
		return nil, nil, errors.New("nothing to silence: name a node, a validator, an L1, an alert, or a label as name=value")
	}
	return sets, left, nil
}

// Limits of what a silence is about.
const (
	maxWords = 20  // an alert has its name and a word for each label
	maxSets  = 250 // three labels of nodes and validators are 6³ sets
	// maxPattern is the maximum size of a pattern of names in bytes. A silence of this process has at most 16 KiB: three patterns fit.
	maxPattern = 5 << 10
)

// wordsOf splits a text at spaces. A word, or the value after name=, may be quoted: SilenceWord does it.
func wordsOf(text string) (words []string, _ error) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		end := strings.IndexFunc(text, unicode.IsSpace)
		if end < 0 {
			end = len(text)
		}
		name, _, isQuoted := strings.Cut(text[:end], `"`)
		if !isQuoted || name != "" && strings.Index(name, "=") != len(name)-1 {
			words, text = append(words, text[:end]), text[end:]
			continue
		}
		quoted, err := strconv.QuotedPrefix(text[len(name):])
		if err != nil {
			return nil, fmt.Errorf("%s: close the quotation mark", text)
		}
		value, _ := strconv.Unquote(quoted)
		words, text = append(words, name+value), text[len(name)+len(quoted):]
	}
	return words, nil
}

// SilenceWord returns a name, or a label as name=value, as one of the words that /silence-matches gets. It quotes a value with spaces.
func SilenceWord(word string) string {
	name, value, isLabel := strings.Cut(word, "=")
	if !isLabel {
		name, value = "", word
	} else {
		name += "="
	}
	if _, err := strconv.Unquote(value); err == nil && strings.HasPrefix(value, `"`) {
		return word
	}
	return name + notify.Quoted(value)
}

// matchesOfWord returns the sets of one word. The built-in alerts and the labels of families are always known: an Alertmanager may get alerts from somebody
// else, and an alert may have ended. With ofAlert, a label stands for itself, not for nodes and validators.
func matchesOfWord(st *status.Status, groups []alerting.Group, word string, ofAlert bool) (sets [][]notify.Match, left []string, err error) {
	var alerts []string
	builtin, _ := docs.Runbooks.ReadDir("runbooks")
	for _, file := range builtin {
		alerts = append(alerts, strings.TrimSuffix(file.Name(), ".md"))
	}
	known := []string{"alertname", "severity", "job", "instance", "node", "chain", "node_id", "validation_id", "subnet_id", "collector", "target", "upstream"}
	for _, group := range groups {
		for _, r := range group.Rules {
			if r.Type != alerting.AlertingRule {
				continue
			}
			alerts = appendNew(alerts, r.Name)
			for name := range r.Labels {
				known = appendNew(known, name)
			}
			for _, a := range r.Alerts {
				for name := range a.Labels {
					known = appendNew(known, name)
				}
			}
		}
	}
	for _, spec := range collectors.All() {
		for _, f := range spec.Families {
			for _, name := range f.Labels {
				known = appendNew(known, name)
			}
		}
	}
	one := func(label, value string) ([][]notify.Match, []string, error) {
		return [][]notify.Match{{{Label: label, Value: value}}}, nil, nil
	}
	node := func(name, id string) ([][]notify.Match, []string, error) {
		ids, left := certain(st, []string{id}, name)
		return notify.NodeMatches(name, strings.Join(ids, ""), false), left, nil
	}
	label, value, isLabel := strings.Cut(word, "=")
	nodeID, validationID := st.IDsOf(word)
	chains := append(mapped(st.L1s, func(l *status.L1) string { return l.Chain }), st.ChainNames()...)
	switch {
	case isLabel && st.IsLabel(label) && !ofAlert:
		sets, left = matchesOfLabel(st, label, value)
		return sets, left, nil
	case isLabel && (slices.Contains(known, label) || st.IsLabel(label)) && value != "":
		return one(label, value)
	case isLabel:
		return nil, nil, fmt.Errorf("no alert, node or validator has a label %q: the labels of alerts are %s", label,
			strings.Join(slices.Sorted(slices.Values(known)), ", "))
	case st.IsNode(word):
		return node(word, st.IDOf(word))
	case slices.Contains(chains, word):
		return one("chain", word)
	case slices.Contains(alerts, word):
		return one("alertname", word)
	case nodeID != "" && st.NodeOf(nodeID) != "" && len(st.AlsoOf(nodeID, st.NodeOf(nodeID))) == 0:
		return node(st.NodeOf(nodeID), nodeID)
	case nodeID != "":
		return one("node_id", nodeID)
	case validationID != "":
		return one("validation_id", validationID)
	}
	remedy := st.NodeList()
	if near := spelling.Near(word, slices.Concat(st.NodeNames, chains, alerts)); len(near) > 0 {
		remedy = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return nil, nil, fmt.Errorf("unknown node %q, and no validator, L1 or alert has this name: %s", word, remedy)
}

// certain returns those of the node IDs that no other node reports than these, and a text about each other one: its alerts may be about the other node.
func certain(st *status.Status, ids []string, nodes ...string) (its, left []string) {
	for _, id := range ids {
		if others := st.AlsoOf(id, nodes...); len(others) > 0 {
			left = append(left, "without the alerts about "+id+", which "+words.Brief(others)+" reports, too")
			continue
		}
		its = append(its, id)
	}
	return its, left
}

// matchesOfLabel returns the labels of the alerts about the nodes and validators with a label that the user gave, and of the alerts that have it.
func matchesOfLabel(st *status.Status, label, value string) (sets [][]notify.Match, left []string) {
	nodes, nodeIDs, validationIDs := st.With(label, value)
	nodeIDs, left = certain(st, nodeIDs, nodes...)
	sets = [][]notify.Match{{{Label: label, Value: value}}}
	for _, pattern := range patternsOf(nodes) {
		sets = append(sets, notify.NodeMatches(pattern, "", true)...)
	}
	for _, pattern := range patternsOf(nodeIDs) {
		sets = append(sets, notify.NodeMatches("", pattern, true)...)
	}
	for _, pattern := range patternsOf(validationIDs) {
		sets = append(sets, []notify.Match{{Label: "validation_id", Value: pattern, Regex: true}})
	}
	return sets, left
}

// patternsOf joins names to regular expressions of at most maxPattern bytes.
func patternsOf(names []string) (all []string) {
	for _, name := range mapped(names, regexp.QuoteMeta) {
		if last := len(all) - 1; last >= 0 && len(all[last])+1+len(name) <= maxPattern {
			all[last] += "|" + name
		} else {
			all = append(all, name)
		}
	}
	return all
}
