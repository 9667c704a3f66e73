package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// A pasted URL of an API or a page is refused with the right one. Before, requests to it were lost with 404.
func TestPastedAPIPathsAreRefused(t *testing.T) {
	for variable, examples := range map[string]map[string]string{
		"ALERTMANAGERS": {
			"http://am:9093/api/v2/alerts": "write http://am:9093", "http://am:9093/api/v1/alerts/": "write http://am:9093",
			"https://am/alertmanager/api/v2": "remove /api/v2 and what follows", "http://am:9093/-/healthy": "write http://am:9093",
			"http://am:9093,http://bm:9093/api/v2": "entry 2 of the list", "http://am:9093/#/alerts": "query or fragment",
			"/x": "write one like http://alertmanager:9093", "http:/x": "write one like http://alertmanager:9093", "http://am:99999": "port is not a number from 1",
			"http://am:0": "port is not a number from 1", "http://am:9093": "", "https://am.example/alertmanager/": "",
			"https://am.example/api/prom/alertmanager": "",
		},
		"PROMETHEUS_URL": {
			"http://p:9090/api/v1": "write http://p:9090", "http://p:9090/api/v1/query?query=up": "query or fragment",
			"http://p:9090/graph": "write http://p:9090", "https://m/prometheus/api/v1/": "remove /api/v1 and what follows",
			"p:9090": "write http://p:9090", "ftp://p": "write http://p", "http://p:9090/metrics": "write http://p:9090",
			"http://p:9090": "", "https://m.example/prometheus": "", "https://prometheus-1.grafana.net/api/prom": "",
		},
		"DATA_URL": {
			"https://data-api.avax.network/v1":                         "write https://data-api.avax.network",
			"https://data-api.avax.network/v1/networks/mainnet/c4n4ry": "write https://data-api.avax.network",
			"https://proxy/data/v1":                                    "remove /v1 and what follows",
			"https://data-api.avax.network/":                           "",
			"https://proxy.example/v1x":                                "",
		},
		"METRICS_URL": {"https://metrics.avax.network/v2/networks": "write https://metrics.avax.network", "https://metrics.avax.network": ""},
		"EXTERNAL_URL": {
			"https://u:secret@e": "which every notification would show: remove them", "https://e/?a=b": "has a query or fragment: remove the part after ? or #",
			"https://e/alerts": "write https://e", "/x": "write one like https://exporter.example", "https://e/exporter": "", "https://e": "",
		},
		"NODES": {"a=http://n:9650/ext/info": "without /ext", "a=http://n:9650": ""},
	} {
		for value, wants := range examples {
			env := config.Environment{variable: value}
			if variable == "PROMETHEUS_URL" {
				env["ALERTING"] = "off"
			}
			_, err := env.Parse()
			switch {
			case wants == "" && err != nil:
				t.Errorf("%s=%s: %v", variable, value, err)
			case wants == "":
			case err == nil || !strings.Contains(err.Error(), wants) || strings.Contains(err.Error(), "c4n4ry") || strings.Contains(err.Error(), "\n"):
				t.Errorf("%s=%s: %v, want %q", variable, value, err, wants)
			}
		}
	}
}

// What people write in files for Docker, Kubernetes and systemd.
func TestSwitchesAcceptWhatPeopleWrite(t *testing.T) {
	for value, want := range map[string]bool{
		"true": true, "TRUE": true, "True": true, "on": true, "yes": true, "1": true, "false": false, "False": false, "off": false, "no": false, "0": false,
	} {
		if c, err := (config.Environment{"ALERTING": value}).Parse(); err != nil || bool(c.EvaluateRules) != want {
			t.Errorf("%s: %v", value, err)
		}
	}
	for _, variable := range []string{"ALERTING", "TRUST_LOOPBACK", "DIGEST"} {
		_, err := config.Environment{variable: "maybe"}.Parse()
		if err == nil || !strings.Contains(err.Error(), `"maybe": write true or false`) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", variable, err)
		}
	}
}

// With a longer interval, a rule would be evaluated when the samples of the last scrape are too old.
func TestEvaluationIntervalIsBounded(t *testing.T) {
	for interval, valid := range map[string]bool{"15s": true, "2m": true, "121s": false, "10m": false} {
		_, err := config.Environment{"ALERTING_INTERVAL": interval}.Parse()
		if valid != (err == nil) || err != nil && !strings.Contains(err.Error(), "AVAX_ALERTING_INTERVAL: ") {
			t.Errorf("%s: %v", interval, err)
		}
		if _, err := (config.Environment{"ALERTING_INTERVAL": interval, "ALERTING": "off"}).Parse(); err != nil {
			t.Errorf("%s, without alerting: %v", interval, err)
		}
	}
}

// A variable that would do nothing, or break links, is an error that names it.
func TestSettingsOfAlertsThatCannotWorkAreNamed(t *testing.T) {
	for want, env := range map[string]config.Environment{
		"AVAX_DIGEST: not used with AVAX_ALERTING=off": {"ALERTING": "off", "DIGEST": "on"},
		"AVAX_EXTERNAL_LABELS: instance=":              {"EXTERNAL_LABELS": "instance=prod eu"},
	} {
		if _, err := env.Parse(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", env, err, want)
		}
	}
	for _, env := range []config.Environment{
		{"ALERTING": "off", "DIGEST": "off"}, {"EXTERNAL_LABELS": "instance=prod eu", "EXTERNAL_URL": "http://exporter:9865"},
	} {
		if _, err := env.Parse(); err != nil {
			t.Errorf("%v: %v", env, err)
		}
	}
}

// An invalid AVAX_ALERTING causes no second error about what depends on it.
func TestInvalidSwitchCausesOneError(t *testing.T) {
	for _, env := range []config.Environment{
		{"ALERTING": "maybe", "PROMETHEUS_URL": "http://p:9090"}, {"ALERTING": "maybe", "NOTIFY_FILE": "x.yml"}, {"ALERTING": "maybe", "ALERTMANAGERS": "http://am:9093"},
	} {
		if _, err := env.Parse(); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v", env, err)
		}
	}
}

// A block of YAML, as in a values file, ends each of its lines.
func TestListsMayHaveALineForEachItem(t *testing.T) {
	for variable, items := range map[string][]string{
		"NODES": {"a=http://a:9650", "b=https://b"}, "OBSERVERS": {"a=http://a:9650", "b=https://b"}, "CHAINS": {"C", "auto"},
		"COLLECTORS": {"+admin", "-supply"}, "ALERTMANAGERS": {"http://a:9093", "http://b:9093"}, "EXTERNAL_LABELS": {"job=avax", "site=eu"},
		"ALERT_LABELS": {"owner", "region"}, "VALIDATORS": {"NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", "NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ"},
	} {
		want := must.Get(config.Environment{variable: strings.Join(items, ",")}.Parse())(t)
		got, err := config.Environment{variable: strings.Join(items, "\n") + "\n"}.Parse()
		if err != nil {
			t.Errorf("%s: %v", variable, err)
			continue
		}
		if diff := cmp.Diff(fmt.Sprintf("%+v", want.Values), fmt.Sprintf("%+v", got.Values)); diff != "" {
			t.Errorf("%s (-comma +line end):\n%s", variable, diff)
		}
	}
}

// Semicolons and spaces separate no entries: the error says what does, and shows no password.
func TestListsWithOtherSeparatorsAreNamed(t *testing.T) {
	for _, variable := range []string{"NODES", "OBSERVERS"} {
		for _, separator := range []string{";", " ", "; ", "|", "\t"} {
			_, err := config.Environment{variable: "a=http://u:secret@a:9650" + separator + "b=http://b:9650"}.Parse()
			if told := fmt.Sprint(err); !strings.Contains(told, "entry 1 of the list has several URLs: write commas between the entries") ||
				strings.Contains(told, "secret") {
				t.Errorf("%s with %q: %s", variable, separator, told)
			}
		}
	}
	_, err := config.Environment{"ALERTMANAGERS": "http://a:9093;http://b:9093"}.Parse()
	if told := fmt.Sprint(err); !strings.Contains(told, "write commas between the entries") {
		t.Error(told)
	}
}

// A collector that does not exist has the nearest name, in each variable.
func TestUnknownCollectorsHaveTheNearestName(t *testing.T) {
	for variable, value := range map[string]string{"COLLECTORS": "+peer", "SCHEDULES": "peer=@every 30s"} {
		_, err := config.Environment{variable: value}.Parse()
		if told := fmt.Sprint(err); !strings.Contains(told, `unknown collector "peer"; did you mean peers? docs/metrics.md lists them`) {
			t.Errorf("%s: %s", variable, told)
		}
	}
}

// docker --env-file and some versions of compose pass quotation marks on.
func TestQuotationMarksAreNamed(t *testing.T) {
	for variable, value := range map[string]string{
		"NODES": `"a=http://n:9650"`, "CHAINS": `'C'`, "ALERTING": `"on"`, "NODES_FILE": `"nodes.yml"`,
		"LOG_LEVEL": "‘INFO’", "TIMEOUT": "“10s”", "NETWORK": "`fuji`", "CURRENCY": `"usd`, "VALIDATORS": "«own»", "OBSERVERS": "\"a=http://a:9650\"\r",
	} {
		_, err := config.Environment{variable: value}.Parse()
		if err == nil || !strings.Contains(err.Error(), "AVAX_"+variable+": the value is in quotation marks: remove them") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s=%s: %v", variable, value, err)
		}
	}
}

// Kubernetes sets variables for each Service of a namespace. A Service named avax or avax-… has the prefix of ours.
// The exporter's own configuration is valid for the commands on its machine, whatever it monitors.
func TestCommandsAcceptWhatTheExporterMonitors(t *testing.T) {
	for name, env := range map[string]config.Environment{
		"the holder of a token is in the file": {
			"WATCH_FILE": testworld.File(t, "addresses: {holder: '"+watchedEVM+"'}"), "WATCH_TOKENS": "C/" + watchedEVM + "/7",
			"DATA_URL": "https://data-api.avax.network",
		},
		"a chain has the name of the default node":    {"NODES": "a=http://a:9650", "CHAINS": "C,local=" + watchedID},
		"an address has the name of the default node": {"NODES": "a=http://a:9650", "WATCH_ADDRESSES": "local=" + watchedP},
		"only observers":        {"NODES": "", "OBSERVERS": "a=http://a:9650", "VALIDATORS": "all", "CHAINS": "C"},
		"only the Data service": {"NODES": "", "DATA_URL": "https://data-api.avax.network", "NETWORK": "mainnet", "CHAINS": "C", "VALIDATORS": ""},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range env {
				t.Setenv("AVAX_"+variable, value)
			}
			for command, load := range map[string]func() (*config.Config, error){"serve": config.Load, "ask": config.LoadServing} {
				if _, err := load(); err != nil {
					t.Errorf("%s: %v", command, err)
				}
			}
		})
	}
}

func TestServiceLinksAreIgnored(t *testing.T) {
	for name, value := range map[string]string{
		"PORT": "tcp://10.0.0.1:9650", "PORT_9650_TCP": "tcp://10.0.0.1:9650", "PORT_9650_TCP_ADDR": "10.0.0.1", "PORT_9650_TCP_PORT": "9650",
		"PORT_9650_TCP_PROTO": "tcp", "SERVICE_HOST": "10.0.0.1", "SERVICE_PORT": "9650", "SERVICE_PORT_HTTP": "9650",
		"NODE_1_PORT": "tcp://10.0.0.2:9650", "NODE_1_SERVICE_HOST": "10.0.0.2",
	} {
		t.Setenv("AVAX_"+name, value)
	}
	if _, err := config.Load(); err != nil {
		t.Error(err)
	}
	t.Setenv("AVAX_"+"PORTS", "9650")
	if _, err := config.Load(); err == nil || !strings.Contains(err.Error(), "AVAX_"+"PORTS: unknown variable") {
		t.Errorf("%v", err)
	}
}

// Spaces and the line ends of Windows are no part of a value.
func TestValuesFromFilesOfWindowsAreAccepted(t *testing.T) {
	for _, end := range []string{"\r", "\n", "\r\n", " ", "\t"} {
		env := config.Environment{
			"NODES": "a=http://a:9650", "CHAINS": "C,auto", "ALERTING": "off", "LOG_LEVEL": "INFO", "LOG_FORMAT": "json", "TIMEOUT": "10s", "CURRENCY": "usd",
			"NETWORK": "fuji", "CONCURRENCY": "4", "VALIDATORS": "own", "LISTEN": ":9865", "PROMETHEUS_URL": "http://p:9090", "ALERTMANAGERS": "http://am:9093",
			"DATA_BUDGET": "6000/m", "COLLECTORS": "-supply", "SCHEDULES": "peers=@every 1m", "EXTERNAL_LABELS": "a=b", "SHARD": "0", "RULES_FILE": "", "NODES_FILE": "",
		}
		for name, value := range env {
			env[name] = " " + value + end
		}
		if _, err := env.Parse(); err != nil {
			t.Errorf("%q: %v", end, err)
		}
	}
}
