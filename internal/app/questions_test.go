package app_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	httpconfig "github.com/prometheus/common/config"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/recorded"
)

// A variable that nobody asks about would be wrong until the first outage.
func TestEveryVariableHasAQuestion(t *testing.T) {
	asked := map[string]bool{}
	for _, q := range app.Questions {
		asked[q.Variable] = true
		if !strings.HasSuffix(q.Asks, ".") && !strings.HasSuffix(q.Asks, "?") {
			t.Errorf("%s: what check asks is no sentence: %q", q.Variable, q.Asks)
		}
	}
	for _, v := range config.Variables() {
		if !asked[v.Name] {
			t.Errorf("AVAX_%s has no line in Questions", v.Name)
		}
		delete(asked, v.Name)
	}
	if len(asked) > 0 {
		t.Errorf("questions about no variable: %v", asked)
	}
	keys := map[string][]string{}
	for _, q := range app.Questions {
		keys[q.Variable] = append(keys[q.Variable], strings.Split(q.Key, ", ")...)
	}
	files := config.FileKeys()
	files["NOTIFY_FILE"] = notify.Keys()
	files["RULES_FILE"] = yamlKeys(reflect.TypeFor[rulefmt.RuleGroups](), regexp.MustCompile(`^(groups|rules|record|alert|expr|labels|annotations)$`))
	files["WEB_CONFIG_FILE"] = append(yamlKeys(reflect.TypeFor[web.Config](), place), "tls_server_config", "http_server_config", "rate_limit", "basic_auth_users")
	files["HTTP_CONFIG_FILE"] = append(files["HTTP_CONFIG_FILE"], yamlKeys(reflect.TypeFor[httpconfig.HTTPClientConfig](), place)...)
	for variable, names := range files {
		if len(names) < 2 {
			t.Errorf("AVAX_%s has the keys %v", variable, names)
		}
		for _, key := range names {
			if !slices.Contains(keys[variable], key) {
				t.Errorf("the key %s of AVAX_%s has no line in Questions", key, variable)
			}
		}
	}
}

// place matches a key that names a server or a file.
var place = regexp.MustCompile(`_(file|url)$|^(no_proxy|server_name)$`)

// yamlKeys returns the keys of a type, and of the types of its fields, that match.
func yamlKeys(of reflect.Type, matching *regexp.Regexp) (keys []string) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		return yamlKeys(of.Elem(), matching)
	case reflect.Struct:
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			if matching.MatchString(name) && !slices.Contains(keys, name) {
				keys = append(keys, name)
			}
			if field.IsExported() {
				keys = append(keys, yamlKeys(field.Type, matching)...)
			}
		}
	default:
	}
	return keys
}

// serving serves one answer to every request, and returns its URL.
func serving(t *testing.T, status int, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// named writes a file with this name.
func named(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Each is what the first outage would find out.
func TestCheckFindsWhatTheFirstOutageWould(t *testing.T) {
	hook := serving(t, 200, "ok")
	receiver := func(receivers string) func(*testing.T) config.Environment {
		return func(t *testing.T) config.Environment {
			return config.Environment{"NOTIFY_FILE": testworld.File(t, strings.ReplaceAll(receivers, "HOOK", hook))}
		}
	}
	set := func(name string, value func(*testing.T) string, more ...string) func(*testing.T) config.Environment {
		return func(t *testing.T) config.Environment {
			env := config.Environment{name: value(t)}
			for i := 0; i+1 < len(more); i += 2 {
				env[more[i]] = more[i+1]
			}
			return env
		}
	}
	answers := func(status int, body string) func(*testing.T) string {
		return func(t *testing.T) string { return serving(t, status, body) }
	}
	rules := func(expr string) func(*testing.T) string {
		return func(t *testing.T) string {
			return testworld.File(t, "groups: [{name: mine, rules: [{alert: Few, expr: '"+expr+"', labels: {severity: page}}]}]")
		}
	}
	for name, test := range map[string]struct {
		env  func(*testing.T) config.Environment
		want []string // in what check prints; with none, all is well
	}{
		"a heartbeat": {set("HEARTBEAT_URL", answers(200, "OK")), nil},
		"a heartbeat of a deleted check": {set("HEARTBEAT_URL", answers(200, "OK (not found)")),
			[]string{"FAILS  heartbeat of AVAX_HEARTBEAT_URL", "OK (not found)"}},
		"a heartbeat that is not ok":    {set("HEARTBEAT_URL", answers(200, `{"ok":false,"msg":"Monitor not found"}`)), []string{"Monitor not found"}},
		"a heartbeat behind a login":    {set("HEARTBEAT_URL", answers(200, "<!doctype html><title>Log in</title>")), []string{"a web page"}},
		"a heartbeat of an unknown URL": {set("HEARTBEAT_URL", answers(404, "")), []string{"answers 404 Not Found"}},

		"the built-in rules in a file":            {set("RULES_FILE", func(t *testing.T) string { return testworld.File(t, string(alerts.Rules)) }), nil},
		"a rule with a threshold of the operator": {set("RULES_FILE", rules("avax_node_up == 0 and on () avax:threshold_override > 1")), nil},
		"Prometheus without rules": {set("PROMETHEUS_URL", answers(200, `{"status":"success","data":{"groups":[]}}`), "ALERTING", "off"),
			[]string{"FAILS  AVAX_PROMETHEUS_URL: the server answers, but it has none of the alert rules", "ruleSelector"}},
		"Prometheus with the rules of others": {set("PROMETHEUS_URL",
			answers(200, `{"status":"success","data":{"groups":[{"name":"g","rules":[{"name":"X","type":"alerting","query":"up"}]}]}}`), "ALERTING", "off"),
			[]string{"none of the alert rules"}},
		"a tenant's Prometheus":     {set("PROMETHEUS_URL", answers(401, "no org id"), "ALERTING", "off"), []string{"http_headers: {X-Scope-OrgID: {values: [TENANT]}} to AVAX_HTTP_CONFIG_FILE"}},
		"Prometheus without access": {set("PROMETHEUS_URL", answers(401, ""), "ALERTING", "off"), []string{"401", "AVAX_HTTP_CONFIG_FILE"}},
		"no Prometheus":             {set("PROMETHEUS_URL", answers(404, "not found"), "ALERTING", "off"), []string{"404", "correct its port and path"}},
		"Prometheus behind a login": {set("PROMETHEUS_URL", answers(200, "<html><title>Log in"), "ALERTING", "off"), []string{"a web page"}},
		"Prometheus with broken rules": {set("PROMETHEUS_URL", answers(200, `{"status":"success","data":{"groups":[{"name":"g","rules":[`+
			`{"name":"AvaxNodeDown","type":"alerting","query":"avax_node_up","lastError":"bad"}]}]}}`), "ALERTING", "off"),
			[]string{"it cannot evaluate AvaxNodeDown"}},

		"an Alertmanager behind a login": {set("ALERTMANAGERS", answers(200, "<html><title>Log in")), []string{"FAILS  alerting of Alertmanager 1", "a web page"}},
		"an Alertmanager without access": {set("ALERTMANAGERS", answers(403, "")), []string{"answers 403", "AVAX_HTTP_CONFIG_FILE"}},
		"no Alertmanager":                {set("ALERTMANAGERS", answers(200, `{"status":"ok"}`)), []string{"the answer has no configuration"}},
		"an Alertmanager that pages nobody": {set("ALERTMANAGERS", answers(200, `{"config":{"original":"route: {receiver: none}\nreceivers: [{name: none}]"}}`)),
			[]string{"FAILS  Alertmanager 1: alerts with severity=\"page\" reach nobody"}},
		"an Alertmanager that is down": {set("ALERTMANAGERS", func(t *testing.T) string {
			server := httptest.NewServer(nil)
			server.Close()
			return server.URL
		}), []string{"FAILS  alerting of Alertmanager 1: ", "connection refused: start it, or correct AVAX_ALERTMANAGERS"}},
		"an Alertmanager": {set("ALERTMANAGERS",
			answers(200, `{"config":{"original":"route: {receiver: r}\nreceivers: [{name: r, webhook_configs: [{url: <secret>}]}]"}}`)), nil},

		"a receiver for all": {receiver("route: {receiver: phone}\nreceivers: [{name: phone, webhook_configs: [{url: HOOK}]}]"), nil},
		"severities of others": {receiver(`
route:
  receiver: "null"
  routes: [{matchers: ['severity="critical"'], receiver: phone}, {matchers: ['severity="warning"'], receiver: phone}]
receivers: [{name: "null"}, {name: phone, webhook_configs: [{url: HOOK}]}]`),
			[]string{`FAILS  AVAX_NOTIFY_FILE: alerts with severity="page" reach nobody`, "Routes match severity critical, warning. The rules have page, warn, info, none."}},
		"pages muted for ever": {receiver(`
route: {receiver: chat, routes: [{matchers: ['severity="page"'], receiver: chat, mute_time_intervals: [weekdays, weekend]}]}
time_intervals:
  - {name: weekdays, time_intervals: [{weekdays: ['monday:friday']}]}
  - {name: weekend, time_intervals: [{weekdays: [saturday, sunday]}]}
receivers: [{name: chat, webhook_configs: [{url: HOOK}]}]`), []string{"FAILS  AVAX_NOTIFY_FILE: ", `with severity="page" reach nobody`, "leave no time within a year"}},
		"pages at a time that never comes": {receiver(`
route: {receiver: chat, routes: [{matchers: ['severity="page"'], receiver: chat, active_time_intervals: [never]}]}
time_intervals: [{name: never, time_intervals: [{months: [february], days_of_month: ['30:31']}]}]
receivers: [{name: chat, webhook_configs: [{url: HOOK}]}]`), []string{"leave no time within a year"}},
		"pages by day to one and by night to another": {receiver(`
route:
  receiver: day
  routes:
    - {matchers: ['severity="page"'], receiver: day, active_time_intervals: [day], continue: true}
    - {matchers: ['severity="page"'], receiver: night, mute_time_intervals: [day]}
time_intervals: [{name: day, time_intervals: [{times: [{start_time: "08:00", end_time: "20:00"}], location: Europe/Berlin}]}]
receivers: [{name: day, webhook_configs: [{url: HOOK}]}, {name: night, webhook_configs: [{url: HOOK}]}]`), nil},
		"pages that the watchdog suppresses": {receiver(`
route: {receiver: phone}
inhibit_rules: [{source_matchers: ['alertname="AvaxWatchdog"'], target_matchers: ['severity=~".+"']}]
receivers: [{name: phone, webhook_configs: [{url: HOOK}]}]`), []string{"FAILS  AVAX_NOTIFY_FILE: an alert that always fires (AvaxWatchdog) suppresses pages ("}},
		"a template that is not defined": {receiver(`
route: {receiver: phone}
receivers: [{name: phone, telegram_configs: [{bot_token: 1:x, chat_id: 1, api_url: HOOK, message: '{{ template "telegram.custom" . }}'}]}]`),
			[]string{"FAILS  notify of receiver phone, telegram[0]: telegram.message: ", `"telegram.custom" not defined`}},
		"a template of Slack that is not defined": {receiver(`
route: {receiver: phone}
receivers: [{name: phone, slack_configs: [{api_url: HOOK, channel: '#a', title: '{{ template "slack.monzo.title" . }}'}]}]`),
			[]string{"slack.title: ", "not defined"}},
		"a field that alerts do not have": {receiver(`
route: {receiver: phone}
receivers: [{name: phone, slack_configs: [{api_url: HOOK, channel: '#a', text: '{{ .CommonLabels.node.name }}'}]}]`), []string{"slack.text: "}},
		"a placeholder": {receiver(`
route: {receiver: phone}
receivers: [{name: phone, telegram_configs: [{bot_token: '${TELEGRAM_TOKEN}', chat_id: 1, api_url: HOOK}]}]`),
			[]string{"FAILS  notify of receiver phone, telegram[0]: telegram.bot_token: the value is a placeholder"}},
		"credentials in the place of others": {set("HTTP_CONFIG_FILE", func(t *testing.T) string {
			return named(t, "http.yml", "- {upstreams: ['*']}\n- {upstreams: [local], http_config: {basic_auth: {username: a, password: b}}}")
		}), []string{`no upstream is named "local", or an earlier entry has it`}},
		"only what is configured": {receiver(`
route: {receiver: chat}
receivers: [{name: chat, slack_configs: [{api_url: HOOK, channel: '#ops'}]}]`), nil},

		"rules about other programs": {set("RULES_FILE", rules("avalanche_network_peers < 10")),
			[]string{"FAILS  AVAX_RULES_FILE: Few of group mine: unknown family avalanche_network_peers"}},
		"rules with a misspelt family":     {set("RULES_FILE", rules("avax_node_upp == 0")), []string{"unknown family avax_node_upp: did you mean avax_node_up?"}},
		"rules with a misspelt label":      {set("RULES_FILE", rules(`avax_node_up{nod="local"} == 0`)), []string{`family avax_node_up has no label "nod"`}},
		"rules that need the built-in":     {set("RULES_FILE", rules("avax:node_down == 1")), []string{"which this file replaces"}},
		"rules of a collector that is off": {set("RULES_FILE", rules("avax_node_up == 0 or avax_chain_fee_config_gas_limit < 1"), "COLLECTORS", "up"), []string{"is off"}},
		"rules":                            {set("RULES_FILE", rules(`avax_node_up{node="local", job="avax-exporter"} == 0 unless on () up == 0`)), nil},

		"credentials of no upstream": {set("HTTP_CONFIG_FILE", func(t *testing.T) string {
			return named(t, "http.yml", "- {upstreams: [locl], http_config: {basic_auth: {username: a, password: b}}}")
		}), []string{`FAILS  AVAX_HTTP_CONFIG_FILE: no upstream is named "locl"`, "Did you mean local?"}},
		"a label that nobody has":       {set("ALERT_LABELS", func(*testing.T) string { return "owner" }), []string{`no node and no validator has the label "owner"`}},
		"a schedule of a collector off": {set("SCHEDULES", func(*testing.T) string { return "peers=@every 1m" }, "COLLECTORS", "up"), []string{"the collector peers is off"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			printed, err := checked(t, "partial_sync", func(env config.Environment) {
				for name, value := range test.env(t) {
					env[name] = value
				}
			})
			if (err != nil) != (test.want != nil) {
				t.Errorf("error %v\n%s", err, printed)
			}
			has(t, printed, test.want...)
		})
	}
}

// An address of another program is named.
func TestCheckNamesWhatAnswersInsteadOfANode(t *testing.T) {
	for name, test := range map[string]struct {
		serve http.HandlerFunc
		want  []string
	}{
		"Prometheus": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/-/healthy" {
				_, _ = w.Write([]byte("Prometheus Server is Healthy.\n"))
				return
			}
			http.NotFound(w, r)
		}, []string{"local: Prometheus Server answers at this address, not a node", "no node answers at this address, or the API is disabled"}},
		"Grafana": {func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/":
				http.Redirect(w, r, "/login", http.StatusFound)
			case "/login":
				_, _ = w.Write([]byte("<!DOCTYPE html><title>Grafana</title>"))
			default:
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(`{"message":"Not found"}`))
			}
		}, []string{"local: Grafana answers at this address"}},
		"an exporter": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/metrics" {
				http.NotFound(w, r)
				return
			}
			_, _ = w.Write([]byte("# TYPE go_build_info gauge\ngo_build_info{path=\"x\"} 1\nblackbox_exporter_build_info{version=\"0.27.0\"} 1\n"))
		}, []string{"local: blackbox_exporter answers at this address"}},
		"VictoriaMetrics": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				w.WriteHeader(http.StatusBadRequest)
			}
			_, _ = w.Write([]byte("<h2>Single-node VictoriaMetrics</h2>"))
		}, []string{"local: Single-node VictoriaMetrics answers at this address"}},
		"TLS of Apache": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Reason: You're speaking plain HTTP to an SSL-enabled server port.", http.StatusBadRequest)
		}, []string{"the server speaks TLS: write https:// in its address"}},
		"TLS": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Client sent an HTTP request to an HTTPS server.", http.StatusBadRequest)
		}, []string{"the server speaks TLS: write https:// in its address", "Write https:// instead of http://"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(test.serve)
			t.Cleanup(server.Close)
			printed, err := checked(t, "healthy", func(env config.Environment) { env["NODES"] = "local=" + server.URL })
			if err == nil || strings.Contains(printed, "is not tracked") {
				t.Errorf("%v\n%s", err, printed)
			}
			has(t, printed, test.want...)
		})
	}
}

// check says for each configuration who gets which severity.
func TestCheckSaysWhoIsNotified(t *testing.T) {
	shapes := must.Get(txtar.ParseFile("testdata/alertmanager.txtar"))(t).Files
	if len(shapes) < 20 {
		t.Errorf("%d configurations, want 20", len(shapes))
	}
	for _, shape := range shapes {
		t.Run(shape.Name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(must.Get(recorded.NewNode("partial_sync"))(t))
			t.Cleanup(server.Close)
			env := config.Environment{"NODES": "local=" + server.URL, "CHAINS": "auto", "NOTIFY_FILE": testworld.File(t, string(shape.Data))}
			c := must.Get(env.Parse())(t)
			c.Notify.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("offline") }
			var out strings.Builder
			_ = app.Check(t.Context(), c, &out, false) // no receiver can be reached
			findings := map[string]bool{"FAILS": false, "WARNS": false}
			for line := range strings.Lines(string(shape.Data)) {
				text, isWant := strings.CutPrefix(strings.TrimSpace(line), "# ")
				switch kind, rest, _ := strings.Cut(text, " "); {
				case !isWant:
				case kind == "fails" || kind == "warns":
					findings[strings.ToUpper(kind)] = true
					has(t, out.String(), rest)
				case !regexp.MustCompile("AVAX_NOTIFY_FILE: " + strings.NewReplacer("(", `\(`, ")", `\)`).Replace(text)).MatchString(out.String()):
					t.Errorf("want %s\n%s", text, &out)
				}
			}
			for kind, want := range findings {
				if strings.Contains(out.String(), kind+"  AVAX_NOTIFY_FILE: ") != want {
					t.Errorf("finding %s: want %v\n%s", kind, want, &out)
				}
			}
			for _, mistake := range []string{"not defined", "placeholder"} {
				if strings.Contains(out.String(), mistake) {
					t.Errorf("%s\n%s", mistake, &out)
				}
			}
		})
	}
}

// What may be meant is a warning, and exit code 0.
func TestCheckWarnsAboutTheNotificationFile(t *testing.T) {
	hook := serving(t, 200, "ok")
	for name, test := range map[string]struct{ file, want string }{
		"pages in a time interval only": {`
route: {receiver: chat, routes: [{matchers: ['severity="page"'], receiver: chat, active_time_intervals: [day]}]}
time_intervals: [{name: day, time_intervals: [{times: [{start_time: "08:00", end_time: "18:00"}]}]}]
receivers: [{name: chat, webhook_configs: [{url: HOOK}]}]`, `with severity="page" reach nobody outside a time interval, next `},
		"inhibit rules of others": {`
route: {receiver: chat}
inhibit_rules: [{source_matchers: [severity=critical], target_matchers: [severity=warning], equal: [alertname]}]
receivers: [{name: chat, webhook_configs: [{url: HOOK}]}]`, "no rule of inhibit_rules matches alerts of the rules"},
		"pages that warnings suppress": {`
route: {receiver: chat}
inhibit_rules: [{source_matchers: ['severity="warn"'], target_matchers: ['severity="page"'], equal: [cluster]}]
receivers: [{name: chat, webhook_configs: [{url: HOOK}]}]`, `an alert with severity="warn" (`},
		"pages that another node suppresses": {`
route: {receiver: chat}
inhibit_rules: [{source_matchers: ['alertname="AvaxNodeDown"', 'severity="page"'], target_matchers: ['severity="page"']}]
receivers: [{name: chat, webhook_configs: [{url: HOOK}]}]`, `an alert about another node (AvaxNodeDown) suppresses pages (`},
		"no file of templates": {`
route: {receiver: chat}
templates: [/nowhere/*.tmpl]
receivers: [{name: chat, webhook_configs: [{url: HOOK}]}]`, "no file matches /nowhere/*.tmpl of templates"},
	} {
		t.Run(name, func(t *testing.T) {
			printed, err := checked(t, "partial_sync", func(env config.Environment) {
				second := httptest.NewServer(must.Get(recorded.NewNode("healthy"))(t))
				t.Cleanup(second.Close)
				env["NODES"] += ",second=" + second.URL
				env["CHAINS"], env["COLLECTORS"] = "C", "up"
				env["NOTIFY_FILE"] = testworld.File(t, strings.ReplaceAll(test.file, "HOOK", hook))
			})
			if err != nil {
				t.Errorf("%v\n%s", err, printed)
			}
			has(t, printed, "WARNS  AVAX_NOTIFY_FILE: ", test.want)
		})
	}
}

// A heartbeat says nothing about a Prometheus that evaluates the rules.
func TestCheckSaysWhatAHeartbeatDoesNotSay(t *testing.T) {
	printed, err := checked(t, "partial_sync", func(env config.Environment) {
		env["HEARTBEAT_URL"], env["ALERTING"] = serving(t, 200, "OK"), "off"
	})
	if err != nil {
		t.Errorf("%v\n%s", err, printed)
	}
	has(t, printed, "WARNS  AVAX_HEARTBEAT_URL: AVAX_ALERTING=off", "AvaxWatchdog")
}

// An address with http:// of a server with TLS is named, whichever variable has it, also if the server only closes the connection.
func TestCheckSaysWhereTLSIsSpoken(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	plain := strings.Replace(server.URL, "https://", "http://", 1)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() { // like a program that closes the connection if the first record is not one of TLS
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			first := make([]byte, 1)
			if _, _ = io.ReadFull(conn, first); first[0] == 0x16 {
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = conn.Write([]byte{0x15, 3, 1, 0, 2, 2, 40}) // an alert of TLS
			}
			_ = conn.Close()
		}
	}()
	for name, set := range map[string]config.Environment{
		"nodes":         {"NODES": "local=" + plain},
		"nodes, closed": {"NODES": "local=http://" + listener.Addr().String()},
		"heartbeat":     {"HEARTBEAT_URL": plain},
		"Alertmanager":  {"ALERTMANAGERS": plain},
		"Prometheus":    {"PROMETHEUS_URL": plain, "ALERTING": "off"},
		"Telegram": {"NOTIFY_FILE": testworld.File(t,
			"route: {receiver: r}\nreceivers: [{name: r, telegram_configs: [{bot_token: '1:x', chat_id: 1, api_url: '"+plain+"'}]}]")},
	} {
		t.Run(name, func(t *testing.T) {
			printed, err := checked(t, "healthy", func(env config.Environment) { maps.Copy(env, set) })
			if err == nil || !strings.Contains(printed, "speaks TLS") || !strings.Contains(printed, "rite https:// in ") {
				t.Errorf("%v\n%s", err, printed)
			}
		})
	}
	env := config.Environment{"NODES_FILE": plain + "/nodes"}
	if _, err := env.Parse(); err == nil || !strings.Contains(err.Error(), "speaks TLS: write https://") {
		t.Errorf("nodes file: %v", err)
	}
}

// The staking port of a node is named, whether its address has http:// or https://.
func TestCheckNamesTheStakingPort(t *testing.T) {
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	own := &x509.Certificate{SerialNumber: big.NewInt(0), NotAfter: time.Now().AddDate(100, 0, 0)} // as AvalancheGo makes it
	certificate := must.Get(x509.CreateCertificate(rand.Reader, own, own, key.Public(), key))(t)
	staking := must.Get(tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
	}))(t)
	t.Cleanup(func() { _ = staking.Close() })
	go func() {
		for {
			conn, err := staking.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = conn.(*tls.Conn).Handshake()
				_ = conn.Close()
			}()
		}
	}()
	for _, scheme := range []string{"http", "https"} {
		printed, err := checked(t, "healthy", func(env config.Environment) { env["NODES"] = "local=" + scheme + "://" + staking.Addr().String() })
		if err == nil || strings.Count(printed, "staking port") != 1 || strings.Contains(printed, "rite https://") {
			t.Errorf("%s: %v\n%s", scheme, err, printed)
		}
	}
}

// Each entry of AVAX_HTTP_CONFIG_FILE that leads nowhere is named with what it names.
func TestCheckNamesWhatCredentialsCannotReach(t *testing.T) {
	prometheus := serving(t, 200, `{"status":"success","data":{"groups":[]}}`)
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"an upstream": {"- {upstreams: [alfa], http_config: {basic_auth: {username: a, password: b}}}", []string{`no upstream is named "alfa"`}},
		"a service":   {"- {upstreams: [prometheu], http_config: {basic_auth: {username: a, password: b}}}", []string{`no upstream is named "prometheu"`, "Did you mean prometheus?"}},
		"a pattern":   {"- {upstreams: ['node-*'], http_config: {basic_auth: {username: a, password: b}}}", []string{`no upstream is named "node-*"`}},
		"a proxy":     {"- {upstreams: [prometheus], http_config: {proxy_url: 'http://127.0.0.1:1'}}", []string{"FAILS  AVAX_PROMETHEUS_URL", "127.0.0.1:1"}},
		"a proxy whose name does not exist": {"- {upstreams: [prometheus], http_config: {proxy_url: 'http://proxy.invalid:3128'}}",
			[]string{"FAILS  AVAX_PROMETHEUS_URL", "proxy.invalid"}},
		"a token URL": {"- {upstreams: [prometheus], http_config: {oauth2: {client_id: a, client_secret: b, token_url: 'http://127.0.0.1:1/token'}}}",
			[]string{"FAILS  AVAX_PROMETHEUS_URL", "127.0.0.1:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			printed, err := checked(t, "healthy", func(env config.Environment) {
				env["HTTP_CONFIG_FILE"] = named(t, "http.yml", test.file)
				env["ALERTING"], env["PROMETHEUS_URL"] = "off", prometheus
			})
			if err == nil {
				t.Errorf("check succeeds\n%s", printed)
			}
			has(t, printed, test.want...)
		})
	}
}

// Credentials of a service that is not configured may be for another exporter: a warning.
func TestCheckWarnsAboutCredentialsOfNoService(t *testing.T) {
	printed, err := checked(t, "healthy", func(env config.Environment) {
		env["HTTP_CONFIG_FILE"] = named(t, "http.yml", "- {upstreams: [prometheus], http_config: {basic_auth: {username: a, password: b}}}")
	})
	if err != nil {
		t.Error(err)
	}
	has(t, printed, "WARNS  AVAX_HTTP_CONFIG_FILE: the credentials of prometheus are not sent", "Set AVAX_PROMETHEUS_URL, or remove the entry.")
}
