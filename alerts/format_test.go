package alerts

import (
	"context"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func TestPrometheusRuleHasTheRules(t *testing.T) {
	t.Parallel()
	var resource struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     any
	}
	var rules any
	must.Do(t, yaml.Unmarshal(PrometheusRule("example", Rules), &resource), yaml.Unmarshal(Rules, &rules))
	if resource.Kind != "PrometheusRule" || resource.Metadata.Name != "example" || !reflect.DeepEqual(resource.Spec, rules) {
		t.Errorf("%s %s has other rules than rules.yml", resource.Kind, resource.Metadata.Name)
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
	for _, file := range [][]byte{Rules, Companion} {
		_, alerts := parseRules(t, GrafanaManaged(file))
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
