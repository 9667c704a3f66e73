package explain

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

// TestMain does initial lookups of alerting and the resolver before synthetic time begins, so that no test waits for the
// network.
func TestMain(m *testing.M) {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no name is looked up in a test")
	}}
	name, _ := os.Hostname()
	_, _ = net.DefaultResolver.LookupHost(context.Background(), name)
	os.Exit(m.Run())
}

const served = `
# TYPE avax_node_up gauge
avax_node_up{node="alpha"} 1
avax_node_up{node="bravo"} 0
# TYPE avax_node_info gauge
avax_node_info{node="alpha",node_id="NodeID-A",version="avalanchego/1.14.0"} 1
avax_node_info{node="charlie",node_id="NodeID-C",version="avalanchego/1.14.0"} 1
# TYPE avax_node_identity_info gauge
avax_node_identity_info{node="charlie",node_id="NodeID-C",bls_public_key="0x1"} 1
# TYPE avax_node_validating gauge
avax_node_validating{node="alpha"} 1
avax_node_validating{node="charlie"} 1
avax_node_validating{node="delta"} 0
# TYPE avax_node_uptime_rewarding_stake_ratio gauge
avax_node_uptime_rewarding_stake_ratio{node="alpha"} 0.42
avax_node_uptime_rewarding_stake_ratio{node="charlie"} 1
avax_node_uptime_rewarding_stake_ratio{node="delta"} 0.3
# TYPE avax_node_connected_stake_ratio gauge
avax_node_connected_stake_ratio{node="alpha"} 0.42
# TYPE avax_node_health_check_failing gauge
avax_node_health_check_failing{node="alpha",check="C"} 1
# TYPE avax_validator_start_timestamp_seconds gauge
avax_validator_start_timestamp_seconds{node_id="NodeID-A"} 1799000000
avax_validator_start_timestamp_seconds{node_id="NodeID-B"} 1798000000
# TYPE avax_validator_end_timestamp_seconds gauge
avax_validator_end_timestamp_seconds{node_id="NodeID-A"} 1801000000
# TYPE avax_validator_uptime_requirement_ratio gauge
avax_validator_uptime_requirement_ratio{node_id="NodeID-A"} 0.9
# TYPE avax_validator_downtime_budget_seconds gauge
avax_validator_downtime_budget_seconds{node_id="NodeID-A"} 200000
avax_validator_downtime_budget_seconds{node_id="NodeID-C"} 200000
# TYPE avax_validator_downtime_used_seconds gauge
avax_validator_downtime_used_seconds{node_id="NodeID-C"} 20
# TYPE avax_validator_views_stake_ratio gauge
avax_validator_views_stake_ratio{node_id="NodeID-C"} 1
# TYPE avax_exporter_collector_success gauge
avax_exporter_collector_success{collector="uptime",target="alpha"} 1
avax_exporter_collector_success{collector="health",target="alpha"} 1
avax_exporter_collector_success{collector="up",target="alpha"} 1
avax_exporter_collector_success{collector="up",target="bravo"} 0
# TYPE avax_exporter_collector_last_success_timestamp_seconds gauge
avax_exporter_collector_last_success_timestamp_seconds{collector="uptime",target="alpha"} 946685000
`

// ask runs the rules over the samples above for this time, and returns the explanation of each name and target.
func ask(t *testing.T, long time.Duration, names ...[2]string) (told []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		running, err := alerting.Start(ctx, alerting.Options{
			Config: alerting.Config{On: true, Rules: alerts.Rules, Job: "avax-exporter", Instance: "exporter:9865", Interval: 15 * time.Second},
			Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain; version=0.0.4")
				_, _ = io.WriteString(w, served)
			}),
			Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer running.Wait()
		defer cancel()
		time.Sleep(long)
		from := Exporter{
			Source: running,
			Jobs:   []Job{{Collector: "up", Target: "bravo", Err: "info.getNodeVersion: connection refused"}},
			Tables: []Table{{Collector: "health", Target: "alpha", About: "Failing health checks.", Rows: [][]string{{"alpha", "C", "no block for an hour"}}}},
		}
		for _, name := range names {
			var out strings.Builder
			if err := Name(t.Context(), &out, from, name[0], name[1], time.Now()); err != nil {
				var unknown UnknownError
				if !errors.As(err, &unknown) || out.Len() > 0 {
					t.Errorf("%s: %v after %q", name, err, out.String())
				}
				out.WriteString("unknown: " + err.Error())
			}
			told = append(told, out.String())
		}
	})
	return told
}

func demand(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if word, not := strings.CutPrefix(want, "!"); strings.Contains(text, word) == not {
			t.Errorf("%q printed: %v, in:\n%s", word, not, text)
		}
	}
}

func TestFirstLineIsTheAnswer(t *testing.T) {
	told := ask(t, 7*time.Minute, [2]string{"AvaxRewardStakeLow", "alpha"}, [2]string{"AvaxNodeDown", "bravo"}, [2]string{"AvaxNodeDown", "alpha"},
		[2]string{"AvaxConnectedStakeLow", ""}, [2]string{"AvaxHealthCheckFailing", "alpha"}, [2]string{"AvaxForkDetected", ""},
		[2]string{"AvaxRewardStakeLow", "charlie"}, [2]string{"AvaxRewardStakeLow", "delta"})
	for i, want := range []string{
		"AvaxRewardStakeLow for alpha: not firing: 100 % is above 95 %.\n",
		"AvaxNodeDown for bravo: firing (",
		"AvaxNodeDown for alpha: not firing: avg_over_time(avax_node_up[",
		"AvaxConnectedStakeLow for alpha: firing (",
		"AvaxHealthCheckFailing for C, alpha: pending, fires in 3m",
		"AvaxForkDetected: not firing: no sample of ",
		"AvaxRewardStakeLow for charlie: not firing: 100 % is above 95 %.\n",
		"AvaxRewardStakeLow for delta: not firing: 30 % is below 95 %, and avax:reward_vote_ratio excludes it.\n",
	} {
		if !strings.HasPrefix(told[i], want) {
			t.Errorf("want %q as first line of:\n%s", want, told[i])
		}
	}
	demand(t, told[0], "0.42 and 1 <", "avax:reward_vote_ratio is recorded from:", `avax_node_uptime_rewarding_stake_ratio{node="alpha"} 0.42`,
		"collector uptime calls info.uptime", "alpha: last answer ", "docs/runbooks/AvaxRewardStakeLow.md", "!bravo")
	demand(t, told[1], "active since 2000-01-01 00:0", "bravo: no answer since the exporter started",
		"the last run failed: info.getNodeVersion: connection refused")
	demand(t, told[3], ": 42 % is below 80 %.\n")
	demand(t, told[4], "Failing health checks.", "alpha: C: no block for an hour")
}

func TestFamilyIsExplainedWithItsFormula(t *testing.T) {
	told := ask(t, time.Minute, [2]string{"avax_validator_downtime_budget_seconds", "alpha"}, [2]string{"avax_validator_start_timestamp_seconds", "alpha"},
		[2]string{"avax_validator_stake_avax", "alpha"})
	demand(t, told[0], "= (1 - 0.9) * (1801000000 - 1799000000)", `{node_id="NodeID-A"} 200000 (2d7h)`)
	demand(t, told[1], `{node_id="NodeID-A"} 1799000000 (2027-01-03 18:13:20 UTC)`, "!NodeID-B")
	demand(t, told[2], "absent for alpha", "the collector has not run yet, or is disabled")
}

func TestUnknownNameIsAnError(t *testing.T) {
	told := ask(t, time.Minute, [2]string{"AvaxNodeDwn", ""}, [2]string{"AvaxNope", ""}, [2]string{"avax_node_up", "zulu"}, [2]string{"avax_node_ups", ""})
	for i, want := range []string{
		`unknown: unknown alert or family "AvaxNodeDwn": did you mean AvaxNodeDown`, `unknown: unknown alert or family "AvaxNope": avax-exporter rules prints`,
		`unknown: no samples about "zulu"`, "did you mean avax_node_up",
	} {
		demand(t, told[i], want)
	}
}

// The command also explains alerts of companion.yml, which a Prometheus evaluates.
func TestAlertOfACompanionRuleNamesPrometheus(t *testing.T) {
	told := ask(t, time.Minute, [2]string{"AvalancheGoDiskLow", "alpha"}, [2]string{"CompanionTargetDown", ""})
	demand(t, told[0], "AvalancheGoDiskLow is in companion.yml", "of the node's own /ext/metrics: not served here; query Prometheus", "docs/runbooks/AvalancheGoDiskLow.md", "!absent")
	demand(t, told[1], "up\n    of Prometheus")
}

func TestEveryAlertIsExplained(t *testing.T) {
	var names [][2]string
	for _, r := range builtIn() {
		names = append(names, [2]string{r.Alert, ""})
	}
	for i, text := range ask(t, 3*time.Minute, names...) {
		demand(t, text, names[i][0], "Runbook: https://")
	}
}

func TestUnitsFollowTheExpression(t *testing.T) {
	e := &explanation{reading: map[string]bool{}}
	for query, want := range map[string]unit{
		"avax_x_ratio": ratio, "time() - avax_x_timestamp_seconds": seconds, "avax_a_seconds / avax_b_seconds": ratio,
		"max by (node) (avax_a_avax)": avax, "count(avax_a_ratio)": plain, "avax_a_avax / 3": plain, "min_over_time(avax_a_ratio[5m])": ratio,
		"avax_node_up": plain,
	} {
		parsed, err := promQL.ParseExpr(query)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.unitOf(parsed); got != want {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}
