#!/bin/sh
# Alertmanager's inhibitor, two causes of one effect with equal labels, of which the first ends. 0.34.0 keeps one of them and sends the effect.
# 0.34.2 still mutes it (prometheus/alertmanager#5542). Both alerts have no end of their own.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/config/common"
	"github.com/prometheus/alertmanager/eventrecorder"
	"github.com/prometheus/alertmanager/inhibit"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/alertmanager/provider"
	"github.com/prometheus/common/model"
)

type given struct {
	provider.Alerts
	alerts []*alert.Alert
}

func (g given) SlurpAndSubscribe(string) ([]*alert.Alert, provider.AlertIterator) {
	return g.alerts, provider.NewAlertIterator(nil, make(chan struct{}), nil)
}

func main() {
	cause := func(chain string, ends time.Time) *alert.Alert {
		return &alert.Alert{Alert: model.Alert{Labels: model.LabelSet{"alertname": "Cause", "node": "a", "chain": model.LabelValue(chain)},
			StartsAt: time.Now().Add(-time.Hour), EndsAt: ends}}
	}
	m := func(v string) common.Matchers {
		one, _ := labels.NewMatcher(labels.MatchEqual, "alertname", v)
		return common.Matchers{one}
	}
	rules := []common.InhibitRule{{SourceMatchers: m("Cause"), TargetMatchers: m("Effect"), Equal: []string{"node"}}}
	firing := time.Time{}
	over := time.Now().Add(-time.Second)
	var r eventrecorder.Recorder
	// The cause one is known first, then two, and then one ends.
	ih := inhibit.NewInhibitor(given{alerts: []*alert.Alert{cause("one", firing), cause("two", firing), cause("one", over)}}, rules, slog.New(slog.DiscardHandler), r)
	go ih.Run()
	ih.WaitForLoading()
	fmt.Println("effect muted:", ih.Mutes(context.Background(), model.LabelSet{"alertname": "Effect", "node": "a"}))
	ih.Stop()
}
GO
run() {
	rm -f go.mod go.sum
	go mod init finding >/dev/null 2>&1
	go get "github.com/prometheus/alertmanager@$1" >/dev/null 2>&1 && go mod tidy >/dev/null 2>&1
	echo "alertmanager $1: $(GOFLAGS=-mod=mod CGO_ENABLED=0 go run .)"
}
{ run v0.34.0; run v0.34.2; } | tee got
printf 'alertmanager v0.34.0: effect muted: false\nalertmanager v0.34.2: effect muted: true\n' | cmp - got
