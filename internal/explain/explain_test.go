package explain

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

func TestMain(m *testing.M) {
	testworld.SyntheticTime()
	os.Exit(m.Run())
}

const served = `
# TYPE avax_address_balance_tokens gauge
avax_address_balance_tokens{address="0xa",chain="C"} 12
avax_address_balance_tokens{address="0xb",chain="C"} 40
# TYPE avax_watch_labels gauge
avax_watch_labels{address="0xa",name="relayer"} 1
# TYPE avax_validator_labels gauge
avax_validator_labels{node_id="NodeID-B",name="fund-1"} 1
# TYPE avax_node_up gauge
avax_node_up{node="alpha"} 1
avax_node_up{node="bravo"} 0
avax_node_up{node="charlie"} 1
avax_node_up{node="delta"} 1
avax_node_up{node="echo"} 1
# TYPE avax_node_info gauge
avax_node_info{node="alpha",node_id="NodeID-A",version="avalanchego/1.14.0"} 1
avax_node_info{node="charlie",node_id="NodeID-C",version="avalanchego/1.14.0"} 1
# TYPE avax_node_identity_info gauge
avax_node_identity_info{node="charlie",node_id="NodeID-C",bls_public_key="0x1"} 1
avax_node_identity_info{node="echo",node_id="NodeID-E",bls_public_key="0x2"} 1
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
avax_node_health_check_failing{node="charlie",check="C"} 1
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
# TYPE avax_validator_connected gauge
avax_validator_connected{node="alpha",node_id="NodeID-C"} 1
# TYPE avax_l1_weight gauge
avax_l1_weight{chain="examplel1"} 970
avax_l1_weight{chain="dex"} 100
# TYPE avax_l1_connected_weight gauge
avax_l1_connected_weight{chain="dex",node="charlie"} 50
# TYPE avax_l1_validator_active gauge
avax_l1_validator_active{chain="dex",node_id="NodeID-E",validation_id="E"} 1
# TYPE avax_node_address_info gauge
avax_node_address_info{ip="192.0.2.1",node="alpha"} 1
# TYPE avax_l1_validator_balance_avax gauge
avax_l1_validator_balance_avax{chain="examplel1",node_id="NodeID-C",validation_id="V"} 1
# TYPE avax_l1_validator_burn_avax_per_day gauge
avax_l1_validator_burn_avax_per_day{chain="examplel1",node_id="NodeID-C",validation_id="V"} 0.0833333333
# TYPE avax_exporter_collector_success gauge
avax_exporter_collector_success{collector="uptime",target="alpha"} 1
avax_exporter_collector_success{collector="health",target="alpha"} 1
avax_exporter_collector_success{collector="up",target="alpha"} 1
avax_exporter_collector_success{collector="up",target="bravo"} 0
avax_exporter_collector_success{collector="heads",target="charlie/C"} 1
# TYPE avax_exporter_collector_last_success_timestamp_seconds gauge
avax_exporter_collector_last_success_timestamp_seconds{collector="uptime",target="alpha"} 946685000
`

// lateStops is when the nodes delta and echo stop. The L1 of echo lacks its quorum.
const lateStops = 2 * time.Minute

// ask runs the rules over the samples above for this time, and returns the explanation of each name and target.
func ask(t *testing.T, long time.Duration, names ...[2]string) (told []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		running, err := alerting.Start(ctx, alerting.Options{
			Config: alerting.Config{On: true, Rules: alerts.Rules, Job: "avax-exporter", Instance: "exporter:9865", Interval: 15 * time.Second},
			Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain; version=0.0.4")
				page := served
				if time.Since(began) > lateStops {
					for _, node := range []string{"delta", "echo"} {
						page = strings.Replace(page, `avax_node_up{node="`+node+`"} 1`, `avax_node_up{node="`+node+`"} 0`, 1)
					}
				}
				_, _ = io.WriteString(w, page)
			}),
			Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer running.Wait()
		defer cancel()
		time.Sleep(long)
		failed := &metric.Job{Last: metric.Run{
			Key: metric.Key{Collector: "up", Target: metric.Target{Node: "bravo"}}, Err: errors.New("info.getNodeVersion: connection refused"),
		}}
		for _, name := range names {
			x, err := Of(t.Context(), running, []*metric.Job{failed}, name[0], name[1], time.Now())
			text := x.Text(true)
			var unknown UnknownError
			switch {
			case errors.As(err, &unknown):
				text = "unknown: " + err.Error()
			case err != nil:
				t.Errorf("%s: %v", name, err)
			}
			told = append(told, text)
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

func TestAlertIsExplainedWithItsValueAndBound(t *testing.T) {
	told := ask(t, 7*time.Minute, [2]string{"AvaxConnectedStakeLow", "alpha"}, [2]string{"AvaxNodeDown", "bravo"}, [2]string{"AvaxNodeDown", "alpha"},
		[2]string{"AvaxHealthCheckFailing", "charlie"}, [2]string{"AvaxL1RunwayLow", "examplel1"}, [2]string{"AvaxForkDetected", ""})
	demand(
		t,
		told[0],
		"AvaxConnectedStakeLow, severity page, fires after",
		" (since 2000-01-01 00:0",
		`value 42 % {node="alpha"}`,
		"bound < 90 %\n",
		"bound < 0.8\n",
		`avax_node_connected_stake_ratio{node="alpha"} 0.42`,
		"Runbook: https://",
		"docs/runbooks/AvaxConnectedStakeLow.md",
		"!bravo",
	)
	demand(t, told[1], "severity page", "firing for", "true   ", "avax:node_down is recorded from", "true   or last_over_time(avax_node_up[7m]) == 0\n",
		`value 0 {node="bravo"}`,
		"bound == 0\n",
		"false  unless ", `avax_node_up{node="bravo"} 0`, "!alpha")
	demand(t, told[2], "not firing", "false  ", "!firing for")
	demand(t, told[3], "pending for ", " and fires in 3 min 3 s (since ", "!ALERTS{alertname=\"AvaxL1RunwayLow\"")
	// The balance ends in 12 days: both the value and its bound are times, as in the text of the alert.
	demand(t, told[4], "severity warn", "pending for", "value 2000-01-13 00:0", "bound < 2000-01-31 00:0", "!d5h is below")
	demand(t, told[5], "not firing", "has no samples here")
}

func TestFamilyIsExplainedWithItsCollector(t *testing.T) {
	told := ask(t, time.Minute, [2]string{"avax_validator_downtime_budget_seconds", "alpha"}, [2]string{"avax_validator_start_timestamp_seconds", "alpha"},
		[2]string{"avax_validator_stake_avax", "alpha"}, [2]string{"avax_node_up", "bravo"})
	demand(t, told[0], "= (1 - ", `{node_id="NodeID-A"} 200000`, `{node_id="NodeID-A"} 0.9`, "!NodeID-B")
	demand(t, told[1], `{node_id="NodeID-A"} 2027-01-03 18:13 UTC`, "!NodeID-B")
	demand(t, told[2], "has no samples here")
	demand(t, told[3], "collector up calls", "the last run for bravo failed: info.getNodeVersion: connection refused")
}

func TestUnknownNameIsAnError(t *testing.T) {
	told := ask(t, time.Minute, [2]string{"AvaxNodeDwn", ""}, [2]string{"AvaxNope", ""}, [2]string{"avax_node_up", "zulu"}, [2]string{"avax_node_ups", ""},
		[2]string{"AvalancheGoDiskLow", ""})
	for i, want := range []string{
		`unknown: unknown alert or family "AvaxNodeDwn": did you mean AvaxNodeDown`, `unknown: unknown alert or family "AvaxNope": avax-exporter rules prints`,
		`unknown: no samples about "zulu"`, "did you mean avax_node_up", "unknown: AvalancheGoDiskLow is not evaluated here",
	} {
		demand(t, told[i], want)
	}
}

func TestEveryAlertIsExplained(t *testing.T) {
	var names [][2]string
	for _, r := range testworld.Rules(t, alerts.Rules) {
		if r.Alert != "" {
			names = append(names, [2]string{r.Alert, ""})
		}
	}
	for i, text := range ask(t, 3*time.Minute, names...) {
		demand(t, text, names[i][0], ", severity ", "Runbook: https://")
	}
}

// An address or a validator is found by the name that the configuration gives it, and the answer says the name.
func TestNamesOfTheConfigurationAreTargets(t *testing.T) {
	told := ask(t, time.Minute, [2]string{"AvaxWalletRunsDry", "relayer"}, [2]string{"avax_address_balance_tokens", "relayer"},
		[2]string{"AvaxStakeEndsSoon", "fund-1"}, [2]string{"AvaxWalletRunsDry", "0xb"})
	demand(t, told[0], "AvaxWalletRunsDry for relayer does not fire: avax_address_balance_tokens of relayer on C is 12", "!0xb")
	demand(t, told[1], `avax_address_balance_tokens{address="0xa", chain="C"} 12`, "!0xb")
	demand(t, told[2], "!unknown", "!NodeID-A")
	demand(t, told[3], "of 0xb on C is 40")
}

// What a label in /metrics says is a target, also a target of a collector that joins a node and a chain.
func TestEveryLabelValueIsATarget(t *testing.T) {
	var names [][2]string
	for line := range strings.Lines(served) {
		name, labels, _ := strings.Cut(line, "{")
		switch {
		case strings.HasSuffix(name, "_labels"): // of the configuration, from no collector
			continue
		case strings.HasPrefix(name, "avax_exporter_collector_"):
			name = "AvaxDataTooOld"
		}
		for _, m := range regexp.MustCompile(`="([^"]+)"`).FindAllStringSubmatch(labels, -1) {
			names = append(names, [2]string{name, m[1]})
		}
	}
	if !slices.Contains(names, [2]string{"AvaxDataTooOld", "charlie/C"}) {
		t.Error("no target with a slash")
	}
	for i, text := range ask(t, time.Minute, names...) {
		if strings.HasPrefix(text, "unknown") {
			t.Errorf("%s: %s", names[i], text)
		}
	}
}
