package notify

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/common/model"
)

// Sent is a notification that a receiver accepted.
type Sent struct {
	At       time.Time
	Receiver string
	Alerts   []model.LabelSet
	// Summaries are those of the alerts, in the same order.
	Summaries []string
}

// maxSent is the maximum number of notifications that are kept for the pages.
const maxSent = 500

// sentLog holds the last notifications.
type sentLog struct {
	mu  sync.Mutex
	all []Sent
}

func (l *sentLog) add(receiver string, alerts []*alert.Alert) {
	one := Sent{At: time.Now(), Receiver: receiver}
	for _, a := range alerts {
		one.Alerts, one.Summaries = append(one.Alerts, a.Labels), append(one.Summaries, string(a.Annotations["summary"]))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all[max(0, len(l.all)-maxSent+1):], one)
}

// Sent returns the last notifications that receivers accepted, oldest first. A restart forgets them.
func (n *Notifier) Sent() []Sent {
	n.notified.mu.Lock()
	defer n.notified.mu.Unlock()
	return slices.Clone(n.notified.all)
}
