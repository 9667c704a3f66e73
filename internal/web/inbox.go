package web

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// maxMessages is the maximum number of messages in the inbox.
const maxMessages = 100

// Inbox is the webhook receiver of the demo. It shows notifications as a phone would.
type Inbox struct {
	mu       sync.Mutex
	messages []notified // newest first
}

// notified is an alert in a notification of Alertmanager's webhook.
type notified struct {
	at                  time.Time
	Status              string
	Labels, Annotations map[string]string
}

// ServeHTTP accepts a notification.
func (i *Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var notification struct{ Alerts []notified }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&notification); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, m := range notification.Alerts {
		m.at = time.Now()
		i.messages = slices.Insert(i.messages, 0, m)
	}
	i.messages = i.messages[:min(len(i.messages), maxMessages)]
}

func (i *Inbox) all() []notified {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.messages)
}

// inbox shows the notifications, newest first.
func (s *Site) inbox(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Refresh", "15")
	s.servePage(w, r, s.fixedPages, "", func(context.Context) g.Node { return s.inboxPage(time.Now()) })
}

func (s *Site) inboxPage(now time.Time) g.Node {
	messages := s.Inbox.all()
	v := headline{severity: status.Note, title: words.Plural(len(messages), "notification", "notifications")}
	page := &view{base: "../", site: s}
	return document(v,
		page.top(),
		h.Main(
			headlineSection(v, []string{
				"as of " + now.UTC().Format("2006-01-02 15:04:05 UTC"),
				"in the demo, waits are shortened, so alerts fire and are sent within seconds",
			}),
			h.Section(h.Aria("label", "Notifications"), h.Ul(h.Class("problems"), g.Map(messages, func(m notified) g.Node {
				level, title := status.SeverityOf(m.Labels), m.Annotations["summary"]
				if m.Status == "resolved" {
					level, title = status.Well, "Resolved: "+title
				}
				return h.Li(h.Class(status.Urgency{Severity: level}.Class()),
					h.P(h.Strong(titled(title)), g.Text(" "), h.Span(h.Class("dim"), g.Text(words.ClockTime(now, m.at)))),
					g.If(m.Status != "resolved" && m.Annotations["action"] != "", h.P(h.Class("action"), prose(m.Annotations["action"]))),
					h.P(h.Class("dim"), g.Text(m.Labels["alertname"]+" · "+m.Labels["severity"]+" "),
						g.If(m.Annotations["runbook_url"] != "", g.Group{g.Text("· "), link(m.Annotations["runbook_url"], "runbook")})))
			}))),
		),
		page.bottom(),
	)
}
