package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// Both alerts begin to fire at the same evaluation.
const pausedRules = `
groups:
  - name: nodes
    rules:
      - {alert: Waited, expr: vector(time()) >= %d, for: 30s, labels: {severity: page}}
      - {alert: AtOnce, expr: vector(time()) >= %d + 30, labels: {severity: page}}
`

// How long a Prometheus may be off while an alert fires. Alertmanager takes an alert for resolved four resend delays after it was last sent. Waits that are
// part of that time: since the last sending, at most one resend delay and one evaluation; while Prometheus is off; its start with the first evaluation, or the
// second for an alert with a "for", whose state is restored between them. Prometheus 2.42 learns its Alertmanagers 5 s after its start. It loses an alert that
// fires before, which only an alert without a "for" does, until the next sending. All times here are half of the defaults: the resend delay is 30 s, the
// evaluation interval 7.5 s, so an alert is sent every 37.5 s. Prometheus stops 35 s after a sending.
func TestPrometheusMayBeOffForTwoMinutes(t *testing.T) {
	testworld.Full(t)
	for _, program := range []string{"prometheus", "prometheus-3"} {
		for _, off := range []time.Duration{time.Minute, 2 * time.Minute, 175 * time.Second} {
			t.Run(fmt.Sprint(program, " is off for ", off), func(t *testing.T) {
				t.Parallel()
				phone := testworld.Webhook(t)
				begin := time.Now().Add(10 * time.Second).Unix()
				prometheus := testworld.Prometheus(t, testworld.PrometheusConfig{
					Program: program, RuleFiles: []string{testworld.File(t, fmt.Sprintf(pausedRules, begin, begin))}, Alertmanagers: []string{testworld.Alertmanager(t, phone.URL).URL},
					EvaluationInterval: 15 * time.Second / 2, ResendDelay: 30 * time.Second,
				})
				for _, name := range []string{"Waited", "AtOnce"} {
					phone.Wait(testworld.Firing(name))
				}
				const sendings = "prometheus_notifications_sent_total"
				sent := counted(t, prometheus.URL, sendings)
				testworld.Await(t, "both alerts are sent again", func() error {
					if now := counted(t, prometheus.URL, sendings); now < sent+2 {
						return fmt.Errorf("%v alerts sent, of %v before", now, sent)
					}
					return nil
				})
				time.Sleep(35 * time.Second)
				prometheus.Kill()
				time.Sleep(off / 2)
				prometheus.Start()
				awaitSample(t, prometheus, `count(ALERTS{alertstate="firing"}) == 2`)
				time.Sleep(45 * time.Second) // what was lost or resolved is sent again
				for _, name := range []string{"Waited", "AtOnce"} {
					firing, resolved := count(phone, testworld.Firing(name)), count(phone, testworld.Resolved(name))
					t.Logf("%s: %d times firing, %d times resolved", name, firing, resolved)
					late := off == 2*time.Minute && name == "AtOnce" && program == "prometheus" // if its first evaluation was within 5 s
					if want := off > 2*time.Minute; want != (resolved > 0) && !late || firing != 1+resolved {
						t.Errorf("%s: %d times firing, %d times resolved", name, firing, resolved)
					}
				}
			})
		}
	}
}
