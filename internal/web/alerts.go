package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
)

// alertRoutes are the pages of in-process alerting: one for people, two as a
// Prometheus has them.
func (s *Site) alertRoutes(mux *http.ServeMux) {
	on := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if s.Alerting == nil {
				http.Error(w, "this exporter evaluates no alert rules: set AVAX_ALERTMANAGERS, or let a Prometheus do it", http.StatusNotFound)
				return
			}
			h(w, r)
		}
	}
	mux.HandleFunc("GET /alerts", on(s.alerts))
	mux.HandleFunc("GET /api/v1/alerts", on(s.apiAlerts))
	mux.HandleFunc("GET /api/v1/rules", on(s.apiRules))
}

// The JSON is that of Prometheus' own API, field by field.
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
)

func (s *Site) apiAlerts(w http.ResponseWriter, _ *http.Request) {
	active := []apiAlert{}
	for _, g := range s.Alerting.Groups() {
		for _, r := range g.Rules {
			active = append(active, apiAlertsOf(r)...)
		}
	}
	answer(w, map[string]any{"alerts": active})
}

func (s *Site) apiRules(w http.ResponseWriter, r *http.Request) {
	kind := r.FormValue("type")
	if kind != "" && kind != "alert" && kind != "record" {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"status": "error", "errorType": "bad_data", "error": "type is alert or record"})
		return
	}
	groups := []apiGroup{}
	for _, g := range s.Alerting.Groups() {
		out := apiGroup{
			Name: g.Name, File: g.File, Rules: []any{}, Interval: g.Interval.Seconds(), Limit: g.Limit,
			EvaluationTime: g.Took.Seconds(), LastEvaluation: g.Evaluated,
		}
		for _, r := range g.Rules {
			evaluation := apiEvaluation{r.Health, r.LastError, r.Took.Seconds(), r.Evaluated, "recording"}
			switch {
			case r.Alerting && kind != "record":
				evaluation.Type = "alerting"
				out.Rules = append(out.Rules, apiAlertingRule{
					r.State, r.Name, r.Query, r.For.Seconds(), r.KeepFiringFor.Seconds(), r.Labels, r.Annotations, apiAlertsOf(r), evaluation,
				})
			case !r.Alerting && kind != "alert":
				out.Rules = append(out.Rules, apiRecordingRule{r.Name, r.Query, r.Labels, evaluation})
			}
		}
		groups = append(groups, out)
	}
	answer(w, map[string]any{"groups": groups})
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

func answer(w http.ResponseWriter, data any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": data})
}

// alerts is the page for people; who asks for JSON gets that of /api/v1/alerts.
func (s *Site) alerts(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	if r.FormValue("format") == "json" || strings.HasPrefix(r.Header.Get("Accept"), "application/json") {
		s.apiAlerts(w, r)
		return
	}
	var page bytes.Buffer
	if err := alertsPage(s.alertsView(time.Now())).Render(&page); err != nil {
		s.Log.Error("page of alerts", "err", err)
		http.Error(w, "the page of alerts has a mistake, paging is not affected", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	body := zip(w, encodingOf(w, r))
	defer body.Close()
	_, _ = page.WriteTo(body)
}

// alertsView is what the page of alerts shows.
type alertsView struct {
	Version   string
	Now       time.Time
	Verdict   verdict
	Alerts    []*alertView // firing first, worst first
	Receivers []receiverView
	Groups    []ruleGroupView
}

type alertView struct {
	Name, Anchor, Summary, Description, Impact, Runbook string
	State, Since                                        cell
	Labels                                              []figure
}

type receiverView struct {
	Name  string
	State cell
}

type ruleGroupView struct {
	Name  string
	Rules []ruleView
}

type ruleView struct {
	Name, Query, Error string
	State, Last        cell
}

// severities are the levels of the label severity.
var severities = map[string]level{"page": bad, "warn": warn, "info": note}

func (s *Site) alertsView(now time.Time) alertsView {
	v := alertsView{Version: s.Version, Now: now}
	firing, pending, broken := 0, 0, 0
	evaluated := false
	anchors := map[string]bool{}
	for _, g := range s.Alerting.Groups() {
		group := ruleGroupView{Name: g.Name}
		evaluated = evaluated || !g.Evaluated.IsZero()
		for _, r := range g.Rules {
			rule := ruleView{Name: r.Name, Query: r.Query, Error: r.LastError, State: cell{Text: "recording", Level: off}, Last: cell{Text: "–", Title: "not yet"}}
			if r.Alerting {
				rule.State = cell{Text: r.State, Level: levelOf(r.State, r.Labels["severity"])}
			}
			if !r.Evaluated.IsZero() {
				rule.Last = since(now, r.Evaluated)
			}
			if r.LastError != "" {
				broken++
				rule.State = cell{Text: "cannot be evaluated", Level: bad}
			}
			group.Rules = append(group.Rules, rule)
			for _, a := range r.Alerts {
				if a.State == alerting.Firing {
					firing++
					v.Verdict.Level = max(v.Verdict.Level, severities[a.Labels["severity"]])
				} else {
					pending++
				}
				shown := alertViewOf(r.Name, a, now)
				if !anchors[r.Name] {
					shown.Anchor, anchors[r.Name] = r.Name, true
				}
				v.Alerts = append(v.Alerts, shown)
			}
		}
		v.Groups = append(v.Groups, group)
	}
	slices.SortStableFunc(v.Alerts, func(a, b *alertView) int {
		return cmp.Or(cmp.Compare(a.State.Text, b.State.Text), cmp.Compare(b.State.Level, a.State.Level)) // firing before pending
	})
	deaf := 0
	for _, r := range s.Alerting.Receivers() {
		state := cell{Text: "takes alerts since " + since(now, r.Since).Text, Level: well}
		if !r.Up {
			deaf++
			state = cell{Text: "does not take alerts since " + since(now, r.Since).Text + ": " + r.Err, Level: bad}
		}
		v.Receivers = append(v.Receivers, receiverView{r.Name, state})
	}
	v.Verdict.Title = plural(firing, "alert fires", "alerts fire")
	switch {
	case !evaluated:
		v.Verdict.Title, v.Verdict.Level = "Waiting for the first evaluation", note
	case deaf > 0:
		v.Verdict.Title += ", " + plural(deaf, "Alertmanager does not take them", "Alertmanagers do not take them")
		v.Verdict.Level = bad
	case broken > 0:
		v.Verdict.Title += ", " + plural(broken, "rule cannot be evaluated", "rules cannot be evaluated")
		v.Verdict.Level = bad
	}
	v.Verdict.Sums = []string{plural(firing, "alert fires", "alerts fire"), plural(pending, "waits for its time", "wait for their time")}
	return v
}

// levelOf is how urgent an alert in this state is.
func levelOf(state, severity string) level {
	if state != alerting.Firing {
		return off
	}
	return severities[severity]
}

func alertViewOf(name string, a alerting.Alert, now time.Time) *alertView {
	v := &alertView{
		Name: name, Summary: a.Annotations["summary"], Description: a.Annotations["description"], Impact: a.Annotations["impact"],
		Runbook: a.Annotations["runbook_url"], Since: since(now, a.ActiveAt),
		State: cell{Text: a.State, Level: levelOf(a.State, a.Labels["severity"])},
	}
	for _, label := range slices.Sorted(maps.Keys(a.Labels)) {
		if label != "alertname" {
			v.Labels = append(v.Labels, figure{label, cell{Text: a.Labels[label]}})
		}
	}
	return v
}
