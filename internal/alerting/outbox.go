package alerting

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/notifier"
)

const (
	gather       = 100 * time.Millisecond // for which further changes of the same evaluation are waited for
	retryEvery   = 5 * time.Second        // while an Alertmanager does not accept alerts
	causesFirst  = time.Second            // for which an Alertmanager gets causes before their effects
	resolvedSent = 15 * time.Minute       // for which a resolved alert is sent to an Alertmanager that has not accepted it, as in Prometheus
)

// outbox holds what the Alertmanagers must know. Each request has all firing alerts, causes before their effects: an Alertmanager that was restarted knows
// none, and notifies of an effect at once, if it began long ago, unless it knows the cause. Alertmanager reads alerts in two places at once, of which one
// inhibits: so the causes are sent a second before, too, in a request of their own. A resolved alert is sent until each Alertmanager has
// accepted it, and not again: another exporter may say that the alert still fires.
type outbox struct {
	manager *notifier.Manager
	hosts   int           // number of Alertmanagers
	every   time.Duration // after which all is sent again
	retry   func() bool   // whether an Alertmanager has not accepted the last request, and no request is in progress
	// inhibitors returns the index of the alert that inhibits each alert, or -1; nil: no inhibition is known.
	inhibitors func(alerts []map[string]string) []int

	changed chan struct{}
	stop    chan struct{}

	mu     sync.Mutex
	firing map[string]*notifier.Alert // by key
	ended  map[string]*ended          // by key
}

// ended is a resolved alert.
type ended struct {
	*notifier.Alert
	accepted map[string]bool // by host of an Alertmanager
	at       time.Time       // when the rules ended it: EndsAt may be earlier
}

func newOutbox(o Options, d *delivery) *outbox {
	hosts := map[string]bool{}
	for _, s := range o.Alertmanagers {
		if u, err := url.Parse(s); err == nil {
			hosts[u.Host] = true
		}
	}
	return &outbox{
		hosts: len(hosts), every: o.ResendDelay, retry: d.retry, inhibitors: o.Inhibitors, changed: make(chan struct{}, 1), stop: make(chan struct{}),
		firing: map[string]*notifier.Alert{}, ended: map[string]*ended{},
	}
}

// keyOfAlert identifies an alert at an Alertmanager: its labels as JSON, sorted by name.
func keyOfAlert(labels map[string]string) string {
	raw, _ := json.Marshal(labels) //nolint:errchkjson // strings
	return string(raw)
}

// put notes alerts, whose labels include the external ones. A change is sent at once.
func (o *outbox) put(alerts ...*notifier.Alert) {
	o.mu.Lock()
	defer o.mu.Unlock()
	news := false
	for _, a := range alerts {
		key := keyOfAlert(a.Labels.Map())
		if a.EndsAt.After(time.Now()) {
			news = news || o.firing[key] == nil
			o.firing[key] = a
			delete(o.ended, key)
			continue
		}
		delete(o.firing, key)
		if o.ended[key] == nil { // the rules repeat it
			o.ended[key] = &ended{a, map[string]bool{}, time.Now()}
			news = true
		}
	}
	if news {
		select {
		case o.changed <- struct{}{}:
		default:
		}
	}
}

// run sends until close is called.
func (o *outbox) run() {
	again := time.NewTimer(o.every)
	defer again.Stop()
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	for {
		select {
		case <-o.changed:
			select {
			case <-time.After(gather):
			case <-o.stop:
			}
		case <-again.C:
		case <-retry.C:
			if !o.retry() {
				continue
			}
		case <-o.stop:
			select {
			case <-o.changed:
				o.send(time.Now())
			default:
			}
			return
		}
		o.send(time.Now())
		again.Reset(o.every)
		retry.Reset(retryEvery) // what has just been sent is not accepted yet
	}
}

// send sends everything in one request to each Alertmanager. If effects fire, it sends the other alerts a second before.
func (o *outbox) send(now time.Time) {
	o.mu.Lock()
	maps.DeleteFunc(o.firing, func(_ string, a *notifier.Alert) bool { return !a.EndsAt.After(now) }) // no rule renews it
	maps.DeleteFunc(o.ended, func(_ string, e *ended) bool { return now.Sub(e.at) > resolvedSent+o.every })
	var all []*notifier.Alert
	for _, key := range slices.Sorted(maps.Keys(o.firing)) {
		all = append(all, o.firing[key])
	}
	for _, key := range slices.Sorted(maps.Keys(o.ended)) {
		if e := o.ended[key]; len(e.accepted) < o.hosts && now.Sub(e.at) <= resolvedSent {
			all = append(all, e.Alert)
		}
	}
	o.mu.Unlock()
	if len(all) == 0 {
		return
	}
	if effects := o.order(all, now); effects > 0 && effects < len(all) && all[effects].EndsAt.After(now) {
		o.manager.Send(all[:effects]...)
		select {
		case <-time.After(causesFirst):
		case <-o.stop:
		}
	}
	o.manager.Send(all...)
}

// order sorts alerts so that no effect is without its cause: firing causes before their effects, and then resolved effects before their causes. It
// returns the number of firing alerts that are no effects.
func (o *outbox) order(all []*notifier.Alert, now time.Time) (causes int) {
	if o.inhibitors == nil {
		return len(all)
	}
	sets := make([]map[string]string, len(all))
	for i, a := range all {
		sets[i] = a.Labels.Map()
	}
	by := o.inhibitors(sets)
	rank := make(map[*notifier.Alert]int, len(all))
	for i, a := range all {
		for j := i; by[j] >= 0 && rank[a] < len(all); j = by[j] { // two alerts may inhibit each other
			rank[a]++
		}
		if !a.EndsAt.After(now) {
			rank[a] = 2*len(all) - rank[a]
		}
	}
	slices.SortStableFunc(all, func(a, b *notifier.Alert) int { return cmp.Compare(rank[a], rank[b]) })
	return slices.IndexFunc(append(slices.Clone(all), nil), func(a *notifier.Alert) bool { return a == nil || rank[a] > 0 })
}

// accepts notes that an Alertmanager has accepted a resolved alert.
func (o *outbox) accepts(host, key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e := o.ended[key]; e != nil {
		e.accepted[host] = true
	}
}

// accepted reports whether an Alertmanager has accepted that an alert is resolved.
func (o *outbox) accepted(host, key string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.ended[key]
	return e != nil && e.accepted[host]
}
