package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// Limits of queries. Package alerting limits their samples.
const (
	maxQueries   = 1                // a query uses one CPU core; collectors and scrapes need the others
	queryTimeout = 10 * time.Second // until the client has received the answer
	maxSteps     = 11_000
	maxAnswer    = 16 << 20 // of a query, in bytes
	maxForm      = 64 << 10 // of a request, in bytes
)

// apiRoutes adds the paths of Prometheus' HTTP API for alerts, samples and targets (here: collectors). Only /api/v1/tables is
// not part of Prometheus' API.
func (s *Site) apiRoutes(mux *http.ServeMux) {
	s.queries = make(chan struct{}, maxQueries)
	s.alertsAPI = s.api(s.apiAlerts)
	for path, handler := range map[string]http.HandlerFunc{
		"/api/v1/alerts": s.alertsAPI, "/api/v1/rules": s.api(s.apiRules), "/api/v1/targets": s.api(s.apiTargets), "/api/v1/tables": s.api(s.apiTables),
		"/api/v1/query": s.query(s.apiQuery), "/api/v1/query_range": s.query(s.apiQueryRange),
	} {
		mux.HandleFunc("GET "+path, handler)
		mux.HandleFunc("POST "+path, handler)
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

// api answers every client. All requests within a second share an answer.
func (s *Site) api(answer func(*http.Request) (any, error)) http.HandlerFunc {
	var latest shared
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		page, err := latest.get(r.FormValue("type"), func(w io.Writer) error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), renderTimeout)
			defer cancel()
			data, err := answer(r.WithContext(ctx))
			if err != nil {
				return err
			}
			return json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": data})
		})
		if err != nil {
			writeError(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = writePage(w, r, page) // the client may close the connection
	}
}

// query answers clients that have access, one at a time. The next query begins when the answer is written, or when the client has not
// read it in time.
func (s *Site) query(answer func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.Access.Allows(r) {
			writeError(w, &apiError{http.StatusForbidden, "forbidden", errors.New(denied)})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		timeout := queryTimeout
		if text := r.FormValue("timeout"); text != "" {
			requested, err := model.ParseDuration(text)
			if err != nil || requested <= 0 {
				writeError(w, badData("timeout=%s: write a duration such as 5s", text))
				return
			}
			timeout = min(timeout, time.Duration(requested))
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		select {
		case s.queries <- struct{}{}:
			defer func() { <-s.queries }()
		case <-ctx.Done():
			writeError(w, &apiError{http.StatusServiceUnavailable, "timeout", errors.New("another query is running: retry later")})
			return
		}
		data, err := answer(r.WithContext(ctx))
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(queryTimeout)) // a recorder in tests has none
		if err != nil {
			writeError(w, err)
			return
		}
		writeAPI(w, http.StatusOK, map[string]any{"status": "success", "data": data})
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
	writeAPI(w, failed.status, map[string]any{"status": "error", "errorType": failed.kind, "error": failed.Error()})
}

func writeAPI(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil { // for example a value that JSON cannot represent
		status, text = http.StatusInternalServerError, []byte(`{"status":"error","errorType":"internal","error":"the answer cannot be encoded as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

// groupsOf returns the rule groups.
func (s *Site) groupsOf(ctx context.Context) ([]alerting.Group, error) {
	if s.Source == nil {
		return nil, &apiError{http.StatusNotFound, "not_found", errNoSource}
	}
	return s.Source.Groups(ctx)
}

func (s *Site) apiQuery(r *http.Request) (any, error) {
	source, expr, err := s.exprOf(r)
	if err != nil {
		return nil, err
	}
	at, err := timeOf(r, "time", time.Now())
	if err != nil {
		return nil, err
	}
	if m, ok := expr.(*parser.MatrixSelector); ok {
		matrix, err := source.Samples(r.Context(), m.VectorSelector.String(), at.Add(-m.Range), at)
		if err != nil {
			return nil, err
		}
		return matrixResult(matrix)
	}
	vector, err := source.Query(r.Context(), expr.String(), at)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, sample := range vector {
		size += sizeOf(sample.Metric, 1)
	}
	if vector == nil {
		vector = model.Vector{}
	}
	return resultOf(model.ValVector, vector, size)
}

func (s *Site) apiQueryRange(r *http.Request) (any, error) {
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
	case end.Sub(start)/time.Duration(step) > maxSteps:
		return nil, badData("more than %d steps: use a longer step", maxSteps)
	}
	matrix, err := source.QueryRange(r.Context(), expr.String(), start, end, time.Duration(step))
	if err != nil {
		return nil, err
	}
	return matrixResult(matrix)
}

func matrixResult(matrix model.Matrix) (any, error) {
	size := 0
	for _, series := range matrix {
		size += sizeOf(series.Metric, len(series.Values))
	}
	if matrix == nil {
		matrix = model.Matrix{}
	}
	return resultOf(model.ValMatrix, matrix, size)
}

// sizeOf returns the approximate size of a series in JSON, in bytes.
func sizeOf(metric model.Metric, samples int) int {
	const perSample, perLabel = 32, 6
	size := samples * perSample
	for name, value := range metric {
		size += len(name) + len(value) + perLabel
	}
	return size
}

func resultOf(kind model.ValueType, result any, size int) (any, error) {
	if size > maxAnswer {
		return nil, fmt.Errorf("the answer has %d MiB, the maximum is %d: select fewer series or use a longer step", size>>20, maxAnswer>>20)
	}
	return map[string]any{"resultType": kind.String(), "result": result}, nil
}

// errRemote is the error for a query while the source is a Prometheus. This Prometheus may have samples that clients of the
// exporter must not read with the exporter's credentials.
var errRemote = errors.New("the samples are in the Prometheus of AVAX_PROMETHEUS_URL: query that Prometheus")

// exprOf returns the query and its source.
func (s *Site) exprOf(r *http.Request) (alerting.Source, parser.Expr, error) {
	if s.Source == nil {
		return nil, nil, &apiError{http.StatusNotFound, "not_found", errNoSource}
	}
	if _, remote := s.Source.(*alerting.Prometheus); remote {
		return nil, nil, &apiError{http.StatusNotFound, "not_found", errRemote}
	}
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.FormValue("query"))
	if err != nil {
		return nil, nil, badData("query: %w", err)
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
		return unixTime(v), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, badData("%s=%s: write Unix seconds or a time such as 2006-01-02T15:04:05Z", name, text)
	}
	return t, nil
}

// The JSON of Prometheus' API.
type (
	apiAlert struct {
		Labels          map[string]string `json:"labels"`
		Annotations     map[string]string `json:"annotations"`
		State           string            `json:"state"`
		ActiveAt        time.Time         `json:"activeAt"`
		KeepFiringSince *time.Time        `json:"keepFiringSince,omitempty"`
		Value           string            `json:"value"`
	}
	apiEvaluation struct {
		Health         string    `json:"health"`
		LastError      string    `json:"lastError,omitempty"`
		EvaluationTime float64   `json:"evaluationTime"`
		LastEvaluation time.Time `json:"lastEvaluation"`
		Type           string    `json:"type"`
	}
	apiAlertingRule struct {
		State         string            `json:"state"`
		Name          string            `json:"name"`
		Query         string            `json:"query"`
		Duration      float64           `json:"duration"`
		KeepFiringFor float64           `json:"keepFiringFor"`
		Labels        map[string]string `json:"labels"`
		Annotations   map[string]string `json:"annotations"`
		Alerts        []apiAlert        `json:"alerts"`
		apiEvaluation
	}
	apiRecordingRule struct {
		Name   string            `json:"name"`
		Query  string            `json:"query"`
		Labels map[string]string `json:"labels,omitempty"`
		apiEvaluation
	}
	apiGroup struct {
		Name           string    `json:"name"`
		File           string    `json:"file"`
		Rules          []any     `json:"rules"`
		Interval       float64   `json:"interval"`
		Limit          int       `json:"limit"`
		EvaluationTime float64   `json:"evaluationTime"`
		LastEvaluation time.Time `json:"lastEvaluation"`
	}
	apiTarget struct {
		DiscoveredLabels   map[string]string `json:"discoveredLabels"`
		Labels             map[string]string `json:"labels"`
		ScrapePool         string            `json:"scrapePool"`
		ScrapeURL          string            `json:"scrapeUrl"`
		GlobalURL          string            `json:"globalUrl"`
		LastError          string            `json:"lastError"`
		LastScrape         time.Time         `json:"lastScrape"`
		LastScrapeDuration float64           `json:"lastScrapeDuration"`
		Health             string            `json:"health"`
	}
	apiTable struct {
		Collector string     `json:"collector"`
		Target    string     `json:"target"`
		About     string     `json:"about"`
		Columns   []string   `json:"columns"`
		Rows      [][]string `json:"rows"`
		LeftOut   int        `json:"left_out,omitempty"`
	}
)

func (s *Site) apiAlerts(r *http.Request) (any, error) {
	groups, err := s.groupsOf(r.Context())
	if err != nil {
		return nil, err
	}
	active := []apiAlert{}
	for _, group := range groups {
		for _, rule := range group.Rules {
			active = append(active, apiAlertsOf(rule)...)
		}
	}
	return map[string]any{"alerts": active}, nil
}

func (s *Site) apiRules(r *http.Request) (any, error) {
	kind := r.FormValue("type")
	if kind != "" && kind != "alert" && kind != "record" {
		return nil, badData("type=%s: write alert or record", kind)
	}
	all, err := s.groupsOf(r.Context())
	if err != nil {
		return nil, err
	}
	groups := []apiGroup{}
	for _, group := range all {
		out := apiGroup{
			Name: group.Name, File: group.File, Rules: []any{}, Interval: group.Interval.Seconds(), Limit: group.Limit,
			EvaluationTime: group.Took.Seconds(), LastEvaluation: group.Evaluated,
		}
		for _, rule := range group.Rules {
			evaluation := apiEvaluation{rule.Health, rule.LastError, rule.Took.Seconds(), rule.Evaluated, "recording"}
			switch {
			case rule.Alerting && kind != "record":
				evaluation.Type = "alerting"
				out.Rules = append(out.Rules, apiAlertingRule{
					rule.State, rule.Name, rule.Query, rule.For.Seconds(), rule.KeepFiringFor.Seconds(), rule.Labels, rule.Annotations, apiAlertsOf(rule), evaluation,
				})
			case !rule.Alerting && kind != "alert":
				out.Rules = append(out.Rules, apiRecordingRule{rule.Name, rule.Query, rule.Labels, evaluation})
			}
		}
		groups = append(groups, out)
	}
	return map[string]any{"groups": groups}, nil
}

func apiAlertsOf(r alerting.Rule) []apiAlert {
	out := []apiAlert{}
	for _, a := range r.Alerts {
		one := apiAlert{a.Labels, a.Annotations, a.State, a.ActiveAt, nil, strconv.FormatFloat(a.Value, 'e', -1, 64)}
		if !a.KeepFiringSince.IsZero() {
			one.KeepFiringSince = &a.KeepFiringSince
		}
		out = append(out, one)
	}
	return out
}

// apiTargets returns the collectors' jobs as scrape targets, with last run, duration and error.
func (s *Site) apiTargets(*http.Request) (any, error) {
	targets := []apiTarget{}
	for _, j := range s.Store.Jobs() {
		t := apiTarget{
			Labels: map[string]string{"collector": j.Last.Collector, "target": j.Last.Target.String()}, ScrapePool: j.Last.Collector,
			LastScrape: j.Last.At, LastScrapeDuration: j.Last.Took.Seconds(), Health: "up",
		}
		if j.Last.Err != nil {
			t.Health, t.LastError = "down", j.Last.Err.Error()
		}
		targets = append(targets, t)
	}
	return map[string]any{"activeTargets": targets, "droppedTargets": []apiTarget{}}, nil
}

// apiTables returns facts that are not samples, such as the error text of a failing health check.
func (s *Site) apiTables(*http.Request) (any, error) {
	tables := []apiTable{}
	for _, t := range metric.Tables(s.Store.Jobs(), time.Now()) {
		tables = append(tables, apiTable{t.Collector, t.Target.String(), t.About, t.Columns, t.Rows, t.LeftOut})
	}
	return tables, nil
}
