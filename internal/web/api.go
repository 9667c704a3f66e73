package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/status"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// maxForm is the maximum length of a query's form in bytes: the parser needs much stack for a long expression.
const maxForm = 64 << 10

// apiEndpoints returns the paths of Prometheus' HTTP API for alerts and samples. Only /api/v1/tables and /api/v1/incidents are
// not part of Prometheus' API.
func (s *Site) apiEndpoints() []endpoint {
	s.alertsAPI = s.api(s.apiAlerts)
	query, queryRange := s.query(s.apiQuery), s.query(s.apiQueryRange)
	return []endpoint{
		short("/api/v1/alerts", "", s.alertsAPI),
		short("/api/v1/rules", "", s.api(s.apiRules, "alert", "record")),
		short("/api/v1/tables", "", s.api(s.apiTables)),
		short("/api/v1/incidents", "", s.api(s.apiIncidents)),
		{"GET", "/api/v1/query", "", query}, {"POST", "/api/v1/query", "", query},
		{"GET", "/api/v1/query_range", "", queryRange}, {"POST", "/api/v1/query_range", "", queryRange},
	}
}

// apiError is an error with its type in Prometheus' API.
type apiError struct {
	status int
	kind   string
	err    error
}

func (e *apiError) Error() string { return e.err.Error() }

func badData(format string, args ...any) error {
	return &apiError{http.StatusBadRequest, "bad_data", fmt.Errorf(format, args...)}
}

// errNoSource means that there is no source of alerts.
var errNoSource = notFoundError("alerts are not evaluated here: set AVAX_PROMETHEUS_URL to the Prometheus that evaluates them, or AVAX_ALERTING=on")

// errRemote is the error for a query while the source is a Prometheus. This Prometheus may have samples that clients of the
// exporter must not read with the exporter's credentials.
var errRemote = notFoundError("the samples are in the Prometheus of AVAX_PROMETHEUS_URL: query that Prometheus")

func notFoundError(text string) error {
	return &apiError{http.StatusNotFound, "not_found", errors.New(text)}
}

// api answers every client. All requests within a second share an answer. Only the parameter type, with one of these values, selects another one.
func (s *Site) api(answer func(ctx context.Context, kind string) (any, error), kinds ...string) http.HandlerFunc {
	among := newShared[[]byte](s.limits.answers, kept)
	return func(w http.ResponseWriter, r *http.Request) {
		kind := r.URL.Query().Get("type")
		if len(kinds) == 0 {
			kind = ""
		}
		if kind != "" && !slices.Contains(kinds, kind) {
			writeError(w, badData("type=%s: write %s", kind, strings.Join(kinds, " or ")))
			return
		}
		page, err := among.get(r.Context(), kind, s.patience(), func(ctx context.Context) ([]byte, error) {
			data, err := answer(ctx, kind)
			if err != nil {
				return nil, err
			}
			return json.Marshal(success{"success", data}, json.Deterministic(true))
		})
		if err != nil {
			writeError(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = writePage(w, r, page) // the client may close the connection
	}
}

// query answers clients that have access. Package alerting limits the time and the samples.
func (s *Site) query(answer func(*http.Request) (model.Value, error)) http.HandlerFunc {
	limited := s.limits.queries.limit(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		value, err := answer(r)
		if err != nil {
			writeError(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		result := map[string]any{"resultType": value.Type().String(), "result": value}
		_ = json.MarshalWrite(w, success{"success", result}, json.Deterministic(true)) // the client may close the connection
	})
	return func(w http.ResponseWriter, r *http.Request) {
		if why := s.Access.refusal(r); why != "" {
			writeError(w, &apiError{http.StatusForbidden, "forbidden", errors.New(why)})
			return
		}
		limited(w, r)
	}
}

func writeError(w http.ResponseWriter, err error) {
	var failed *apiError
	switch {
	case errors.As(err, &failed):
	case errors.Is(err, context.DeadlineExceeded):
		failed = &apiError{http.StatusServiceUnavailable, "timeout", err}
	default:
		failed = &apiError{http.StatusUnprocessableEntity, "execution", err}
	}
	if failed == errBusy {
		w.Header().Set("Retry-After", retryAfter)
	}
	writeJSON(w, failed.status, map[string]any{"status": "error", "errorType": failed.kind, "error": failed.Error()})
}

func (s *Site) apiQuery(r *http.Request) (model.Value, error) {
	source, expr, err := s.exprOf(r)
	if err != nil {
		return nil, err
	}
	at, err := timeOf(r, "time", time.Now())
	if err != nil {
		return nil, err
	}
	return source.Query(r.Context(), expr, at)
}

func (s *Site) apiQueryRange(r *http.Request) (model.Value, error) {
	source, expr, err := s.exprOf(r)
	if err != nil {
		return nil, err
	}
	start, err := timeOf(r, "start", time.Time{})
	if err != nil {
		return nil, err
	}
	end, err := timeOf(r, "end", time.Time{})
	if err != nil {
		return nil, err
	}
	text := r.FormValue("step")
	step, err := model.ParseDuration(text)
	if v, wrong := strconv.ParseFloat(text, 64); wrong == nil {
		step, err = model.Duration(v*float64(time.Second)), nil
	}
	switch {
	case err != nil || step <= 0:
		return nil, badData("step=%s: write seconds or a duration such as 15s", text)
	case end.Before(start):
		return nil, badData("end is before start")
	}
	return source.QueryRange(r.Context(), expr, start, end, time.Duration(step))
}

// exprOf returns the query and its source.
func (s *Site) exprOf(r *http.Request) (alerting.Source, string, error) {
	if s.Source == nil {
		return nil, "", errNoSource
	}
	if s.remote() {
		return nil, "", errRemote
	}
	expr := r.FormValue("query")
	if _, err := alerting.Parser.ParseExpr(expr); err != nil {
		return nil, "", badData("query: %w", err)
	}
	return s.Source, expr, nil
}

// timeOf parses Unix seconds or RFC 3339. A zero fallback means that the parameter is required.
func timeOf(r *http.Request, name string, fallback time.Time) (time.Time, error) {
	text := r.FormValue(name)
	if text == "" && !fallback.IsZero() {
		return fallback, nil
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(v) < 1e11 {
		return words.UnixTime(v), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, badData("%s=%s: write Unix seconds or a time such as 2006-01-02T15:04:05Z", name, text)
	}
	return t, nil
}

// The JSON of Prometheus' API. Package alerting has that of rules and alerts.
type (
	success struct {
		Status string `json:"status"`
		Data   any    `json:"data"`
	}
	apiIncident struct {
		Title    string    `json:"title"`
		Action   string    `json:"action,omitempty"`
		Severity string    `json:"severity"` // page, warn or info
		Alert    string    `json:"alert,omitempty"`
		State    string    `json:"state"` // of the alert; expected: no alert is active yet
		Subjects []string  `json:"subjects,omitempty"`
		Since    time.Time `json:"since,omitzero"`
		Pages    time.Time `json:"pages,omitzero"` // when it pages, or has paged
		AtLatest bool      `json:"atLatest,omitzero"`
	}
)

func (s *Site) apiAlerts(ctx context.Context, _ string) (any, error) {
	groups, err := s.groups(ctx)
	if err != nil {
		return nil, err
	}
	active := []alerting.Alert{}
	for _, group := range groups {
		for _, rule := range group.Rules {
			active = append(active, rule.Alerts...)
		}
	}
	// The worst come first, for a reader that takes only a part.
	slices.SortStableFunc(active, func(a, b alerting.Alert) int {
		if firing := a.State == alerting.Firing; firing != (b.State == alerting.Firing) {
			return map[bool]int{true: -1, false: 1}[firing]
		}
		return cmp.Compare(status.SeverityOf(b.Labels), status.SeverityOf(a.Labels))
	})
	return map[string]any{"alerts": active}, nil
}

// apiIncidents returns the faults as the status page shows them, also before an alert is active.
func (s *Site) apiIncidents(ctx context.Context, _ string) (any, error) {
	v := s.view(ctx, nil, "", time.Now())
	if v.alertsErr != nil && !errors.Is(v.alertsErr, errNoSource) {
		return nil, v.alertsErr
	}
	severities := map[status.Severity]string{status.Note: "info", status.Warn: "warn", status.Bad: "page"}
	all := []apiIncident{}
	for _, i := range v.incidents {
		title := v.incidentHeadline(i)
		one := apiIncident{
			Title: title.title, Action: title.text, Severity: severities[i.Severity], State: "expected", Subjects: i.Subjects,
			Since: i.Since, Pages: i.Pages, AtLatest: i.AtLatest,
		}
		if i.Cause != nil {
			one.Alert, one.State = i.Cause.Rule.Name, i.Cause.State
		}
		all = append(all, one)
	}
	return map[string]any{"incidents": all}, nil
}

func (s *Site) apiRules(ctx context.Context, kind string) (any, error) {
	leftOut := map[string]string{"alert": alerting.RecordingRule, "record": alerting.AlertingRule}[kind]
	all, err := s.groups(ctx)
	var groups []alerting.Group
	for _, g := range all {
		g.Rules = slices.DeleteFunc(slices.Clone(g.Rules), func(r alerting.Rule) bool { return r.Type == leftOut })
		groups = append(groups, g)
	}
	return map[string]any{"groups": groups}, err
}

// apiTables returns facts that are not samples, such as the error text of a failing health check.
func (s *Site) apiTables(context.Context, string) (any, error) {
	return metric.Tables(s.Store.Jobs(), time.Now()), nil
}
