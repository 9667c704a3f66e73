#!/bin/sh
# If a text for Telegram is longer than 4,096 characters, Alertmanager sends a sentence about the limit in its place, and reports success. With the default
# text, ten alerts with four annotations are too many: the page of an outage of several nodes names no node.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
  telegram_configs: [{api_url: URL, bot_token: token, chat_id: 1}]
`

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct{ Text string }
		check(json.NewDecoder(r.Body).Decode(&message))
		line, _, _ := strings.Cut(strings.TrimSpace(message.Text), "\n")
		fmt.Printf("names node 3: %v, begins: %.70s\n", strings.Contains(message.Text, "node-3"), line)
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":1,"chat":{"id":1}}}`)
	}))
	conf, err := config.Load(strings.ReplaceAll(configuration, "URL", server.URL))
	check(err)
	texts, err := template.FromGlobs(nil)
	check(err)
	texts.ExternalURL = &url.URL{}
	ctx := notify.WithGroupLabels(notify.WithReceiverName(notify.WithGroupKey(context.Background(), "group"), "r"), model.LabelSet{})
	integrations, err := receiver.BuildReceiverIntegrations(conf.Receivers[0], texts, slog.New(slog.DiscardHandler))
	check(err)
	for _, nodes := range []int{5, 10} {
		var down []*types.Alert
		for i := range nodes {
			down = append(down, &types.Alert{Alert: model.Alert{
				Labels: model.LabelSet{"alertname": "NodeDown", "node": model.LabelValue(fmt.Sprint("node-", i)), "severity": "page", "instance": "exporter:9865"},
				Annotations: model.LabelSet{
					"summary":     model.LabelValue(fmt.Sprint("node-", i, " has not answered for five minutes")),
					"description": "It answered none of the last ten requests. Its peers lost their connections to it at the same time.",
					"impact":      "While it is down, its validator loses uptime. Below the required uptime there is no reward for the whole period.",
					"runbook_url": "https://runbooks.example.org/alerts/NodeDown.md",
				},
				StartsAt: time.Now(), EndsAt: time.Now().Add(time.Hour),
			}})
		}
		fmt.Print(nodes, " alerts: ")
		_, err = integrations[0].Notify(ctx, down...)
		check(err)
	}
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
5 alerts: names node 3: true, begins: Alerts Firing:
10 alerts: names node 3: false, begins: Alertmanager notification could not be sent: message length exceeds Te
WANT
cmp want got
