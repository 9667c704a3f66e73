package alerts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// Objects for the Prometheus operator have all rules, and stay below the limits of Kubernetes with up to eight labels of nodes: kubectl apply keeps a
// copy of an object as JSON, of 262144 bytes at most.
func TestObjectsHaveTheRulesAndAreSmall(t *testing.T) {
	t.Parallel()
	for _, labels := range [][]string{nil, {"owner"}, {"owner", "team", "region"}, {"a", "b", "c", "d", "e", "f", "g", "h"}} {
		for _, name := range []string{RulesFile, CompanionFile} {
			file := must.Get(Compiled(name, Options{Labels: labels}))(t)
			want, got := map[string]int{}, map[string]int{}
			for _, g := range groupsOf(t, must.Get(file.YAML())(t)) {
				for _, r := range g.Rules {
					want[textOf(r)]++
				}
			}
			var sizes []int
			names := map[string]bool{}
			decoder := yaml.NewDecoder(bytes.NewReader(must.Get(PrometheusRules("example", file))(t)))
			for {
				var resource map[string]any
				if err := decoder.Decode(&resource); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				object := must.Get(json.Marshal(resource))(t)
				sizes = append(sizes, len(object))
				if len(object) > 262_144 || resource["kind"] != "PrometheusRule" {
					t.Errorf("%s with %d labels: %s of %d bytes", name, len(labels), resource["kind"], len(object))
				}
				called := resource["metadata"].(map[string]any)["name"].(string)
				if names[called] || !strings.HasPrefix(called, "example") {
					t.Errorf("two objects called %s", called)
				}
				names[called] = true
				for _, g := range groupsOf(t, must.Get(yaml.Marshal(resource["spec"]))(t)) {
					for _, r := range g.Rules {
						got[textOf(r)]++
					}
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s with %d labels: other rules than the file", name, len(labels))
			}
			t.Logf("%s with %d labels: objects of %d bytes", name, len(labels), sizes)
		}
	}
}

// TestGrafanaExpandsEveryAnnotation expands the annotations with the template package and the data of Grafana's imported rules.
func TestGrafanaExpandsEveryAnnotation(t *testing.T) {
	t.Parallel()
	type labels map[string]string
	type value struct {
		Labels labels
		Value  float64
	}
	data := struct {
		Labels labels
		Values map[string]value
		Value  string
	}{labels{"node": "alpha", "chain": "C", "upstream": "alpha"}, map[string]value{"query": {Value: 0.5}}, "[ var='query' labels={node=alpha} value=0.5 ]"}
	noQuery := func(context.Context, string, time.Time) (promql.Vector, error) { return nil, nil }
	for _, name := range []string{RulesFile, CompanionFile} {
		file := must.Get(Compiled(name, Options{}))(t)
		_, alerts := parseRules(t, must.Get(GrafanaManaged(file).YAML())(t))
		for _, r := range alerts {
			for name, text := range r.Annotations {
				text = "{{- $labels := .Labels -}}{{- $values := .Values -}}{{- $value := .Value -}}" + text
				got, err := template.NewTemplateExpander(t.Context(), text, r.Alert, data, 0, noQuery, &url.URL{}, []string{"missingkey=invalid"}).Expand()
				if err != nil || strings.Contains(got, "%!") || strings.Contains(got, "var=") {
					t.Errorf("%s: %s: %v\n%s", r.Alert, name, err, got)
				}
			}
		}
	}
}
