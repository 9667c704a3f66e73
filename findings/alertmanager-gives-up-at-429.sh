#!/bin/sh
# Alertmanager does not retry when Discord, Slack, Teams, a webhook and others answer 429 (too many requests): the message waits for the next
# group_interval, although the service asks only for a pause. It retries for Jira, Opsgenie, PagerDuty and Telegram.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/config/receiver"
	"github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/alertmanager/types"
	"github.com/prometheus/common/model"
)

const configuration = `
route: {receiver: r}
receivers:
- name: r
  discord_configs: [{webhook_url: URL}]
  jira_configs: [{api_url: URL, project: P, issue_type: Bug}]
  mattermost_configs: [{webhook_url: URL}]
  msteamsv2_configs: [{webhook_url: URL}]
  opsgenie_configs: [{api_url: URL, api_key: key}]
  pagerduty_configs: [{url: URL, routing_key: key}]
  rocketchat_configs: [{api_url: URL, token: t, token_id: t, channel: c}]
  slack_configs: [{api_url: URL, channel: c}]
  telegram_configs: [{api_url: URL, bot_token: token, chat_id: 1}]
  victorops_configs: [{api_url: URL/, api_key: key, routing_key: r}]
  webex_configs: [{api_url: URL, room_id: r, http_config: {authorization: {credentials: c}}}]
  webhook_configs: [{url: URL}]
`

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	conf, err := config.Load(strings.ReplaceAll(configuration, "URL", server.URL))
	check(err)
	texts, err := template.FromGlobs(nil)
	check(err)
	texts.ExternalURL = &url.URL{}
	ctx := notify.WithGroupLabels(notify.WithReceiverName(notify.WithGroupKey(context.Background(), "group"), "r"), model.LabelSet{})
	down := &types.Alert{Alert: model.Alert{Labels: model.LabelSet{"alertname": "NodeDown"}, StartsAt: time.Now(), EndsAt: time.Now().Add(time.Hour)}}
	integrations, err := receiver.BuildReceiverIntegrations(conf.Receivers[0], texts, slog.New(slog.DiscardHandler))
	check(err)
	retries := map[bool][]string{}
	for _, i := range integrations {
		retry, err := i.Notify(ctx, down)
		if err == nil {
			panic(i.Name() + " takes 429 for a success")
		}
		retries[retry] = append(retries[retry], i.Name())
	}
	fmt.Println("retried:", retries[true])
	fmt.Println("given up:", retries[false])
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/prometheus/alertmanager@v0.34.2 >/dev/null 2>&1
{ echo "alertmanager v0.34.2"; GOFLAGS=-mod=mod CGO_ENABLED=0 go run . 2>err || cat err; } | tee got
cat >want <<'WANT'
alertmanager v0.34.2
retried: [pagerduty opsgenie telegram jira]
given up: [webhook slack victorops discord webex msteamsv2 rocketchat mattermost]
WANT
cmp want got
