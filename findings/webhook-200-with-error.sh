#!/bin/sh
# Alertmanager's webhook receiver takes every answer 200 for delivered, also one that says in its body that nothing was delivered.
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
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/alertmanager/notify/webhook"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/common/model"
)

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ok":false,"error":"unknown user"}`) }))
	conf, err := config.Load("route: {receiver: r}\nreceivers: [{name: r, webhook_configs: [{url: '" + server.URL + "'}]}]")
	if err != nil {
		panic(err)
	}
	texts, _ := template.FromGlobs(nil)
	texts.ExternalURL = &url.URL{Scheme: "http", Host: "alertmanager.example"}
	hook, err := webhook.New(conf.Receivers[0].WebhookConfigs[0], texts, slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	now := time.Now()
	ctx := notify.WithNow(notify.WithReceiverName(notify.WithGroupKey(context.Background(), "g"), "r"), now)
	down := &alert.Alert{Alert: model.Alert{Labels: model.LabelSet{"alertname": "Down"}, StartsAt: now, EndsAt: now.Add(time.Hour)}}
	retry, err := hook.Notify(notify.WithGroupLabels(ctx, model.LabelSet{}), down)
	fmt.Println("retry:", retry, "error:", err)
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/prometheus/alertmanager@v0.34.2 >/dev/null 2>&1 && go mod tidy >/dev/null 2>&1
echo "alertmanager v0.34.2: $(GOFLAGS=-mod=mod CGO_ENABLED=0 go run .)" | tee got
echo 'alertmanager v0.34.2: retry: false error: <nil>' | cmp - got
