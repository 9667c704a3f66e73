package notify_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// inhibitedPair is an alert, and one that inhibits it.
type inhibitedPair struct{ effect, cause map[string]string }

// inhibitedPairs returns all pairs of alerts of the rules of which one inhibits the other, each at a site of its own.
func inhibitedPairs(t *testing.T) (all []inhibitedPair) {
	t.Helper()
	var rules []map[string]string
	for _, r := range testworld.Rules(t, alerts.Rules, alerts.Companion) {
		if r.Alert != "" {
			of := map[string]string{}
			for name, value := range r.Labels {
				if !strings.Contains(value, "{{") {
					of[name] = value
				}
			}
			of["alertname"] = r.Alert
			rules = append(rules, of)
		}
	}
	inhibition, seen := must.Get(notify.ParseInhibition(alertmanager.Config))(t), map[string]bool{}
	with := func(rule map[string]string, matchers labels.Matchers) map[string]string {
		of := maps.Clone(rule)
		for _, m := range matchers {
			if _, set := of[m.Name]; !set && !m.Matches("") {
				of[m.Name] = strings.ReplaceAll(testworld.Alternatives("(" + m.Value + ")")[0], ".+", "x")
			}
		}
		of["cluster"] = fmt.Sprint("site", len(all))
		return of
	}
	for _, i := range testworld.Inhibitions(t) {
		for _, cause := range rules {
			for _, effect := range rules {
				if !testworld.MayMatch(i.SourceMatchers, cause) || !testworld.MayMatch(i.TargetMatchers, effect) {
					continue
				}
				pair := inhibitedPair{with(effect, labels.Matchers(i.TargetMatchers)), with(cause, labels.Matchers(i.SourceMatchers))}
				key := fmt.Sprint(effect, cause)
				if !seen[key] && len(inhibition.Suppressed(pair.cause, []map[string]string{pair.effect})) > 0 {
					seen[key], all = true, append(all, pair)
				}
			}
		}
	}
	if len(all) < 150 {
		t.Fatalf("%d pairs", len(all))
	}
	return all
}

// A receiver that was notified of an alert learns once that it has ended, and what has taken its place, also if the end comes while another alert inhibits it.
// What it was not notified of, it does not hear of.
func TestEndOfAnInhibitedAlertIsSentOnce(t *testing.T) {
	pairs := inhibitedPairs(t)
	for _, knows := range []bool{true, false} {
		t.Run(fmt.Sprintf("the receiver knows of the alert: %v", knows), func(t *testing.T) {
			config := must.Get(yaml.Marshal(testworld.ShippedRoutes(t, "http://phone.sim")))(t)
			inMemory(t, string(config), func(n *notify.Notifier, phone *testworld.Receiver, _ *atomic.Bool) {
				began, far := time.Now(), time.Now().Add(100*time.Hour)
				send := func(of func(inhibitedPair) map[string]string, starts, ends time.Time) {
					all := make([]model.Alert, len(pairs))
					for i, p := range pairs {
						all[i] = model.Alert{
							Labels: notify.LabelSet(of(p)), StartsAt: starts, EndsAt: ends,
							Annotations: model.LabelSet{"summary": model.LabelValue(of(p)["alertname"] + " " + of(p)["severity"])},
						}
					}
					put(t, n, all...)
				}
				effect, cause := func(p inhibitedPair) map[string]string { return p.effect }, func(p inhibitedPair) map[string]string { return p.cause }
				send(effect, began, far)
				if knows {
					time.Sleep(7 * time.Minute)
				}
				caused := time.Now()
				send(cause, caused, far)
				time.Sleep(time.Hour)
				ended := time.Now()
				send(effect, began, ended)
				time.Sleep(7 * time.Hour) // deadlines of a day have an interval of six hours
				over := time.Now()
				send(cause, caused, over)
				time.Sleep(7 * time.Hour)

				told := map[string][]testworld.Alert{}
				for _, a := range phone.Alerts() {
					if a.Status == "resolved" {
						told[fmt.Sprint(a.Labels)] = append(told[fmt.Sprint(a.Labels)], a)
					}
				}
				known := map[string]bool{}
				for _, a := range phone.Alerts() {
					known[fmt.Sprint(a.Labels)] = known[fmt.Sprint(a.Labels)] || a.Status == "firing"
				}
				silent := 0
				for _, p := range pairs {
					switch ends := told[fmt.Sprint(p.effect)]; {
					case !known[fmt.Sprint(p.effect)]:
						if silent++; len(ends) > 0 {
							t.Errorf("%v: the end was sent, but not the begin", p.effect)
						}
					case !knows:
						t.Errorf("%v: sent while %v inhibits it", p.effect, p.cause)
					case len(ends) != 1 || ends[0].At.After(over) || ends[0].Annotations["inhibited_by"] != p.cause["alertname"]+" "+p.cause["severity"]:
						t.Errorf("%v, inhibited by %v: %d ends sent: %v", p.effect, p.cause, len(ends), ends)
					}
					if ends := told[fmt.Sprint(p.cause)]; len(ends) != 1 && p.cause["severity"] != "none" {
						t.Errorf("%v: %d ends sent", p.cause, len(ends))
					}
				}
				if knows && silent > len(pairs)/20 {
					t.Errorf("%d of %d alerts were not sent", silent, len(pairs))
				}
				t.Logf("%d pairs, of which the receiver knows %d", len(pairs), len(pairs)-silent)
			})
		})
	}
}

// The rules repeat for a quarter of an hour that an alert has ended. Its receiver learns it once, also if another alert of the group ends later.
func TestEndOfAnAlertIsNotRepeated(t *testing.T) {
	inMemory(t, usualWaits, func(n *notify.Notifier, phone *testworld.Receiver, _ *atomic.Bool) {
		began := time.Now()
		fire(t, n, "Slow", 30*time.Minute, "node", "bravo")
		for range 20 {
			put(t, n, alertOf("Slow", began, time.Now().Add(4*time.Minute), "node", "alpha"))
			time.Sleep(time.Minute)
		}
		for ended := time.Now(); time.Since(ended) < 15*time.Minute; time.Sleep(time.Minute) {
			put(t, n, alertOf("Slow", began, ended, "node", "alpha"))
		}
		time.Sleep(20 * time.Minute)
		ends := map[string]int{}
		for _, a := range phone.Alerts() {
			if a.Status == "resolved" {
				ends[a.Labels["node"]]++
			}
		}
		if ends["alpha"] != 1 || ends["bravo"] != 1 {
			t.Errorf("ends: %v", ends)
		}
	})
}

// The nodes of a group: the end of one that is inhibited is sent, also if the group was sent without it in between. Nothing is repeated about it while it fires.
func TestEndOfAnInhibitedAlertInAGroupIsSent(t *testing.T) {
	config := usualWaits + `
inhibit_rules: [{source_matchers: [alertname="Down"], target_matchers: [alertname="Slow"], equal: [node]}]
`
	inMemory(t, config, func(n *notify.Notifier, phone *testworld.Receiver, _ *atomic.Bool) {
		fire(t, n, "Slow", 15*time.Hour, "node", "alpha")
		fire(t, n, "Slow", 20*time.Minute, "node", "bravo")
		time.Sleep(10 * time.Minute)
		fire(t, n, "Down", 20*time.Hour, "node", "alpha")
		time.Sleep(29 * time.Hour)
		ends := slices.DeleteFunc(phone.Alerts(), func(a testworld.Alert) bool { return a.Labels["alertname"] != "Slow" || a.Status != "resolved" })
		if len(ends) != 2 || ends[0].Labels["node"] != "bravo" || ends[1].Labels["node"] != "alpha" {
			t.Errorf("%v", ends)
		}
		messages := map[int]bool{}
		for _, a := range phone.Alerts() {
			if a.Labels["alertname"] == "Slow" {
				messages[a.Notification] = true
			}
		}
		if len(messages) != 3 {
			t.Errorf("%d messages", len(messages))
		}
	})
}
