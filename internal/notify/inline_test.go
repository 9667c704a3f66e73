package notify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/notify"
)

func TestInlineSecretsAreRejected(t *testing.T) {
	receiver := func(config string) string {
		return "route: {receiver: phone}\nreceivers: [{name: phone, " + config + "}]"
	}
	for config, want := range map[string]string{
		receiver(`webhook_configs: [{url: "http://a/c4n4ry"}]`):                                                                   "receiver phone: webhook_configs[0]: url: secret in the configuration: write it into a separate file, and the path of that file into url_file",
		receiver(`webhook_configs: [{url_file: a}, {url: "http://c4n4ry"}]`):                                                      "webhook_configs[1]: url: ",
		receiver(`telegram_configs: [{bot_token: c4n4ry, chat_id: 1}]`):                                                           "telegram_configs[0]: bot_token: secret in the configuration: write it into a separate file, and the path of that file into bot_token_file",
		receiver(`discord_configs: [{webhook_url: "http://a/c4n4ry"}]`):                                                           "into webhook_url_file",
		receiver(`slack_configs: [{api_url: "http://a/c4n4ry"}]`):                                                                 "into api_url_file",
		receiver(`pagerduty_configs: [{routing_key: c4n4ry}]`):                                                                    "into routing_key_file",
		receiver(`pushover_configs: [{user_key: c4n4ry, token_file: a}]`):                                                         "into user_key_file",
		receiver(`pushover_configs: [{user_key_file: a, token: c4n4ry}]`):                                                         "into token_file",
		receiver(`email_configs: [{to: a@b, from: a@b, smarthost: "a:25", auth_password: c4n4ry}]`):                               "into auth_password_file",
		receiver(`webhook_configs: [{url_file: a, http_config: {authorization: {credentials: c4n4ry}}}]`):                         "http_config: authorization: credentials: secret in the configuration: write it into a separate file, and the path of that file into credentials_file",
		receiver(`webhook_configs: [{url_file: a, http_config: {basic_auth: {username: me, password: c4n4ry}}}]`):                 "into password_file",
		receiver(`webhook_configs: [{url_file: a, http_config: {http_headers: {X-Key: {secrets: [c4n4ry]}}}}]`):                   "X-Key: secrets: secret in the configuration: write it into a separate file, and the path of that file into files",
		receiver(`webhook_configs: [{url_file: a, http_config: {tls_config: {cert_file: a, key: c4n4ry}}}]`):                      "into key_file",
		"global: {slack_api_url: 'http://a/c4n4ry'}\n" + receiver(`slack_configs: [{channel: a}]`):                                "global: slack_api_url: secret in the configuration: write it into a separate file, and the path of that file into slack_api_url_file",
		"global: {smtp_auth_password: c4n4ry, smtp_smarthost: 'a:25', smtp_from: a@b}\n" + receiver(`email_configs: [{to: a@b}]`): "global: smtp_auth_password: ",
		"global: {http_config: {authorization: {credentials: c4n4ry}}}\n" + receiver(`webhook_configs: [{url_file: a}]`):          "global: http_config: authorization: credentials: ",
	} {
		file := filepath.Join(t.TempDir(), "notify.yml")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		err := notify.Check(notify.Config{File: file})
		if err == nil || !strings.HasPrefix(err.Error(), file+": ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "c4n4ry") {
			t.Errorf("%s:\n%v\nwant %s", config, err, want)
		}
	}
}

func TestSecretsWithoutAFileFieldAreAccepted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notify.yml")
	config := `
route: {receiver: phone}
receivers: [{name: phone, sns_configs: [{topic_arn: "arn:a", sigv4: {region: a, access_key: a, secret_key: c4n4ry}}]}]
`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := notify.Check(notify.Config{File: file}); err != nil {
		t.Error(err)
	}
}
