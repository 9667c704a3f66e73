#!/bin/sh
# Prometheus restores the `for` of an alert after a restart, but not that it is kept firing (`keep_firing_for`): the alert is gone, and no resolved alert is
# sent. An alert that is kept so that it goes on suppressing its effects no longer does.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/tsdb"
)

const file = `
groups:
- name: nodes
  interval: 1m
  rules:
  - {alert: Down, expr: up == 0, for: 10m, keep_firing_for: 30m}
`

func main() {
	db, err := tsdb.Open("data", slog.New(slog.DiscardHandler), nil, tsdb.DefaultOptions(), nil)
	check(err)
	check(os.WriteFile("rules.yml", []byte(file), 0o600))
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1000, Timeout: time.Minute})
	start := time.Now().Add(-time.Hour).Truncate(time.Minute)
	now := start
	var group *rules.Group
	sent := 0
	var step func(minutes int, up float64)
	restart := func(up float64) {
		manager := rules.NewManager(&rules.ManagerOptions{
			Context: context.Background(), Appendable: db, Queryable: db, QueryFunc: rules.EngineQueryFunc(engine, db), Logger: slog.New(slog.DiscardHandler),
			Parser: parser.NewParser(parser.Options{}), OutageTolerance: time.Hour, ForGracePeriod: time.Minute, ResendDelay: time.Minute,
			NotifyFunc: func(_ context.Context, _ string, alerts ...*rules.Alert) { sent += len(alerts) },
		})
		groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, "rules.yml")
		if errs != nil {
			panic(errs)
		}
		for _, g := range groups {
			group = g
		}
		step(1, up)
		group.RestoreForState(now) // as after the first evaluation of a process
		step(1, up)
	}
	step = func(minutes int, up float64) {
		for range minutes {
			now = now.Add(time.Minute)
			a := db.Appender(context.Background())
			_, err := a.Append(0, labels.FromStrings("__name__", "up", "node", "alpha"), now.UnixMilli(), up)
			check(err)
			check(a.Commit())
			group.Eval(context.Background(), now)
		}
	}
	show := func(what string) {
		state := "gone"
		for _, a := range group.AlertingRules()[0].ActiveAlerts() {
			state = fmt.Sprint(a.State, ", active for ", now.Sub(a.ActiveAt))
		}
		fmt.Printf("%v, %s: %s\n", now.Sub(start), what, state)
	}

	restart(0)
	step(12, 0)
	show("down")
	restart(0)
	show("down, after a restart")
	step(5, 1)
	show("up, kept")
	restart(1)
	sent = 0
	step(2, 1)
	show("up, after a restart")
	fmt.Println("alerts sent since then:", sent)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/prometheus/prometheus@v0.315.0 >/dev/null 2>&1
{ echo "prometheus v0.315.0"; GOFLAGS=-mod=mod CGO_ENABLED=0 go run . 2>err || cat err; } | tee got
cat >want <<'WANT'
prometheus v0.315.0
14m0s, down: firing, active for 13m0s
16m0s, down, after a restart: firing, active for 15m0s
21m0s, up, kept: firing, active for 20m0s
25m0s, up, after a restart: gone
alerts sent since then: 0
WANT
cmp want got
