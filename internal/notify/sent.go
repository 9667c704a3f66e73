package notify

import (
	"encoding/json"
	"io"
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

// maxSent is the maximum number of notifications that are kept for the pages, and maxSentAlerts that of their alerts.
const (
	maxSent       = 500
	maxSentAlerts = 3000
)

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
	count := 0
	for i, one := range slices.Backward(l.all) {
		if count += len(one.Alerts); count > maxSentAlerts && i+1 < len(l.all) {
			l.all = l.all[i+1:]
			break
		}
	}
}

// read replaces the notifications by those that a snapshot holds.
func (l *sentLog) read(snapshot io.Reader) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if snapshot == nil {
		return nil
	}
	var all []Sent
	err := json.NewDecoder(snapshot).Decode(&all)
	if err == nil {
		l.all = all
	}
	return err
}

// snapshot writes the notifications.
func (l *sentLog) snapshot(w io.Writer) (int64, error) {
	l.mu.Lock()
	content, err := json.Marshal(l.all)
	l.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := w.Write(content)
	return int64(n), err
}

// Sent returns the last notifications that receivers accepted, oldest first. Without a state directory, a restart forgets them.
func (n *Notifier) Sent() []Sent {
	n.notified.mu.Lock()
	defer n.notified.mu.Unlock()
	return slices.Clone(n.notified.all)
}
