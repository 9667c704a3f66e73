package alerting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
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
	client  api.Client
	api     v1.API
	timeout time.Duration
}

var _ Source = (*Prometheus)(nil)

// NewPrometheus returns the Source that c configures. It sends no request. In tests, transport replaces the network. It may be
// nil.
func NewPrometheus(c PrometheusConfig, transport http.RoundTripper) (*Prometheus, error) {
	client, err := newClient("prometheus", c.HTTP, cmp.Or(c.MaxBody, 16<<20), transport)
	if err != nil {
		return nil, err
	}
	apiClient, err := api.NewClient(api.Config{Address: strings.TrimSuffix(c.URL, "/"), Client: client})
	if err != nil {
		return nil, err
	}
	return &Prometheus{apiClient, v1.NewAPI(apiClient), c.Timeout}, nil
}

// newClient returns a client whose answers have at most this number of bytes. Nil stands for the default configuration and transport.
func newClient(name string, c *httpconfig.HTTPClientConfig, limit int64, transport http.RoundTripper) (*http.Client, error) {
	if transport == nil {
		var err error
		if transport, err = NewTransport(name, c); err != nil {
			return nil, err
		}
	}
	// The target of a redirect would receive the credentials.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: limited{transport, limit}, CheckRedirect: stay}, nil
}

// Transport sends requests to the Alertmanagers or a Prometheus with credentials that can be replaced.
type Transport struct {
	name    string
	current atomic.Pointer[http.Client]
}

// NewTransport returns a Transport with the credentials and TLS settings in c. Nil stands for the default.
func NewTransport(name string, c *httpconfig.HTTPClientConfig) (*Transport, error) {
	t := &Transport{name: name}
	return t, t.Renew(c)
}

// Renew replaces the credentials and TLS settings. After an error the previous ones stay in use.
func (t *Transport) Renew(c *httpconfig.HTTPClientConfig) error {
	own := *cmp.Or(c, &httpconfig.DefaultHTTPClientConfig)
	own.FollowRedirects = false
	client, err := httpconfig.NewClientFromConfig(own, t.name)
	if err != nil {
		return fmt.Errorf("invalid HTTP client configuration: %s: %w", t.name, err)
	}
	if old := t.current.Swap(client); old != nil {
		old.CloseIdleConnections()
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.current.Load().Transport.RoundTrip(r)
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
func (p *Prometheus) Groups(ctx context.Context) (groups []Group, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	all, err := p.allGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("rules of Prometheus: %w", err)
	}
	for _, g := range all {
		g.Rules = slices.DeleteFunc(g.Rules, func(r Rule) bool { return !aboutUs(r) })
		g.Took, g.Evaluated = 0, time.Time{}
		for _, r := range g.Rules {
			g.Took += r.Took
			if r.Evaluated.After(g.Evaluated) {
				g.Evaluated = r.Evaluated
			}
		}
		if len(g.Rules) > 0 {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// allGroups asks for the rules. The API client would not decode the fields that keep_firing_for sets.
func (p *Prometheus) allGroups(ctx context.Context) ([]Group, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.client.URL("/api/v1/rules", nil).String(), nil)
	if err != nil {
		return nil, err
	}
	resp, body, err := p.client.Do(ctx, request)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Status string                   `json:"status"`
		Error  string                   `json:"error"`
		Data   struct{ Groups []Group } `json:"data"`
	}
	if err := success(resp, body); err != nil {
		return nil, err
	}
	err = json.Unmarshal(body, &answer, json.MatchCaseInsensitiveNames(true))
	if err != nil || answer.Status != "success" {
		return nil, fmt.Errorf("status %d: %w", resp.StatusCode, cmp.Or(err, errors.New(answer.Error)))
	}
	return answer.Data.Groups, nil
}

var ours = regexp.MustCompile(`\bavax[_:]`)

// aboutUs reports whether a rule belongs to this project or uses its families.
func aboutUs(r Rule) bool {
	return strings.HasPrefix(r.Name, "Avax") || ours.MatchString(r.Name) || ours.MatchString(r.Query)
}

// Query implements Source.
func (p *Prometheus) Query(ctx context.Context, expr string, at time.Time) (model.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	value, _, _, err := p.api.Query(ctx, expr, at)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, err)
	}
	return value, nil
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

// Samples returns the stored samples of a selector after from, until to.
func (p *Prometheus) Samples(ctx context.Context, selector string, from, to time.Time) (model.Matrix, error) {
	query := fmt.Sprintf("%s[%dms]", selector, to.Sub(from).Milliseconds())
	value, err := p.Query(ctx, query, to)
	if err != nil {
		return nil, err
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
