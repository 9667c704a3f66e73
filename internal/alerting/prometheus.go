package alerting

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	httpconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
)

// PrometheusConfig configures a Prometheus as the Source, in place of alerting in this process. Mimir, Thanos and
// VictoriaMetrics have the same API.
type PrometheusConfig struct {
	URL     string                       // without /api/v1
	HTTP    *httpconfig.HTTPClientConfig // nil: the default
	Timeout time.Duration                // of one query
	MaxBody int64                        // maximum number of bytes of one answer; 0: 16 MiB
}

// Prometheus is a Source over the HTTP API of a Prometheus.
type Prometheus struct {
	api     v1.API
	timeout time.Duration
}

var _ Source = (*Prometheus)(nil)

// NewPrometheus returns the Source that c configures. It sends no request. In tests, transport replaces the network. It may be
// nil.
func NewPrometheus(c PrometheusConfig, transport http.RoundTripper) (*Prometheus, error) {
	own := *cmp.Or(c.HTTP, &httpconfig.DefaultHTTPClientConfig)
	own.FollowRedirects = false // the target of a redirect would receive the credentials
	client, err := httpconfig.NewClientFromConfig(own, "prometheus")
	if err != nil {
		return nil, fmt.Errorf("invalid HTTP client configuration: %w", err)
	}
	if transport != nil {
		client.Transport = transport
	}
	client.Transport = limited{client.Transport, cmp.Or(c.MaxBody, 16<<20)}
	apiClient, err := api.NewClient(api.Config{Address: strings.TrimSuffix(c.URL, "/"), Client: client})
	if err != nil {
		return nil, err
	}
	return &Prometheus{v1.NewAPI(apiClient), c.Timeout}, nil
}

// limited limits the size of an answer in bytes.
type limited struct {
	http.RoundTripper
	limit int64
}

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, l.limit)
	}
	return resp, err
}

// Groups implements Source. It returns only rules about this exporter's families, because the Prometheus may have other rules.
// The API client does not decode limit and keep_firing_for, so these fields are zero.
func (p *Prometheus) Groups(ctx context.Context) ([]Group, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	result, err := p.api.Rules(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("rules of Prometheus: %w", err)
	}
	var groups []Group
	for _, g := range result.Groups {
		group := Group{Name: g.Name, File: g.File, Interval: seconds(g.Interval)}
		for _, r := range g.Rules {
			rule, err := ruleOf(r)
			if err != nil {
				return nil, fmt.Errorf("rules of Prometheus: group %s: %w", g.Name, err)
			}
			if !aboutUs(rule) {
				continue
			}
			group.Rules = append(group.Rules, rule)
			group.Took += rule.Took
			if rule.Evaluated.After(group.Evaluated) {
				group.Evaluated = rule.Evaluated
			}
		}
		if len(group.Rules) > 0 {
			groups = append(groups, group)
		}
	}
	return groups, nil
}

var ours = regexp.MustCompile(`\bavax[_:]`)

// aboutUs reports whether a rule belongs to this project or uses its families.
func aboutUs(r Rule) bool {
	return strings.HasPrefix(r.Name, "Avax") || ours.MatchString(r.Name) || ours.MatchString(r.Query)
}

func ruleOf(r any) (Rule, error) {
	switch r := r.(type) {
	case v1.RecordingRule:
		return Rule{
			Name: r.Name, Query: r.Query, Labels: texts(r.Labels), Health: string(r.Health), LastError: r.LastError,
			Took: seconds(r.EvaluationTime), Evaluated: r.LastEvaluation,
		}, nil
	case v1.AlertingRule:
		rule := Rule{
			Name: r.Name, Query: r.Query, Alerting: true, State: r.State, For: seconds(r.Duration), Labels: texts(r.Labels), Annotations: texts(r.Annotations),
			Health: string(r.Health), LastError: r.LastError, Took: seconds(r.EvaluationTime), Evaluated: r.LastEvaluation,
		}
		for _, a := range r.Alerts {
			value, err := strconv.ParseFloat(a.Value, 64)
			if err != nil {
				return rule, fmt.Errorf("alert %s: the value %q is not a number", r.Name, a.Value)
			}
			rule.Alerts = append(rule.Alerts, Alert{Labels: texts(a.Labels), Annotations: texts(a.Annotations), State: string(a.State), ActiveAt: a.ActiveAt, Value: value})
		}
		return rule, nil
	}
	return Rule{}, fmt.Errorf("unknown type of rule: %T", r)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func texts(set model.LabelSet) map[string]string {
	all := make(map[string]string, len(set))
	for name, value := range set {
		all[string(name)] = string(value)
	}
	return all
}

// Query implements Source.
func (p *Prometheus) Query(ctx context.Context, expr string, at time.Time) (model.Vector, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	value, _, _, err := p.api.Query(ctx, expr, at)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, err)
	}
	switch value := value.(type) {
	case *model.Scalar:
		return model.Vector{{Metric: model.Metric{}, Value: value.Value, Timestamp: value.Timestamp}}, nil
	case model.Vector:
		return value, nil
	}
	return nil, fmt.Errorf("query %s: the result is a %s: write an expression that returns an instant vector or a scalar", expr, value.Type())
}

// QueryRange implements Source.
func (p *Prometheus) QueryRange(ctx context.Context, expr string, start, end time.Time, step time.Duration) (model.Matrix, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	value, _, _, err := p.api.QueryRange(ctx, expr, v1.Range{Start: start, End: end, Step: step})
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, err)
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("query %s: the result is a %s, not a range", expr, value.Type())
	}
	return matrix, nil
}

// Samples implements Source. Each server with this API returns the samples for an instant query of a range selector.
func (p *Prometheus) Samples(ctx context.Context, selector string, from, to time.Time) (model.Matrix, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	query := fmt.Sprintf("%s[%dms]", selector, to.Sub(from).Milliseconds())
	value, _, _, err := p.api.Query(ctx, query, to)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", query, err)
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("query %s: the result is a %s: want a matrix", query, value.Type())
	}
	begin := model.TimeFromUnixNano(from.UnixNano())
	for _, series := range matrix { // Prometheus 2 includes the sample at the begin
		for len(series.Values) > 0 && !series.Values[0].Timestamp.After(begin) {
			series.Values = series.Values[1:]
		}
	}
	return matrix, nil
}
