package alertmanager_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amalert "github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const file = "alertmanager.yml"

// rules returns the labels of every alert, including its name.
func rules(t *testing.T) (all []map[string]string) {
	t.Helper()
	for _, r := range testworld.Rules(t, alerts.Rules, alerts.Companion) {
		if r.Alert != "" {
			found := maps.Clone(r.Labels)
			found["alertname"] = r.Alert
			all = append(all, found)
		}
	}
	if len(all) < 50 {
		t.Fatalf("%d alerts found", len(all))
	}
	return all
}

// matching returns the alerts that may match.
func matching(matchers []*labels.Matcher, alerts []map[string]string) []map[string]string {
	return slices.DeleteFunc(slices.Clone(alerts), func(a map[string]string) bool { return !testworld.MayMatch(matchers, a) })
}

func TestAmtoolAcceptsEveryReceiver(t *testing.T) {
	amtool(t, "check-config", file)

	text := must.Get(os.ReadFile(file))(t)
	commented := regexp.MustCompile(`(?m)^    #(\w|  )`)
	if n := len(commented.FindAll(text, -1)); n < 4 {
		t.Fatalf("%d commented lines of receivers", n)
	}
	used := filepath.Join(t.TempDir(), file)
	must.Do(t, os.WriteFile(used, commented.ReplaceAll(text, []byte("    $1")), 0o600))
	amtool(t, "check-config", used)
}

// A separate Alertmanager knows fewer functions than the library of the exporter.
func TestAlertmanagerRendersEveryTemplate(t *testing.T) {
	text := must.Get(os.ReadFile("avax.tmpl"))(t)
	names := regexp.MustCompile(`define "([a-z0-9_A-Z]+\.default\.[a-zA-Z_]+|avax\.text)"`).FindAllSubmatch(text, -1)
	if len(names) < 30 {
		t.Fatalf("%d templates", len(names))
	}
	for _, found := range names {
		name := string(found[1])
		if name == "pagerduty.default.instances" {
			continue // its argument is a list of alerts
		}
		kind := "text"
		if name == "email.default.html" || name == "telegram.default.message" {
			kind = "html"
		}
		if out := amtool(t, "template", "render", "--template.glob=avax.tmpl", "--template.type="+kind, `--template.text={{ template "`+name+`" . }}`); out == "" {
			t.Errorf("%s is empty", name)
		}
	}
}

// With a separate Alertmanager, a link silences one alert by all of its labels, or the node.
func TestLinksSilenceWhatTheySay(t *testing.T) {
	templates := must.Get(template.FromGlobs([]string{"avax.tmpl"}))(t)
	templates.ExternalURL = must.Get(url.Parse("http://alertmanager.example"))(t)
	all := model.LabelSet{"alertname": "CheckFails", "node": model.LabelValue("alpha" + strings.Repeat("-more", 20)), "check": `disk "a", {b} & c`, "job": "avax"}
	data := templates.Data("pager", nil, nil, "", &amalert.Alert{Alert: model.Alert{Labels: all, StartsAt: time.Now()}})
	text := must.Get(templates.ExecuteTextString(`{{ template "avax.text" . }}`, data))(t)
	var silenced []string
	for _, link := range regexp.MustCompile(`http://alertmanager\.example/#/silences/new\?filter=(\S+)`).FindAllStringSubmatch(text, -1) {
		matchers := must.Get(labels.ParseMatchers(must.Get(url.QueryUnescape(link[1]))(t)))(t)
		found := model.LabelSet{}
		for _, m := range matchers {
			found[model.LabelName(m.Name)] = model.LabelValue(m.Value)
		}
		silenced = append(silenced, found.String())
	}
	if want := []string{all.String(), model.LabelSet{"node": all["node"]}.String()}; !slices.Equal(silenced, want) {
		t.Errorf("silences %q, want %q:\n%s", silenced, want, text)
	}
}

func TestEverySeverityHasARoute(t *testing.T) {
	severities := map[string]bool{}
	for _, r := range rules(t) {
		severities[r["severity"]] = true
	}
	for severity := range severities {
		want := severity
		if severity == "none" {
			want = "watchdog"
		}
		if got := strings.TrimSpace(amtool(t, "config", "routes", "test", "--config.file="+file, "severity="+severity)); got != want {
			t.Errorf("severity %s routed to %q, want %q", severity, got, want)
		}
	}
}

func amtool(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testworld.Binary(t, "amtool"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("amtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// An inhibition with a misspelled name would have no effect.
func TestInhibitionsUseExistingAlerts(t *testing.T) {
	all := rules(t)
	for _, i := range testworld.Inhibitions(t) {
		for _, m := range slices.Concat(i.SourceMatchers, i.TargetMatchers) {
			if m.Name != "alertname" {
				continue
			}
			for _, pattern := range testworld.Alternatives("(" + m.Value + ")") {
				one := regexp.MustCompile("^(?:" + pattern + ")$")
				if !slices.ContainsFunc(all, func(r map[string]string) bool { return one.MatchString(r["alertname"]) }) {
					t.Errorf("%s: unknown alert %s", m, pattern)
				}
			}
		}
	}
}

func TestNoInhibitionSuppressesAWorseAlert(t *testing.T) {
	rank := map[string]int{"info": 1, "warn": 2, "page": 3, "none": 4}
	all := rules(t)
	for _, i := range testworld.Inhibitions(t) {
		sources, targets := matching(i.SourceMatchers, all), matching(i.TargetMatchers, all)
		if len(sources) == 0 || len(targets) == 0 {
			t.Errorf("%q suppresses no alert", i.SourceMatchers)
		}
		sameAlert := slices.Contains(i.Equal, "alertname")
		for _, source := range sources {
			for _, target := range targets {
				if rank[source["severity"]] < rank[target["severity"]] && (!sameAlert || source["alertname"] == target["alertname"]) {
					t.Errorf("%s (%s) suppresses %s (%s)", source["alertname"], source["severity"], target["alertname"], target["severity"])
				}
			}
		}
	}
}

// Nodes of two jobs may have one name. Only alerts of the companion rules come from other jobs. Some have the name of an alert of rules.yml.
func TestInhibitionsOfOwnAlertsJoinTheJob(t *testing.T) {
	companion := map[string]bool{}
	for _, r := range testworld.Rules(t, alerts.Companion) {
		companion[r.Alert] = true
	}
	for _, i := range testworld.Inhibitions(t) {
		if slices.Contains(i.Equal, "job") {
			continue
		}
		for _, target := range matching(i.TargetMatchers, rules(t)) {
			if !companion[target["alertname"]] {
				t.Errorf("%q suppresses %s of another job", i.SourceMatchers, target["alertname"])
			}
		}
	}
}

// situation is what fires together.
type situation struct {
	Case         string
	Cause        alert
	Hides, Keeps []alert
}

// alert is the labels of an alert. Its text is its name, its severity, and other labels as name=value.
type alert map[string]string

func (a *alert) UnmarshalText(text []byte) error {
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return fmt.Errorf("%q: want a name and a severity", text)
	}
	*a = alert{"alertname": fields[0], "severity": fields[1]}
	for _, label := range fields[2:] {
		name, value, found := strings.Cut(label, "=")
		if !found {
			return fmt.Errorf("%q: label %q without a value", text, label)
		}
		(*a)[name] = value
	}
	return nil
}

// with returns the alert with more labels.
func (a alert) with(more ...string) map[string]string {
	all := maps.Clone(a)
	for pair := range slices.Chunk(more, 2) {
		all[pair[0]] = pair[1]
	}
	return all
}

// siteLabels distinguish sites. A page about one site suppresses nothing on another.
var siteLabels = []string{"cluster", "datacenter", "environment", "region", "site", "zone", "namespace"}

// played returns the alerts of all situations, each with its own job and site, and which of them are suppressed.
func played(t *testing.T) (all []map[string]string, suppressed []bool) {
	t.Helper()
	var situations []situation
	decoder := yaml.NewDecoder(bytes.NewReader(must.Get(os.ReadFile("testdata/inhibitions.yml"))(t)))
	decoder.KnownFields(true)
	must.Do(t, decoder.Decode(&situations))
	for i, s := range situations {
		own, site := fmt.Sprint("case", i), siteLabels[i%len(siteLabels)]
		add := func(a alert, at string, hidden bool) {
			job := own
			if strings.HasPrefix(a["alertname"], "AvalancheGo") {
				job = "avalanchego"
			}
			all, suppressed = append(all, a.with("job", job, site, own+at)), append(suppressed, hidden)
		}
		add(s.Cause, "", false)
		for _, a := range s.Keeps {
			add(a, "", false)
		}
		for k, a := range s.Hides {
			add(a, "", true)
			// Metrics of the node itself may be scraped in another namespace than the exporter's.
			if site != "namespace" {
				add(a, fmt.Sprint(" elsewhere", k), false) // each at a site of its own: they may suppress each other
			}
		}
	}
	if len(situations) < 16 || len(all) < 80 {
		t.Fatalf("%d situations with %d alerts", len(situations), len(all))
	}
	return all, suppressed
}

func TestInhibitionsSuppressOnlyEffects(t *testing.T) {
	all, suppressed := played(t)
	for i, by := range must.Get(notify.ParseInhibition(alertmanager.Config))(t).Inhibitors(all) {
		switch {
		case suppressed[i] && by < 0:
			t.Errorf("%v: not suppressed", all[i])
		case !suppressed[i] && by >= 0:
			t.Errorf("%v: suppressed by %v", all[i], all[by])
		}
	}
}

// The program may be of another version than the library with which the exporter decides.
func TestAlertmanagerSuppressesTheSame(t *testing.T) {
	t.Parallel()
	all, suppressed := played(t)
	url := testworld.AlertmanagerWith(t, testworld.ShortRoutes(t, testworld.Webhook(t).URL)).URL + "/api/v2/alerts"
	var sent []map[string]any
	want := map[string]string{}
	for i, set := range all {
		sent = append(sent, map[string]any{"labels": set})
		want[fmt.Sprint(set)] = map[bool]string{false: "active", true: "suppressed"}[suppressed[i]]
	}
	response := must.Get(http.Post(url, "application/json", bytes.NewReader(must.Get(json.Marshal(sent))(t))))(t)
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("alerts: %s", response.Status)
	}
	testworld.Await(t, "the states of all alerts", func() error {
		response := must.Get(http.Get(url))(t)
		defer response.Body.Close()
		var found []struct {
			Labels map[string]string
			Status struct{ State string }
		}
		must.Do(t, json.NewDecoder(response.Body).Decode(&found))
		got := map[string]string{}
		for _, a := range found {
			got[fmt.Sprint(a.Labels)] = a.Status.State
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}
