package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

const pausedRules = `
groups:
  - name: nodes
    rules:
      - {alert: Waited, expr: vector(1), for: 15s, labels: {severity: page}}
      - {alert: AtOnce, expr: vector(1), labels: {severity: page}}
`

// How long a Prometheus may be off while an alert fires. Alertmanager takes an alert for resolved four resend delays after it was last sent. Three waits are
// part of that time: since the last sending, at most one resend delay and one evaluation; while Prometheus is off; and its start with the first evaluation, after
// which an alert with a "for" is sent, as its state is restored. All times here are a quarter of the defaults: the resend delay is 15 s, the evaluation interval
// 4 s.
func TestPrometheusMayBeOffForTwoMinutes(t *testing.T) {
	testworld.Full(t)
	for _, program := range []string{"prometheus", "prometheus-3"} {
		for off, resolves := range map[time.Duration]bool{60 * time.Second: false, 2 * time.Minute: false, 4 * time.Minute: true} {
			t.Run(fmt.Sprint(program, " is off for ", off), func(t *testing.T) {
				t.Parallel()
				phone := testworld.Webhook(t)
				prometheus := testworld.Prometheus(t, testworld.PrometheusConfig{
					Program: program, RuleFiles: []string{testworld.File(t, pausedRules)}, Alertmanagers: []string{testworld.Alertmanager(t, phone.URL).URL},
					EvaluationInterval: 4 * time.Second, ResendDelay: 15 * time.Second,
				})
				for _, name := range []string{"Waited", "AtOnce"} {
					phone.Wait(testworld.Firing(name))
				}
				time.Sleep(13 * time.Second) // just before the next sending
				prometheus.Kill()
				time.Sleep(off / 4)
				prometheus.Start()
				awaitSample(t, prometheus, `count(ALERTS{alertstate="firing"}) == 2`)
				time.Sleep(30 * time.Second) // what was resolved is sent again
				for _, name := range []string{"Waited", "AtOnce"} {
					firing, resolved := count(phone, testworld.Firing(name)), count(phone, testworld.Resolved(name))
					t.Logf("%s: %d times firing, %d times resolved", name, firing, resolved)
					if resolves != (resolved > 0) || firing != 1+resolved {
						t.Errorf("%s: %d times firing, %d times resolved", name, firing, resolved)
					}
				}
			})
		}
	}
}
