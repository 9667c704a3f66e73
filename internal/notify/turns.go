package notify

import (
	"context"
	"regexp"
	"sync"
	"time"
)

// perMinute is how many messages the services of a kind accept within a minute for one chat, channel or webhook, as they document it.
var perMinute = map[string]int{
	"telegram": 20, // https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this, for a group
	"discord":  30, // https://docs.discord.com/developers/topics/rate-limits, for a webhook
	"slack":    60, // https://docs.slack.dev/apis/web-api/rate-limits, for a webhook
	"msteams":  60, "msteamsv2": 60,
}

const (
	// forPages is how many messages of a minute only pages may use.
	forPages = 5
	// atOnce is the maximum number of concurrent messages that are no pages. A receiver that hangs holds back no page.
	atOnce = 4
	// afterRefusal is how long only pages are sent after the service has refused a message as one too many.
	afterRefusal = 30 * time.Second
)

// turns decides when a notification of an integration is sent. A page overtakes all others, and the limit of the service is kept.
type turns struct {
	limit int // messages a minute; 0: none is known

	mu      sync.Mutex
	sent    []time.Time // within the last minute
	sending int         // other messages in progress
	pages   int         // pages that wait
	refused time.Time   // when the service last refused a message as one too many
	changed chan struct{}
}

func newTurns(kind string) *turns {
	return &turns{limit: perMinute[kind], changed: make(chan struct{})}
}

// wait waits for the turn of a message, and returns what to call with its result. It returns nil if ctx ends before.
func (t *turns) wait(ctx context.Context, page bool) (done func(error)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if page {
		t.pages++
		defer func() { t.pages--; t.change() }()
	}
	for {
		again, changed := t.next(time.Now(), page), t.changed
		if again == 0 {
			break
		}
		timer := time.NewTimer(again)
		t.mu.Unlock()
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
		}
		timer.Stop()
		t.mu.Lock()
		if ctx.Err() != nil {
			return nil
		}
	}
	t.sent = append(t.sent, time.Now())
	if !page {
		t.sending++
	}
	return func(err error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !page {
			t.sending--
		}
		if tooMany(err) {
			t.refused = time.Now()
		}
		t.change()
	}
}

var tooManyText = regexp.MustCompile(`(?i)\b429\b|too many requests`)

// tooMany reports whether a service has refused a message as one too many. It accepts the same message later.
func tooMany(err error) bool { return err != nil && tooManyText.MatchString(err.Error()) }

// change wakes those that wait.
func (t *turns) change() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// next returns how long a message waits at least before it asks again; 0 if it can be sent now.
func (t *turns) next(now time.Time, page bool) (wait time.Duration) {
	for len(t.sent) > 0 && now.Sub(t.sent[0]) >= time.Minute {
		t.sent = t.sent[1:]
	}
	allowed := t.limit
	if !page {
		if t.pages > 0 || t.sending >= atOnce {
			return time.Minute // change wakes it
		}
		if left := t.refused.Add(afterRefusal).Sub(now); !t.refused.IsZero() && left > 0 {
			return left
		}
		allowed -= forPages
	}
	if t.limit == 0 || len(t.sent) < allowed {
		return 0
	}
	return t.sent[len(t.sent)-allowed].Add(time.Minute).Sub(now)
}
