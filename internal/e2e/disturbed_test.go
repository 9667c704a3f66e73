package e2e

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// three incidents, each with its page.
var three = []incident{
	{
		begin: func(n *simnet.Network) { n.Node("bravo").Stop() },
		end:   func(n *simnet.Network) { n.Node("bravo").Start() },
		alert: "AvaxNodeDown", labels: []string{"node=bravo", "severity=page"},
	},
	{
		begin: func(n *simnet.Network) { n.Node("charlie").SetChain("C", simnet.Bootstrapping) },
		end:   func(n *simnet.Network) { n.Node("charlie").SetChain("C", simnet.Running) },
		alert: "AvaxChainNotBootstrapped", labels: []string{"node=charlie", "severity=page"},
	},
	{
		begin: func(n *simnet.Network) {
			for _, m := range absent {
				n.Disconnect(m)
			}
		},
		end: func(n *simnet.Network) {
			for _, m := range absent {
				n.Reconnect(m)
			}
		},
		alert: "AvaxL1ConnectedWeightLow", labels: []string{"chain=examplel1", "severity=page"},
	},
}

var absent = []string{"member1", "member2", "member3"}

// naive is what an operator would write first. It must be disturbed, or nothing was.
const naive = `
- name: naive
  rules:
  - {alert: Naive, expr: 'avax_node_up{node="bravo"} == 0', labels: {severity: page}}
`

// disturbed returns a network, and an exporter's environment, in which the three incidents cause three pages and no others.
func disturbed(t *testing.T) (network *simnet.Network, environment []string, rules string) {
	t.Helper()
	network = simnet.New(simnet.Options{Seed: 1, Validators: 60})
	for n := range 10 {
		network.AddValidator(fmt.Sprintf("large%d", n), 3_000_000e9, 300*24*time.Hour)
	}
	for n := range 6 {
		network.AddL1Validator("examplel1", fmt.Sprintf("member%d", n+1), 150, 100e9)
	}
	urls := testworld.Serve(t, network)
	environment = []string{
		everySecond, "AVAX_TRUST_LOOPBACK=true",
		"AVAX_NODES=alpha=" + urls["alpha"] + ",bravo=" + urls["bravo"] + ",charlie=" + urls["charlie"],
		"AVAX_CHAINS=C,examplel1=" + network.Chain("examplel1").ID,
	}
	text := append(slices.Clone(alerts.Rules), naive...)
	rules = testworld.File(t, string(testworld.ShortenRules(t, text, func(d time.Duration) time.Duration { return min(d, 15*time.Second) })))
	return network, environment, rules
}

// arriveOnce plays the incidents, disturbs the monitoring while they begin and last, and demands one page of each, and one message that it ended.
func arriveOnce(t *testing.T, network *simnet.Network, phone *testworld.Receiver, disturb func()) {
	t.Helper()
	for _, i := range three {
		i.begin(network)
	}
	for _, i := range three {
		phone.Wait(testworld.Firing(i.alert, i.labels...))
	}
	disturb()
	for _, i := range three {
		if n := count(phone, testworld.Resolved(i.alert, i.labels...)); n > 0 {
			t.Errorf("%s: sent as resolved %d times while it lasts", i.alert, n)
		}
	}
	for _, i := range three {
		i.end(network)
	}
	for _, i := range three {
		phone.Wait(testworld.Resolved(i.alert, i.labels...))
	}
	for _, i := range three {
		if n := count(phone, testworld.Firing(i.alert, i.labels...)); n != 1 {
			t.Errorf("%s: sent %d times", i.alert, n)
		}
	}
	if t.Failed() {
		for _, a := range phone.Alerts() {
			t.Logf("%s %s %s %s since %s", a.At.Format(time.TimeOnly), a.Labels["alertname"], a.Labels["node"], a.Status, a.StartsAt.Format(time.TimeOnly))
		}
	}
}

// allFire waits until the process at this address lists the three pages as firing.
func allFire(t *testing.T, url string) {
	t.Helper()
	testworld.Await(t, "each page fires", func() error {
		all, err := active(t, url)
		for _, i := range three {
			if err == nil && !slices.ContainsFunc(slices.Collect(maps.Values(all)), func(a listedAlert) bool {
				return a.State == "firing" && a.Labels["alertname"] == i.alert && a.Labels["severity"] == "page"
			}) {
				err = errors.New(i.alert + " does not fire")
			}
		}
		return err
	})
}

// One scrape in four is lost, from the beginning to the end. The exporter is killed and is away for half a minute, then Prometheus for 20 s.
func TestDisturbedPrometheusSendsEachPageOnce(t *testing.T) {
	testworld.Full(t)
	for _, program := range []string{"prometheus", "prometheus-3"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			network, environment, rules := disturbed(t)
			environment = append(environment, "AVAX_ALERTING=off", "AVAX_LISTEN="+testworld.Address(t))
			exporter := testworld.StartExporter(t, environment...)
			phone := testworld.Webhook(t)
			prometheus := testworld.Prometheus(t, testworld.PrometheusConfig{
				Program: program, Targets: []string{lossy(t, exporter.URL)}, RuleFiles: []string{rules},
				Alertmanagers:  []string{testworld.Alertmanager(t, phone.URL).URL},
				ScrapeInterval: 2 * time.Second, EvaluationInterval: time.Second, ResendDelay: 15 * time.Second,
			})
			awaitSample(t, prometheus, `avax_l1_connected_weight{node="alpha", chain="examplel1"} > 0 and on (node) avax_node_up == 1`)
			arriveOnce(t, network, phone, func() {
				exporter.End(syscall.SIGKILL)
				time.Sleep(30 * time.Second)
				testworld.StartExporter(t, environment...)
				awaitSample(t, prometheus, `avax_node_up{node="alpha"} == 1`)
				prometheus.Kill()
				time.Sleep(20 * time.Second) // of the minute after which Alertmanager takes its alerts for resolved
				prometheus.Start()
				allFire(t, prometheus.URL)
			})
			if count(phone, testworld.Resolved("Naive")) < 2 {
				t.Errorf("a rule that reads the newest sample was not disturbed: %+v", phone.Alerts())
			}
		})
	}
}

// lossy returns the address of a proxy that loses a quarter of all requests.
func lossy(t *testing.T, target string) string {
	t.Helper()
	to := must.Get(url.Parse(target))(t)
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rand.IntN(4) == 0 {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// The exporter evaluates the rules. It is killed twice while the pages fire.
func TestKilledExporterSendsEachPageOnce(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network, environment, rules := disturbed(t)
	phone := testworld.Webhook(t)
	state := t.TempDir()
	environment = append(environment,
		"AVAX_RULES_FILE="+rules, "AVAX_ALERTING_INTERVAL=1s", "AVAX_EXTERNAL_LABELS=instance=exporter:9865",
		"AVAX_NOTIFY_FILE="+notifyFile(t, phone.URL), "AVAX_STATE_DIR="+state, "AVAX_LISTEN="+testworld.Address(t))
	exporter := testworld.StartExporter(t, environment...)
	healthy := func(e *testworld.Exporter) {
		e.Until("rules are evaluated for half a minute", func(s testworld.Samples) error {
			if lasts := s["avax_exporter_history_seconds"]; lasts < 30 {
				return fmt.Errorf("for %v s", lasts)
			}
			return nil
		})
	}
	healthy(exporter)
	arriveOnce(t, network, phone, func() {
		for _, i := range three {
			stored(t, state, "nflog", i.alert) // a notification in progress would be repeated
		}
		time.Sleep(5 * time.Second) // the state is written every four evaluations
		for range 2 {
			exporter.End(syscall.SIGKILL)
			exporter = testworld.StartExporter(t, environment...)
			allFire(t, exporter.URL)
			healthy(exporter)
		}
	})
}
