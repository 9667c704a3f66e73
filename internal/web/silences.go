package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Silences creates, lists and ends silences.
type Silences interface {
	Silences(ctx context.Context) ([]notify.Silence, error)
	Silence(ctx context.Context, matches []notify.Match, lasts time.Duration, by, comment string) error
	EndSilence(ctx context.Context, id string) error
}

// maySilence reports whether the client may change silences.
func (s *Site) maySilence(r *http.Request) bool { return s.Silences != nil && s.Access.Allows(r) }

// silences returns the section about silences. For clients that may change silences it has forms, for others it shows the command.
func (s *Site) silences(ctx context.Context, node string, may bool, now time.Time) g.Node {
	if s.Silences == nil {
		return g.Group{}
	}
	all, err := s.Silences.Silences(ctx)
	if err != nil {
		return section("silences", "Silences", nil, h.P(h.Class("bad"), g.Text("Silences cannot be read: "+err.Error())))
	}
	rows := mapped(all, func(one notify.Silence) tableRow {
		until := one.Ends.UTC().Format("2006-01-02 15:04 UTC") + ", " + words.Span(one.Ends.Sub(now)) + " left"
		if one.Starts.After(now) {
			until += ", begins in " + words.Span(one.Starts.Sub(now))
		}
		cells := []cell{textCell("Until", until, status.Urgency{}), textCell("By", one.By, status.Urgency{}), textCell("Comment", one.Comment, status.Urgency{})}
		if may {
			cells = append(cells, cell{"End", status.Urgency{}, h.Form(h.Method("post"), h.Action("alerts/end"),
				h.Input(h.Type("hidden"), h.Name("id"), h.Value(one.ID)), h.Button(h.Aria("label", "End the silence of "+one.Matches), g.Text("End")))})
		}
		return tableRow{header: h.Code(g.Text(one.Matches)), cells: cells}
	})
	return section("silences", "Silences", nil,
		g.If(len(all) == 0, dim("No silences.")),
		g.If(len(all) > 0, table("", "Silences", "Alerts with", rows)),
		g.If(may, silenceForm(node)),
		g.If(!may, h.P(h.Class("dim"), g.Text("To silence a node, run "),
			h.Code(g.Text("avax-exporter silence --comment \"why\" "+cmp.Or(node, "NODE")+" 30m")),
			g.Text(". This page has a form for clients with a password or a client certificate (AVAX_WEB_CONFIG_FILE), and on the exporter's machine."))),
	)
}

func silenceForm(node string) g.Node {
	field := func(name, label, value string) g.Node {
		return h.Label(g.Text(label+" "), h.Input(h.Name(name), h.Value(value), h.Required()))
	}
	return h.Form(h.Class("silence"), h.Method("post"), h.Action("alerts/silence"),
		field("node", "Silence node", node), field("for", "for", "30m"), field("comment", "because of", "maintenance"), h.Button(g.Text("Silence")),
		g.If(node != "", link((&url.URL{Path: "safe-to-stop", RawQuery: url.Values{"node": {node}}.Encode()}).String(), "Is it safe to stop "+node+"?")))
}

// longestSilence is the maximum duration of a silence, to protect against typing errors.
const longestSilence = 31 * 24 * time.Hour

// changeSilences serves POST /alerts/silence, with node, for and comment, and POST /alerts/end, with the id of a silence.
func (s *Site) changeSilences(w http.ResponseWriter, r *http.Request) {
	if s.Silences == nil {
		http.Error(w, "this process sends no notifications: set AVAX_NOTIFY_FILE", http.StatusNotFound)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	change, by := r.PathValue("change"), userOf(r)
	var err error
	switch change {
	case "silence":
		err = s.silenceNode(r.Context(), r.PostFormValue("node"), r.PostFormValue("for"), by, r.PostFormValue("comment"))
	case "end":
		err = s.Silences.EndSilence(r.Context(), r.PostFormValue("id"))
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

func (s *Site) silenceNode(ctx context.Context, node, lasts, by, comment string) error {
	d, err := time.ParseDuration(strings.TrimSpace(lasts))
	if err != nil || d <= 0 || d > longestSilence {
		return fmt.Errorf("%q: write a duration with its unit, such as 30m or 2h, of at most 744h", lasts)
	}
	nodes := s.names()
	if !nodes.IsNode(node) {
		return fmt.Errorf("unknown node %q: the nodes are %s", node, words.Brief(nodes.All))
	}
	return s.Silences.Silence(ctx, notify.NodeMatches(node, nodes.IDOf(node)), d, by, cmp.Or(strings.TrimSpace(comment), "maintenance"))
}

// userOf returns the user of the request: the user name, or the name in the client certificate.
func userOf(r *http.Request) string {
	if user, _, ok := r.BasicAuth(); ok {
		return user
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		return r.TLS.PeerCertificates[0].Subject.CommonName
	}
	return "web"
}
