package web

import (
	"bytes"
	"cmp"
	"context"
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
				http.Error(w, "this exporter evaluates no alert rules: AVAX_ALERTING is off", http.StatusNotFound)
				return
			}
			h(w, r)
		}
	}
	mux.HandleFunc("GET /alerts", on(s.alerts))
	mux.HandleFunc("GET /api/v1/alerts", on(s.apiAlerts))
	mux.HandleFunc("GET /api/v1/rules", on(s.apiRules))
}

// groups are the rules with their active alerts.
func (s *Site) groups(ctx context.Context) []alerting.Group {
	groups, err := s.Alerting.Groups(ctx)
	if err != nil {
		s.Log.Error("reading alerts", "err", err)
	}
	return groups
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

func (s *Site) apiAlerts(w http.ResponseWriter, r *http.Request) {
	active := []apiAlert{}
	for _, g := range s.groups(r.Context()) {
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
	for _, g := range s.groups(r.Context()) {
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

func (s *Site) alertsView(now time.Time) alertsView {
	groups, receivers := s.groups(context.Background()), s.Alerting.Receivers()
	v := alertsView{Version: s.Version, Now: now, Verdict: alarmOf(groups, receivers).verdict()}
	for _, g := range groups {
		group := ruleGroupView{Name: g.Name}
		for _, r := range g.Rules {
			group.Rules = append(group.Rules, ruleViewOf(r, now))
			for _, a := range r.Alerts {
				v.Alerts = append(v.Alerts, alertViewOf(r, a, now))
			}
		}
		v.Groups = append(v.Groups, group)
	}
	slices.SortStableFunc(v.Alerts, func(a, b *alertView) int {
		return cmp.Or(cmp.Compare(a.State.Text, b.State.Text), cmp.Compare(b.State.Level, a.State.Level)) // firing before pending
	})
	anchors := map[string]bool{}
	for i, a := range v.Alerts {
		if !anchors[a.Name] { // a link leads to the worst of its name
			v.Alerts[i].Anchor, anchors[a.Name] = a.Name, true
		}
	}
	for _, r := range receivers {
		state := cell{Text: "takes alerts since " + since(now, r.Since).Text, Level: well}
		if !r.Up {
			state = cell{Text: "does not take alerts since " + since(now, r.Since).Text + ": " + r.Err, Level: bad}
		}
		v.Receivers = append(v.Receivers, receiverView{r.Name, state})
	}
	return v
}

// verdict says what fires, and whether anybody can be told.
func (a alarm) verdict() verdict {
	v := verdict{Title: a.firingText(), Level: a.level}
	switch {
	case !a.evaluated:
		v.Title, v.Level = "Waiting for the first evaluation", note
	case len(a.deaf) > 0:
		v.Title += ", " + plural(len(a.deaf), "Alertmanager does not take them", "Alertmanagers do not take them")
		v.Level = bad
	case a.broken > 0:
		v.Title += ", " + plural(a.broken, "rule cannot be evaluated", "rules cannot be evaluated")
		v.Level = bad
	case a.firing == 0 && a.watchdog:
		v.Title += ", the watchdog does"
	}
	v.Sums = []string{plural(a.firing, "alert fires", "alerts fire"), plural(a.pending, "waits for its time", "wait for their time")}
	return v
}

func ruleViewOf(r alerting.Rule, now time.Time) ruleView {
	v := ruleView{Name: r.Name, Query: r.Query, Error: r.LastError, State: cell{Text: "recording", Level: off}, Last: cell{Text: "–", Title: "not yet"}}
	if r.Alerting {
		v.State = cell{Text: r.State, Level: levelOf(r.State, r.Labels)}
	}
	if !r.Evaluated.IsZero() {
		v.Last = since(now, r.Evaluated)
	}
	if r.LastError != "" {
		v.State = cell{Text: "cannot be evaluated", Level: bad}
	}
	return v
}

// levelOf is how urgent an alert in this state is.
func levelOf(state string, labels map[string]string) level {
	if state != alerting.Firing {
		return off
	}
	return severityOf(labels)
}

// alertViewOf shows an alert. What one that is pending says of itself is not so
// yet.
func alertViewOf(r alerting.Rule, a alerting.Alert, now time.Time) *alertView {
	v := &alertView{
		Name: r.Name, Summary: a.Annotations["summary"], Description: a.Annotations["description"], Impact: a.Annotations["impact"],
		Runbook: a.Annotations["runbook_url"], Since: since(now, a.ActiveAt),
		State: cell{Text: a.State, Level: levelOf(a.State, a.Labels)},
	}
	if a.State == alerting.Pending {
		when := "with the next evaluation"
		if fires := a.ActiveAt.Add(r.For); fires.After(now) {
			when = since(now, fires).Text
		}
		v.Description, v.Impact = "Fires "+when+" if it lasts.", ""
	}
	for _, label := range slices.Sorted(maps.Keys(a.Labels)) {
		if label != "alertname" {
			v.Labels = append(v.Labels, figure{label, cell{Text: a.Labels[label]}})
		}
	}
	return v
}
