package notify_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// A file with secrets, as in Alertmanager's documentation, is valid. If every user may read it, there is a warning. No secret is shown.
func TestSecretsInTheFile(t *testing.T) {
	receiver := func(config string) string {
		return "route: {receiver: phone}\nreceivers: [{name: phone, " + config + "}]"
	}
	for config, secret := range map[string]bool{
		receiver(`telegram_configs: [{bot_token: c4n4ry, chat_id: 1}]`):                                                           true,
		receiver(`webhook_configs: [{url: "http://a/c4n4ry"}]`):                                                                   true,
		receiver(`slack_configs: [{api_url: "http://a/c4n4ry"}]`):                                                                 true,
		receiver(`pagerduty_configs: [{routing_key: c4n4ry}]`):                                                                    true,
		receiver(`webhook_configs: [{url_file: a, http_config: {basic_auth: {username: me, password: c4n4ry}}}]`):                 true,
		receiver(`webhook_configs: [{url_file: a, http_config: {http_headers: {X-Key: {secrets: [c4n4ry]}}}}]`):                   true,
		"global: {smtp_auth_password: c4n4ry, smtp_smarthost: 'a:25', smtp_from: a@b}\n" + receiver(`email_configs: [{to: a@b}]`): true,
		"global: {http_config: {authorization: {credentials: c4n4ry}}}\n" + receiver(`webhook_configs: [{url_file: a}]`):          true,
		receiver(`webhook_configs: [{url_file: a}], telegram_configs: [{bot_token_file: b, chat_id: 1}]`):                         false,
	} {
		c := notify.Config{File: filepath.Join(t.TempDir(), "notify.yml")}
		for _, mode := range []os.FileMode{0o600, 0o640, 0o644} {
			_ = os.Remove(c.File)
			must.Do(t, os.WriteFile(c.File, []byte(config), mode))
			if err := notify.Check(c); err != nil {
				t.Errorf("%s: %v", config, err)
			}
			err := notify.Exposed(c)
			if want := secret && mode == 0o644; (err != nil) != want ||
				err != nil && (strings.Contains(err.Error(), "c4n4ry") || !strings.Contains(err.Error(), "0600")) {
				t.Errorf("%s\nmode %o: %v, want a warning: %v", config, mode, err, want)
			}
		}
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		n := must.Get(notify.Start(ctx, notify.Options{Config: c, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(&log, nil))}))(t)
		w := httptest.NewRecorder()
		n.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v2/status", nil))
		cancel()
		n.Wait()
		if told := strings.Contains(log.String(), "notification secrets exposed"); told != secret || strings.Contains(log.String()+w.Body.String(), "c4n4ry") {
			t.Errorf("%s\nlog %s\nstatus %s", config, &log, w.Body)
		}
	}
}

// A receiver may get its file later, so the file is not required. But who starts the exporter learns of it before the first page.
func TestUnusableFilesOfReceiversAreLogged(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return filepath.Join(dir, name)
	}
	for file, want := range map[string]string{
		filepath.Join(dir, "none"):       "no such file",
		write("empty", ""):               "is empty",
		write("text", "c4n4ry"):          "does not contain a URL",
		write("url", "http://a/c4n4ry/"): "",
	} {
		text := "route: {receiver: phone}\nreceivers: [{name: phone, webhook_configs: [{url_file: " + file + "}]}]"
		path := write("notify.yml", text)
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		n := must.Get(notify.Start(ctx, notify.Options{
			Config: notify.Config{File: path}, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(&log, nil)),
		}))(t)
		must.Do(t, n.Reload())
		cancel()
		n.Wait()
		logged := log.String()
		if told := strings.Count(logged, "receiver unusable"); (told == 2) != (want != "") || !strings.Contains(logged, want) || strings.Contains(logged, "c4n4ry") {
			t.Errorf("%s: want %q at the start and at a reload:\n%s", file, want, logged)
		}
	}
}

// Alertmanager would block on a FIFO, or read a device without end.
func TestFilesThatBlockAreRejected(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo.tmpl")
	must.Do(t, syscall.Mkfifo(fifo, 0o600))
	for _, file := range []string{fifo, "/dev/zero"} {
		for _, config := range []string{
			`webhook_configs: [{url_file: ` + file + `}]`,
			`webhook_configs: [{url_file: a, http_config: {tls_config: {cert_file: ` + file + `, key_file: b}}}]`,
			`webhook_configs: [{url_file: a, http_config: {basic_auth: {username: me, password_file: ` + file + `}}}]`,
		} {
			text := "route: {receiver: phone}\nreceivers: [{name: phone, " + config + "}]"
			if err := notify.Check(notify.Config{Text: []byte(text)}); err == nil || !strings.Contains(err.Error(), file+": not a regular file") {
				t.Errorf("%s: %v", config, err)
			}
		}
	}
	text := "templates: [" + dir + "/*.tmpl]\nroute: {receiver: phone}\nreceivers: [{name: phone}]"
	if err := notify.Check(notify.Config{Text: []byte(text)}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("template: %v", err)
	}
}

// The target of a redirect would receive the credentials.
func TestReceiversFollowRedirectsOnlyIfTheFileSaysSo(t *testing.T) {
	for setting, want := range map[string]int64{"": 0, ", follow_redirects: true": 1} {
		var redirected atomic.Int64
		target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { redirected.Add(1) }))
		t.Cleanup(target.Close)
		server := httptest.NewServer(http.RedirectHandler(target.URL, http.StatusTemporaryRedirect))
		t.Cleanup(server.Close)
		text := "route: {receiver: phone}\nreceivers: [{name: phone, webhook_configs: [{send_resolved: false, url: '" + server.URL +
			"', http_config: {http_headers: {X-Key: {secrets: [c4n4ry]}}" + setting + "}}]}]"
		trials, err := notify.Try(t.Context(), notify.Config{Text: []byte(text)}, true)
		if err != nil || len(trials) != 1 {
			t.Fatalf("%v, %v", trials, err)
		}
		if (trials[0].Err == nil) != (want > 0) || redirected.Load() != want {
			t.Errorf("%q: %v, %d requests to the target", setting, trials[0].Err, redirected.Load())
		}
	}
}

// An error names the field and what to write, and no value.
func TestErrorsNameTheField(t *testing.T) {
	const route = "route: {receiver: phone}\nreceivers:\n"
	for text, want := range map[string]string{
		route + `- {name: phone, telegram_configs: [{bot_token: c4n4ry, chat_id: "-100123"}]}`:                                                                  "line 3: chat_id: write a number without quotation marks",
		route + `- {name: phone, webhook_configs: [{url: "http://c4n4ry/", send_resolved: maybe}]}`:                                                             "line 3: send_resolved: write true or false",
		route + "- {name: phone}\n- {name: phone}":                                                                                                              `receiver "phone" is there twice: rename one`,
		route + "- {name: phone, slack_config: [{api_url: 'http://c4n4ry/'}]}":                                                                                  "unknown field slack_config: did you mean slack_configs?",
		route + "- {name: phone, webhook_configs: [{url: 'http://c4n4ry/'}], email_configs: [{to: a@b.example, from: a@b.example, smarthost: smtp.b.example}]}": "receiver phone, email[0]: address ",
		route + "- {name: phone, email_configs: [{to: a@b.example, smarthost: 'smtp.b.example:587'}]}":                                                          "receiver phone, email[0]: no global SMTP from set",
		"global: {smtp_from: a@b.example}\n" + route + "- {name: phone, email_configs: [{to: a@b.example}]}":                                                    "receiver phone, email[0]: no global SMTP smarthost set",
		route + "- {name: chat, webhook_configs: [{url: 'http://c4n4ry/'}]}\n- {name: phone, victorops_configs: [{api_key: c4n4ry}]}":                           "receiver phone, victorops[0]: missing Routing key in VictorOps config",
		route + "- {name: phone, webhook_configs: [{url: 'http://c4n4ry/'}, {url: c4n4ry.example/x}]}":                                                          "receiver phone, webhook[1]: invalid URL",
		route + `- {name: phone, webhook_configs: [{url: "http://me:c4n4ry@no host"}]}`:                                                                         "receiver phone, webhook[0]: invalid URL",
		route + `- {name: phone, telegram_configs: [{bot_token: x, chat_id: 1, api_url: "http://me:c4n4ry@no host"}]}`:                                          "receiver phone, telegram[0]: parse …",
		"route: {receiver: phone, group_wait: 30}\nreceivers: [{name: phone}]":                                                                                  "line 1: group_wait: write a duration with its unit, such as 30s",
	} {
		err := notify.Check(notify.Config{Text: []byte(text)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "c4n4ry") {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
}
