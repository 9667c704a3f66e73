package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
)

// The demo shows every family of the collectors that are on by default or ask
// the Data service: at once, or during an incident that says so.
func TestTheDemoShowsEveryFamily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := demoNetwork()
		urls := map[string]string{}
		for _, name := range append(demoNodes, "metrics", "data") {
			urls[name] = "http://" + name + ".sim"
		}
		c, err := defaults().parse()
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range collectors.All() { // less often than the demo, for the sake of the test's time
			c.schedules[spec.Name] = func(target string) cron.Schedule { return schedule.Every(15*time.Second, target) }
		}
		if err := c.ask(network, urls); err != nil {
			t.Fatal(err)
		}
		c.transport = network.Transport()
		log := &buffer{}
		b := bubble{live(t, c, log), network}

		var missing []string
		for _, spec := range collectors.All() {
			for _, f := range spec.Families {
				missing = append(missing, f.Name)
			}
		}
		look := func() {
			_, page := b.fetch(t, acceptCurl, "identity")
			missing = slices.DeleteFunc(missing, func(name string) bool {
				return strings.Contains(string(page), fmt.Sprintf("\n# TYPE %s gauge\n%[1]s", name))
			})
			problems, err := promlint.New(bytes.NewReader(page)).Lint()
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				t.Errorf("%s: %s", p.Metric, p.Text)
			}
		}
		time.Sleep(time.Minute)
		look()
		for _, i := range incidents {
			if slices.ContainsFunc(missing, func(name string) bool { return strings.Contains(i.look, name) }) {
				i.begin(network)
				time.Sleep(cmp.Or(i.lasts, usual) - time.Second)
				look()
				i.end(network)
			}
		}
		if len(missing) > 0 {
			t.Errorf("never seen: %v\nthe log:\n%s", missing, log)
		}
	})
}
