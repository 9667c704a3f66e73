package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/e2e/stack"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// clockRules are what the processes of this test evaluate themselves.
const clockRules = `
groups:
  - name: clock
    rules:
      - {alert: Down, expr: avax_node_up == 0}
      - {alert: Absent, expr: 'absent(avax_node_up{node="alpha"})'}
      - {alert: HardlyEver, expr: avax_node_up == 1, for: 30m}
      - {alert: Skewed, expr: 'abs(time() - avax_chain_head_timestamp_seconds{node="alpha", chain="P"}) > 1800'}
      - {alert: Watchdog, expr: vector(1)}
`

// stepped is a process whose clock steps.
type stepped struct {
	step time.Duration
	*exporter
	clock *clock
	bravo *gate
}

// TestAStepOfTheProcesssClockKeepsNothingAndStopsNothing steps the clock of a
// process, and back again after a while, beside one whose clock is right.
func TestAStepOfTheProcesssClockKeepsNothingAndStopsNothing(t *testing.T) {
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	rules := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(rules, []byte(clockRules), 0o600); err != nil {
		t.Fatal(err)
	}
	steps := []time.Duration{0, -time.Hour, time.Hour, 24 * time.Hour} // the first is right
	var listen, targets []string
	for range steps {
		address := free(t)
		listen, targets = append(listen, address), append(targets, "http://"+address)
	}
	prometheus := stack.Prometheus(t, stack.PrometheusConfig{Targets: targets, ScrapeInterval: time.Second})
	pages := stack.Webhook(t)
	alertmanager := stack.Alertmanager(t, pages.URL).URL

	collectors, every := quickly("up", "uptime", "heads", "l1", "reward_budget", "l1_runway"), time.Second
	if *full { // it lasts, and a machine may be busy at times
		every = 3 * time.Second
		collectors[1] = strings.ReplaceAll(collectors[1], "@every 1s", "@every 3s")
	}
	collectors[0] += ",supply"
	collectors[1] += ";supply=* * * * *"
	var all []*stepped
	for i, step := range steps {
		s := &stepped{step: step, bravo: newGate(t, network.Node("bravo"))}
		s.exporter = run(t, exec.Command(program), func(cmd *exec.Cmd) (err error) {
			s.clock, err = startWithClock(t, cmd)
			return err
		}, append(collectors, "AVAX_LISTEN="+listen[i], "AVAX_NODES=alpha=http://"+newGate(t, network.Node("alpha")).address+",bravo=http://"+s.bravo.address,
			"AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID, "AVAX_ALERTMANAGERS="+alertmanager, "AVAX_RULES_FILE="+rules,
			"AVAX_ALERTING_INTERVAL=500ms", "AVAX_EXTERNAL_LABELS=step="+step.String())...)
		s.exporter.ready()
		all = append(all, s)
	}
	began := holds(t, prometheus, fmt.Sprintf("count(up == 1) == %d", len(steps)))
	t.Run("steps", func(t *testing.T) {
		for _, s := range all {
			t.Run(s.step.String(), func(t *testing.T) {
				t.Parallel()
				s.suffer(t, pages, every)
			})
		}
	})
	// Prometheus, whose clock is right, has missed nothing.
	window := fmt.Sprintf("[%ds]", int(time.Since(began).Seconds()))
	holds(t, prometheus, fmt.Sprintf("count(min_over_time(up%s) == 1) == %d", window, len(steps)))
	holds(t, prometheus, fmt.Sprintf(`count(count_over_time(avax_node_up{node="alpha"}%s) == on (instance) count_over_time(up%s)) == %d`, window, window, len(steps)))
}

// suffer steps the clock while bravo is down, and back again.
func (s *stepped) suffer(t *testing.T, pages *stack.Receiver, every time.Duration) {
	s.exporter.t = t
	truth := s.until("all is well", bound, func(p page) error {
		for series, value := range p {
			if strings.HasPrefix(series, "avax_exporter_collector_success{") && value != 1 {
				return fmt.Errorf("%s is %v", series, value)
			}
		}
		return errors.Join(is(`avax_node_up{node="alpha"}`, 1)(p), is(`avax_node_up{node="bravo"}`, 1)(p))
	})
	const ofCron = `avax_exporter_collector_last_success_timestamp_seconds{collector="supply",target="network"}`
	stop, watched := make(chan struct{}), make(chan scrapes, 1)
	go func() { watched <- s.scrape(truth, stop) }()

	s.clock.set(s.step)
	s.bravo.shut()
	time.Sleep(3*every + 500*time.Millisecond) // and the rest of a run
	sick := s.until("a page", bound, func(page) error { return nil })
	if left := about(sick, "bravo"); len(left) > 0 {
		t.Errorf("still told: %v", left)
	}
	wall := float64(time.Now().Add(s.step).Unix())
	if at := sick[`avax_exporter_collector_last_success_timestamp_seconds{collector="up",target="alpha"}`]; at < wall-10 || at > wall+10 {
		t.Errorf("the last run was at %v, the clock shows %v", at, wall)
	}
	s.alerting("while the clock is wrong", func(active map[string]string) bool {
		return active["Down bravo"] == "firing" && active["HardlyEver alpha"] == "pending" && active["Absent alpha"] == ""
	})
	if *full { // on the second full minute, at the latest
		s.until("cron's collector has run", 2*time.Minute, func(p page) error {
			if p[ofCron] == truth[ofCron] {
				return errors.New("it has not")
			}
			return nil
		})
	}

	s.clock.set(0)
	s.bravo.open()
	healed := time.Now()
	s.until("the truth is told again", bound, func(p page) error { return differs(p, truth) })
	s.alerting("once the clock is right", func(active map[string]string) bool {
		delete(active, "Watchdog ")
		return len(active) == 2 && active["HardlyEver alpha"] == "pending" && active["HardlyEver bravo"] == "pending"
	})
	s.bravo.shut()
	// Those of a wrong clock are of another hour.
	since := func(alert string) func(stack.Alert) bool {
		return func(a stack.Alert) bool {
			return a.Labels["step"] == s.step.String() && a.Labels["alertname"] == alert && a.Status == "firing" && a.StartsAt.After(healed) && a.StartsAt.Before(healed.Add(time.Minute))
		}
	}
	for end := time.Now().Add(bound); !slices.ContainsFunc(pages.Alerts(), since("Down")); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody is paged once the clock is right")
		}
	}
	for _, a := range pages.Alerts() {
		if a.Labels["step"] == s.step.String() && (a.Labels["alertname"] == "Absent" || a.Labels["alertname"] == "HardlyEver" || since("Skewed")(a)) {
			t.Errorf("it pages: %v", a)
		}
	}
	close(stop)
	seen := <-watched
	if seen.err != nil {
		t.Error(seen.err)
	}
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, `"level":"WARN"`) && !strings.Contains(line, `"target":"bravo`) && !strings.Contains(line, "timeout") {
			t.Errorf("the log tells: %s", line)
		}
	}
	if n := strings.Count(s.log.String(), "connection refused"); n > 3 {
		t.Errorf("the log tells %d times that bravo is down:\n%s", n, s.log)
	}
	t.Logf("%d pages, the longest in %v", seen.pages, seen.longest)
}

// alerting waits until the exporter's active alerts, by name and node, are as wanted.
func (s *stepped) alerting(when string, wanted func(map[string]string) bool) {
	s.exporter.t.Helper()
	for end := time.Now().Add(bound); ; time.Sleep(20 * time.Millisecond) {
		_, body, err := s.get("/api/v1/alerts")
		var answer struct {
			Data struct {
				Alerts []struct {
					Labels map[string]string
					State  string
				}
			}
		}
		if err == nil {
			err = json.Unmarshal([]byte(body), &answer)
		}
		active := map[string]string{}
		for _, a := range answer.Data.Alerts {
			active[a.Labels["alertname"]+" "+a.Labels["node"]] = a.State
		}
		if err == nil && wanted(maps.Clone(active)) {
			return
		}
		if time.Now().After(end) {
			s.exporter.t.Fatalf("%s: %v, %v", when, active, err)
		}
	}
}

// differs compares what is told of the network with the truth of some seconds ago.
func differs(p, truth page) error {
	for series, right := range truth {
		if !strings.HasPrefix(series, "avax_") || strings.HasPrefix(series, "avax_exporter_") {
			continue
		}
		got, told := p[series]
		within := 0.0
		switch {
		case byTheClock.MatchString(series) || strings.Contains(series, "_seconds"):
			within = max(30, math.Abs(right)/1000)
		case strings.Contains(series, "_avax{"): // it burns
			within = math.Abs(right) / 1000
		}
		if !told || math.Abs(got-right) > within {
			return fmt.Errorf("%s is %v, told %v, was %v", series, got, told, right)
		}
	}
	return nil
}
