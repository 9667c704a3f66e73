package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// serveRefresh requests a whole set from the node for each request: request, decode, batch, render and compress.
func serveRefresh(args []string) (http.Handler, error) {
	upstream, err := scrape.New(scrape.Options{Name: "local", URL: args[0], MaxBody: 256 << 20, Timeout: time.Minute})
	if err != nil {
		return nil, err
	}
	ups := &collectors.Upstreams{Targets: collectors.NewTargets([]*collectors.Node{collectors.NewNode(node.New(upstream))}, nil), Watch: collectors.Watchlist{Validators: collectors.Validators{All: true}}}
	all := collectors.All()
	spec := all[slices.IndexFunc(all, func(s *collectors.Spec) bool { return s.Name == "validators" })]
	job := spec.Bind(ups)[0]
	store := snapshot.New()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		batch := metric.NewBatch(spec.Families)
		// Answers are shared, as with the scheduler.
		ctx, _ := scrape.Sharing(r.Context(), time.Nanosecond)
		if err := job.Collect(ctx, batch); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		chunks := batch.Chunks()
		store.Put(snapshot.Run{Key: snapshot.Key{Collector: "validators", Target: job.Target}, At: time.Now(), Until: time.Now().Add(time.Hour), Chunks: chunks})
		store.Page(time.Now(), expfmt.TypeTextPlain)
		series := 0
		for _, c := range chunks {
			series += c.Series
		}
		fmt.Fprintln(w, series)
	}), nil
}

// serveJSONExporter processes the answer like json_exporter: for each of the nine values it decodes the whole answer, extracts
// the list, encodes it and decodes it again. For each validator it decodes the text once for the value and once for the label.
func serveJSONExporter(args []string) (http.Handler, error) {
	values := []string{"startTime", "endTime", "weight", "potentialReward", "accruedDelegateeReward", "delegationFee", "uptime", "delegatorCount", "delegatorWeight"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := fetch(r.Context(), args[0])
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		registry := prometheus.NewRegistry()
		registry.MustRegister(&jsonMetrics{body, values})
		found, err := registry.Gather()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		series := 0
		for _, f := range found {
			series += len(f.GetMetric())
		}
		fmt.Fprintln(w, series)
	}), nil
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"platform.getCurrentValidators"}`))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// jsonMetrics is json_exporter's collector, for values of objects in a list.
type jsonMetrics struct {
	data   []byte
	values []string
}

func (m *jsonMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, name := range m.values {
		ch <- prometheus.NewDesc("validator_"+strings.ToLower(name), "A value.", []string{"node_id"}, nil)
	}
}

func (m *jsonMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, name := range m.values {
		desc := prometheus.NewDesc("validator_"+strings.ToLower(name), "A value.", []string{"node_id"}, nil)
		list, err := extract(m.data, true, "result", "validators")
		if err != nil {
			continue
		}
		var objects []any
		if json.Unmarshal([]byte(list), &objects) != nil {
			continue
		}
		for _, object := range objects {
			text, err := json.Marshal(object)
			if err != nil {
				continue
			}
			found, err := extract(text, false, name)
			if err != nil {
				continue
			}
			value, err := strconv.ParseFloat(found, 64)
			if err != nil {
				continue
			}
			label, err := extract(text, false, "nodeID")
			if err != nil {
				continue
			}
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, label)
		}
	}
}

// extract decodes a text and returns a value in it. json_exporter itself takes longer, because it also parses paths.
func extract(text []byte, asJSON bool, path ...string) (string, error) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return "", err
	}
	for _, name := range path {
		object, _ := value.(map[string]any)
		if value = object[name]; value == nil {
			return "", fmt.Errorf("no %s", name)
		}
	}
	var out bytes.Buffer
	if !asJSON {
		_, _ = fmt.Fprint(&out, value)
		return out.String(), nil
	}
	err := json.NewEncoder(&out).Encode(value)
	return out.String(), err
}
