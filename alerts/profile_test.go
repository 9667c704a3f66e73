package alerts

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
	"go.yaml.in/yaml/v3"
)

func TestProfileHasItsAlertsAndTheirInputs(t *testing.T) {
	t.Parallel()
	_, every := parseRules(t, Rules)
	for name, c := range map[string]struct {
		limit int
		has   string
	}{"validator": {36, "AvaxNodeDown"}, "l1": {50, "AvaxNodeDown"}, "rpc": {35, "AvaxNodeDown"}, "delegator": {21, "AvaxValidatorDisconnected"}} {
		content, err := Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		all, alerts := parseRules(t, content)
		names, records := map[string]bool{}, map[string]bool{}
		for _, r := range all {
			records[r.Record] = true
		}
		for _, r := range alerts {
			names[r.Alert] = true
			if !strings.Contains(" "+r.Annotations["profiles"]+" ", " "+name+" ") {
				t.Errorf("%s: %s does not belong to this profile", name, r.Alert)
			}
		}
		if len(names) > c.limit {
			t.Errorf("profile %s has %d alerts, which is more than its operators should have to know (%d): leave the new one to the profile all, or raise the limit", name, len(names), c.limit)
		}
		if !names[watchdog] || !names[c.has] || !names["AvaxThresholdInvalid"] {
			t.Errorf("profile %s lacks the watchdog, %s or AvaxThresholdInvalid: %v", name, c.has, names)
		}
		want := 0
		for _, r := range every {
			if strings.Contains(" "+r.Annotations["profiles"]+" ", " "+name+" ") {
				want++
			}
		}
		if len(alerts) != want {
			t.Errorf("%s: %d alerts, want %d", name, len(alerts), want)
		}
		for _, r := range all {
			for _, s := range selectors(t, r.Expr) {
				if known := strings.HasPrefix(s.Name, "avax:") && s.Name != "avax:threshold_override" && s.Name != "avax:label"; known && !records[s.Name] {
					t.Errorf("%s: %s%s needs %s, which is missing", name, r.Record, r.Alert, s.Name)
				}
			}
		}
	}
}

func TestProfileAllIsTheWholeFile(t *testing.T) {
	t.Parallel()
	if got, err := Profile("all"); err != nil || !bytes.Equal(got, Rules) {
		t.Errorf("not rules.yml (%v)", err)
	}
}

func TestUnknownProfileErrorListsKnownProfiles(t *testing.T) {
	t.Parallel()
	if _, err := Profile("validtor"); err == nil || !strings.Contains(err.Error(), "all, validator, l1, rpc, delegator") {
		t.Errorf("got %v", err)
	}
}

func TestProfilesAreKnown(t *testing.T) {
	t.Parallel()
	_, every := parseRules(t, Rules)
	for _, r := range every {
		for _, name := range strings.Fields(r.Annotations["profiles"]) {
			if _, err := Profile(name); err != nil || name == ProfileAll {
				t.Errorf("%s: %v", r.Alert, err)
			}
		}
	}
}

func TestPrometheusRuleHasTheRules(t *testing.T) {
	t.Parallel()
	var resource struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     any
	}
	var rules any
	if err := errors.Join(yaml.Unmarshal(PrometheusRule("example", Rules), &resource), yaml.Unmarshal(Rules, &rules)); err != nil {
		t.Fatal(err)
	}
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
