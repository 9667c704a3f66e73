#!/bin/sh
# Alertmanager names an incident in PagerDuty (dedup_key), Opsgenie (alias) or Jira by the matchers of its route and of the routes above. If a matcher
# changes while an alert fires, the next message opens a second incident, and the end of the alert closes only that one: the first stays open.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/config/receiver"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/alertmanager/types"
	"github.com/prometheus/common/model"
)

const configuration = `
route:
  receiver: r
  routes: [{matchers: [MATCHER], receiver: r, group_by: [alertname]}]
receivers:
- name: r
  pagerduty_configs: [{url: URL, routing_key: key}]
`

func main() {
	var event struct {
		Action string `json:"event_action"`
		Key    string `json:"dedup_key"`
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		check(json.NewDecoder(r.Body).Decode(&event))
		w.WriteHeader(http.StatusAccepted)
	}))
	numbers := map[string]int{}
	send := func(matcher string, ends time.Time) {
		conf, err := config.Load(strings.NewReplacer("URL", server.URL, "MATCHER", matcher).Replace(configuration))
		check(err)
		texts, err := template.FromGlobs(nil)
		check(err)
		texts.ExternalURL = &url.URL{}
		alert := &types.Alert{Alert: model.Alert{
			Labels:   model.LabelSet{"alertname": "NodeDown", "severity": "page"},
			StartsAt: time.Now().Add(-time.Hour), EndsAt: ends,
		}}
		route := dispatch.NewRoute(conf.Route, nil).Match(alert.Labels)[0]
		labels := model.LabelSet{"alertname": "NodeDown"}
		ctx := notify.WithReceiverName(context.Background(), "r")
		ctx = notify.WithGroupLabels(notify.WithGroupKey(ctx, fmt.Sprintf("%s:%s", route.Key(), labels)), labels)
		integrations, err := receiver.BuildReceiverIntegrations(conf.Receivers[0], texts, slog.New(slog.DiscardHandler))
		check(err)
		_, err = integrations[0].Notify(ctx, alert)
		check(err)
		if numbers[event.Key] == 0 {
			numbers[event.Key] = len(numbers) + 1
		}
		fmt.Printf("route of %s: %s incident %d\n", matcher, event.Action, numbers[event.Key])
	}
	send("severity=page", time.Now().Add(time.Hour))
	send("severity=~page|critical", time.Now().Add(time.Hour))
	send("severity=~page|critical", time.Now().Add(-time.Second))
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
route of severity=page: trigger incident 1
route of severity=~page|critical: trigger incident 2
route of severity=~page|critical: resolve incident 2
WANT
cmp want got
