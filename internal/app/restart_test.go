package app_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// An alert fires, and the exporter is off for most of an hour. What ended meanwhile is resolved minutes after the start. What goes on fires
// without a break, since the same time, and the page is red: no resolved notification is sent, and no second one.
func TestAlertsAreTrueAfterTheExporterWasOff(t *testing.T) {
	testworld.Story(t)
	quick := []string{"a node stops", "the C-Chain is no longer bootstrapped on a node", "a node falls behind on the C-Chain",
		"all configured nodes stop, as when their site has no power"}
	// These end by themselves within the time.
	passing := []string{"the same validator has no connection for half an hour; after that, its peers report 20 % uptime",
		"the balance of an L1 validator lasts twenty more minutes"}
	for _, i := range incidents() {
		if len(i.pages) == 0 || i.end == nil || i.comesAndGoes {
			continue
		}
		if testing.Short() && !slices.Contains(quick, i.what) {
			continue
		}
		t.Run(i.what, func(t *testing.T) {
			t.Run("ends", func(t *testing.T) { afterOff(t, i, true) })
			if !slices.Contains(passing, i.what) {
				t.Run("goes on", func(t *testing.T) { afterOff(t, i, false) })
			}
		})
	}
}

// off is longer than the rules use the newest sample of a series, seven minutes.
const off = 40 * time.Minute

// afterOff plays an incident, during which the exporter is off. ends is whether the incident ends meanwhile.
func afterOff(t *testing.T, i incident, ends bool) {
	t.Helper()
	t.Parallel()
	inWorld(t, i, func(t *testing.T, w *world) {
		time.Sleep(cmp.Or(i.healthy, 10*time.Minute))
		i.begin(w)
		firing := func() (since map[string]time.Time) {
			since = map[string]time.Time{}
			for _, a := range w.Alerts(t) {
				if a.Labels["severity"] == "page" && a.Labels["alertname"] == i.pages[0] {
					since[a.Labels["alertname"]+" "+a.Labels["node"]+a.Labels["chain"]+a.Labels["node_id"]] = a.StartsAt.Truncate(time.Second)
				}
			}
			return since
		}
		var before map[string]time.Time
		for began := time.Now(); len(before) == 0; before = firing() {
			if time.Sleep(15 * time.Second); time.Since(began) > i.within {
				t.Fatalf("%s does not fire", i.pages[0])
			}
		}
		time.Sleep(time.Minute)
		before = firing()
		w.Stop()
		time.Sleep(off / 2)
		if ends {
			i.end(w)
		}
		time.Sleep(off / 2)
		w.StartNow(t)
		missing, last := map[string]time.Duration{}, time.Duration(0)
		for began := time.Now(); time.Since(began) < 15*time.Minute; time.Sleep(20 * time.Second) {
			after, now := time.Since(began), firing()
			if after < time.Minute {
				continue
			}
			if len(now) > 0 {
				last = after
			}
			level, title, _ := w.page(t, "", "/").headline()
			deniable := i.pages[0] == "AvaxNodeDown" || i.pages[0] == "AvaxChainNotBootstrapped" // by the states of nodes
			if red := level == "bad"; !ends && !red || ends && red && deniable {
				t.Errorf("%v after the start: %s: %s", after, level, title)
			}
			for alert, since := range before {
				if !now[alert].Equal(since) {
					missing[alert] = after
				}
			}
		}
		// The alert is held for four minutes, then some are kept for five, and rules with slow collectors are evaluated once a minute.
		if ends && last > 12*time.Minute {
			t.Errorf("%v fire until %v after the start", before, last)
		}
		if !ends && len(missing) > 0 {
			t.Errorf("%v fired before; until when they are missing, or have another begin: %v", before, missing)
		}
	})
}
