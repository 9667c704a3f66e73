#!/bin/sh
# The manager of service discovery of Prometheus 2.42 gives the first targets 5 s after the start, also those of static_configs. What the rules send to
# Alertmanagers before is lost. That of 3.15 gives them at once.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
write() {
	cat >main.go <<GO
package main

import (
	"context"
	"fmt"
	"time"

	$1
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
)

func main() {
	began := time.Now()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	$2
	go m.Run()
	static := discovery.StaticConfig{{Targets: []model.LabelSet{{"__address__": "alertmanager:9093"}}, Source: "0"}}
	if err := m.ApplyConfig(map[string]discovery.Configs{"alertmanagers": {static}}); err != nil {
		panic(err)
	}
	for all := range m.SyncCh() {
		var found map[string][]*targetgroup.Group = all
		if len(found["alertmanagers"]) > 0 {
			break
		}
	}
	fmt.Println("known within a second:", time.Since(began) < time.Second, "- within four:", time.Since(began) < 4*time.Second)
}
GO
}
run() {
	rm -f go.mod go.sum
	go mod init finding >/dev/null 2>&1
	go get "github.com/prometheus/prometheus/discovery@$1" >/dev/null 2>&1
	echo "prometheus $1: $(GOFLAGS=-mod=mod CGO_ENABLED=0 go run . 2>&1)"
}
{
	write '"github.com/go-kit/log"' 'm := discovery.NewManager(ctx, log.NewNopLogger())'
	run v0.42.0
	write '"github.com/prometheus/client_golang/prometheus"' 'registry := prometheus.NewRegistry()
	metrics, err := discovery.CreateAndRegisterSDMetrics(registry)
	if err != nil {
		panic(err)
	}
	m := discovery.NewManager(ctx, nil, registry, metrics)'
	run v0.315.0
} | tee got
cat >want <<'WANT'
prometheus v0.42.0: known within a second: false - within four: false
prometheus v0.315.0: known within a second: true - within four: true
WANT
cmp want got
