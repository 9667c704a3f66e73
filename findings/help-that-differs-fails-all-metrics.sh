#!/bin/sh
# AvalancheGo's /ext/metrics answers 500 without one sample as soon as two chains report a family of one name with another help or type: the node's own
# families are gone, too.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/ava-labs/avalanchego/api/metrics"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ask asks a node for its metrics, two chains of which have a family with these helps.
func ask(first, second string) {
	all, chains := metrics.NewPrefixGatherer(), metrics.NewLabelGatherer("chain")
	check(all.Register("avalanche_vm", chains))
	for chain, help := range map[string]string{"C": first, "L1": second} {
		registry, err := metrics.MakeAndRegister(chains, chain)
		check(err)
		check(registry.Register(prometheus.NewGauge(prometheus.GaugeOpts{Name: "height", Help: help})))
	}
	network, err := metrics.MakeAndRegister(all, "avalanche_network")
	check(err)
	check(network.Register(prometheus.NewGauge(prometheus.GaugeOpts{Name: "peers", Help: "Connected peers."})))
	w := httptest.NewRecorder()
	promhttp.HandlerFor(all, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/ext/metrics", nil)) // as node.initMetricsAPI does
	fmt.Println(first, second, w.Code, strings.Count("\n"+w.Body.String(), "\navalanche_"), "samples")
}

func main() {
	ask("Height.", "Height.")
	ask("Height.", "Block.")
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ava-labs/avalanchego@v1.15.0 >/dev/null 2>&1
{ echo "avalanchego v1.15.0"; GOFLAGS=-mod=mod CGO_ENABLED=1 go run . 2>err || cat err; } | tee got
cat >want <<'WANT'
avalanchego v1.15.0
Height. Height. 200 3 samples
Height. Block. 500 0 samples
WANT
cmp want got
