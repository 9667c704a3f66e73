#!/bin/sh
# Telegraf's input "prometheus" adds no series "up", and no labels "job" and "instance": the URL is a label "url". If the target does not answer, there
# is an error in Telegraf's log and no sample that says so.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/gogo/protobuf/proto"
	"github.com/golang/snappy"
	"github.com/influxdata/telegraf/plugins/inputs"
	_ "github.com/influxdata/telegraf/plugins/inputs/prometheus"
	input "github.com/influxdata/telegraf/plugins/inputs/prometheus"
	"github.com/influxdata/telegraf/plugins/serializers/prometheusremotewrite"
	"github.com/influxdata/telegraf/testutil"
	"github.com/prometheus/prometheus/prompb"
)

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, "# TYPE node_state gauge\nnode_state{node=\"a\"} 1\n")
	}))
	source := inputs.Inputs["prometheus"]().(*input.Prometheus)
	source.URLs, source.MetricVersion, source.URLTag, source.Log = []string{server.URL}, 2, "url", testutil.Logger{}
	if err := source.Init(); err != nil {
		panic(err)
	}
	gather := func() {
		var got testutil.Accumulator
		if err := source.Start(&got); err != nil {
			panic(err)
		}
		err := source.Gather(&got)
		source.Stop()
		fmt.Printf("error: %v, %d samples\n", err != nil || len(got.Errors) > 0, len(got.GetTelegrafMetrics()))
		if len(got.GetTelegrafMetrics()) == 0 {
			return
		}
		sent, err := (&prometheusremotewrite.Serializer{}).SerializeBatch(got.GetTelegrafMetrics())
		if err != nil {
			panic(err)
		}
		raw, err := snappy.Decode(nil, sent)
		if err != nil {
			panic(err)
		}
		var request prompb.WriteRequest
		if err := proto.Unmarshal(raw, &request); err != nil {
			panic(err)
		}
		var all []string
		for _, s := range request.Timeseries {
			var labels []string
			for _, l := range s.Labels {
				labels = append(labels, l.Name+"="+strings.ReplaceAll(l.Value, server.URL, "URL"))
			}
			slices.Sort(labels)
			all = append(all, strings.Join(labels, " "))
		}
		slices.Sort(all)
		fmt.Println(strings.Join(all, "\n"))
	}
	gather()
	server.Close()
	gather()
}
GO
go mod init finding >/dev/null 2>&1
telegraf=github.com/influxdata/telegraf
for package in plugins/inputs/prometheus plugins/serializers/prometheusremotewrite testutil; do go get $telegraf/$package@v1.37.2 >/dev/null 2>&1; done
{ echo "telegraf v1.37.2"; GOFLAGS=-mod=mod CGO_ENABLED=0 go run .; } 2>err | tee got || cat err
cat >want <<'WANT'
telegraf v1.37.2
error: false, 1 samples
__name__=node_state node=a url=URL/metrics
error: true, 0 samples
WANT
cmp want got || { cat err; exit 1; }
