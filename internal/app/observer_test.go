package app_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/passage"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// observedCollectors are the collectors of a quick drill that detect faults of one node.
const observedCollectors = "up,fleet,identity,bootstrap,heads,forks,health,peers,connected_stake,uptime,validators,validator_views,observer"

// story is an incident of the only node of an operator.
type story struct {
	what  string
	begin func(*stage)
}

var stories = []story{
	{"accepts no more P-Chain blocks", func(s *stage) { s.Node("alpha").FallBehind("P") }},
	{"has another C-Chain block than the network", func(s *stage) { s.Node("alpha").Fork("C") }},
	{"loses all its peers", func(s *stage) { s.Disconnect("alpha") }},
	{"stops", func(s *stage) { s.Node("alpha").Stop() }},
}

// fired runs the story. It returns when each alert of each severity except notes first fired, such as "Alert (severity) 5 min".
func (y story) fired(t *testing.T, observed bool, last time.Duration) (alerts []string) {
	d := drill{nodes: []string{"alpha"}, quick: true, change: func(env *config.Environment) {
		env.Collectors, env.Chains = observedCollectors, "C"
		if observed {
			env.Observers = "public=http://observer.sim"
		}
	}}
	onStage(t, d, func(s *stage, p *pager) {
		time.Sleep(10 * time.Minute)
		began := time.Now()
		y.begin(s)
		time.Sleep(last)
		seen := map[string]bool{}
		episodes := p.all()
		slices.SortFunc(episodes, func(a, b episode) int {
			return cmp.Or(a.began.Compare(b.began), cmp.Compare(a.labels["severity"], b.labels["severity"]), cmp.Compare(a.labels["alertname"], b.labels["alertname"]))
		})
		for _, e := range episodes {
			alert := fmt.Sprintf("%s (%s)", e.labels["alertname"], e.labels["severity"])
			if e.began.Before(began) {
				t.Errorf("alert before the start: %v", e.String())
			}
			if e.labels["severity"] == "info" || seen[alert] {
				continue
			}
			seen[alert] = true
			alerts = append(alerts, fmt.Sprintf("%s %d min", alert, int(e.began.Sub(began).Round(time.Minute).Minutes())))
			if e.labels["node"] == "public" {
				t.Errorf("alert about an observer: %v", e.String())
			}
		}
	})
	slices.Sort(alerts) // by name: alerts of the same minute fire in any order
	return alerts
}

func TestObserverRevealsALaggingNode(t *testing.T) {
	t.Parallel()
	found := stories[0].fired(t, true, 10*time.Minute)
	if !slices.ContainsFunc(found, func(alert string) bool { return strings.HasPrefix(alert, "AvaxHeadStale (page)") }) {
		t.Errorf("no page: %q", found)
	}
}

// docs/observers.md has the table of alerts with and without an observer.
func TestObserverAlertsMatchTheDocs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	const file, name = "../../docs/observers.md", "observer-stories"
	table := "\n| the node … | without an observer | with an observer |\n|---|---|---|\n"
	for _, y := range stories {
		alone, observed := y.fired(t, false, 40*time.Minute), y.fired(t, true, 40*time.Minute)
		cell := func(alerts []string) string { return cmp.Or(strings.Join(alerts, ", "), "–") }
		table += fmt.Sprintf("| %s | %s | %s |\n", y.what, cell(alone), cell(observed))
		if !slices.ContainsFunc(observed, func(alert string) bool { return strings.Contains(alert, "(page)") }) {
			t.Errorf("the node %s: no page with an observer: %q", y.what, observed)
		}
		for _, alert := range alone {
			if first, _, _ := strings.Cut(alert, ")"); !slices.ContainsFunc(observed, func(with string) bool { return strings.HasPrefix(with, first) }) {
				t.Errorf("the node %s: the observer hides %s", y.what, alert)
			}
		}
	}
	table += "\n"
	if *update {
		if err := passage.Write(file, name, table); err != nil {
			t.Fatal(err)
		}
	}
	written, err := passage.Read(file, name)
	if err != nil {
		t.Fatal(err)
	}
	// Collectors run once a minute, at a random second.
	minutes := regexp.MustCompile(`(\d+) min`)
	was, is := minutes.FindAllStringSubmatch(written, -1), minutes.FindAllStringSubmatch(table, -1)
	same := minutes.ReplaceAllString(written, "") == minutes.ReplaceAllString(table, "")
	for i := 0; same && i < len(is); i++ {
		a, _ := strconv.Atoi(was[i][1])
		b, _ := strconv.Atoi(is[i][1])
		same = max(a-b, b-a) <= 3
	}
	if !same {
		t.Errorf("%s: run this test with -update and read the difference\nwas %s\nis  %s", file, written, table)
	}
}

// A load balancer selects another machine for each answer, and requests pauses.
func TestLoadBalancedObserverCausesNoAlerts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	t.Parallel()
	const long, budget = 24 * time.Hour, 60
	d := drill{nodes: []string{"alpha", "bravo"}, quick: true, change: func(env *config.Environment) {
		env.Observers, env.ObserverBudget = "public=http://observer.sim", fmt.Sprint(budget)
		env.Collectors = config.Defaults().Collectors
	}}
	onStage(t, d, func(s *stage, p *pager) {
		calls, most, refused, minutes := 0, 0, 0, int(long/time.Minute)
		for minute := range minutes {
			if minute%60 == 30 { // once an hour it is rate-limited
				s.Observer().SetLimit(1, 2*time.Minute)
				refused++
			}
			if minute%60 == 35 {
				s.Observer().SetLimit(0, 0)
			}
			s.ResetCalls()
			time.Sleep(time.Minute)
			n := 0
			for _, c := range s.Calls() {
				if c.Upstream == "observer" {
					n++
				}
			}
			calls, most = calls+n, max(most, n)
		}
		t.Logf("%v: %d calls to the observer, %.1f per minute, at most %d in a minute; budget %d; %d requested pauses",
			long, calls, float64(calls)/float64(minutes), most, budget, refused)
		if most > budget || calls == 0 {
			t.Errorf("%d calls within a minute, budget %d", most, budget)
		}
		for _, e := range p.all() {
			t.Errorf("alert %v", e.String())
		}
	})
}

// delegator monitors a validator with an observer, without a node.
func delegator(of string) drill {
	return drill{nodes: []string{}, quick: true, change: func(env *config.Environment) {
		env.Nodes, env.Observers, env.Validators, env.Chains = "", "public=http://observer.sim", of, "C"
		env.Collectors = "observer,heads,forks,network,validators,validator_views,reward_budget,safe_to_stop,fleet,variants,up"
		env.RulesProfile = "delegator"
	}}
}

func TestStatusPageOfADelegator(t *testing.T) {
	t.Parallel()
	of := simnet.New(simnet.Options{Seed: 1}).NodeID("charlie")
	onStage(t, delegator(of), func(s *stage, p *pager) {
		time.Sleep(12 * time.Minute)
		w := httptest.NewRecorder()
		s.exporter.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		page := w.Body.String()
		for _, text := range []string{
			"No active alerts", "1 observer, no node", `id="observer-public"`, ">up<", "<b>P</b> 2", "without ", ">60 calls per minute<", of, "validating, 1 of 1 observers connected",
		} {
			if !strings.Contains(page, text) {
				t.Errorf("missing on the page: %s", text)
			}
		}
		if strings.Contains(page, `id="nodes"`) {
			t.Error("page with a section of nodes")
		}
		if t.Failed() {
			t.Log(page)
		}
	})
}

// A delegator has no node.
func TestDelegatorIsAlertedOfADownValidator(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	t.Parallel()
	of := simnet.New(simnet.Options{Seed: 1}).NodeID("charlie")
	var network string
	onStage(t, delegator(of), func(s *stage, p *pager) {
		if network = s.NodeID("charlie"); network != of {
			t.Fatal("stage with other IDs")
		}
		time.Sleep(15 * time.Minute)
		for _, e := range p.all() {
			t.Errorf("alert before the incident: %v", e.String())
		}
		began := time.Now()
		s.Node("charlie").Stop()
		time.Sleep(45 * time.Minute)
		told := map[string]time.Duration{}
		for _, e := range p.all() {
			told[e.labels["alertname"]+" "+e.labels["severity"]] = e.began.Sub(began)
		}
		t.Log(told)
		for alert, within := range map[string]time.Duration{"AvaxValidatorDisconnected warn": 10 * time.Minute, "AvaxValidatorDisconnected page": 40 * time.Minute} {
			if after, is := told[alert]; !is || after > within {
				t.Errorf("%s: %v", alert, told)
			}
			delete(told, alert)
		}
		if len(told) > 0 {
			t.Errorf("further alerts: %v", told)
		}
	})
}
