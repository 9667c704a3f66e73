//go:build !noalerting

package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// observedCollectors are those of a quick drill that see what befalls one node.
const observedCollectors = "up,fleet,identity,bootstrap,heads,forks,health,peers,connected_stake,uptime,validators,validator_views,observer"

// story is what befalls the one node of an operator.
type story struct {
	what  string
	begin func(*stage)
}

var stories = []story{
	{"stops accepting P-Chain blocks", func(s *stage) { s.Node("alpha").FallBehind("P") }},
	{"has another C-Chain block than the network", func(s *stage) { s.Node("alpha").Fork("C") }},
	{"is cut off from its peers", func(s *stage) { s.Disconnect("alpha") }},
	{"ends", func(s *stage) { s.Node("alpha").Stop() }},
}

// told plays the story for so long and returns the first episode of each alert and severity, notes left out, as "Alert (severity) after 5 min".
func (y story) told(t *testing.T, observed bool, last time.Duration) (alerts []string) {
	d := drill{nodes: []string{"alpha"}, quick: true, change: func(env *config.Environment) {
		env.Collectors, env.Chains = observedCollectors, "C"
		if observed {
			env.Observers = "public=http://observer.sim"
		}
	}}
	watched(t, d, func(s *stage, p *pager) {
		time.Sleep(10 * time.Minute)
		began := time.Now()
		y.begin(s)
		time.Sleep(last)
		for _, e := range p.all() {
			if e.began.Before(began) {
				t.Errorf("before it began there was %v", e.String())
			}
			if e.labels["severity"] != "info" {
				alerts = append(alerts, fmt.Sprintf("%s (%s) after %d min", e.labels["alertname"], e.labels["severity"], int(e.began.Sub(began).Round(time.Minute).Minutes())))
			}
			if e.labels["node"] == "public" && e.labels["severity"] != "info" {
				t.Errorf("an observer is told of: %v", e.String())
			}
		}
	})
	return alerts
}

func TestAnObserverShowsThatTheOneNodeFellBehind(t *testing.T) {
	t.Parallel()
	found := stories[0].told(t, true, 10*time.Minute)
	if !slices.ContainsFunc(found, func(alert string) bool { return strings.HasPrefix(alert, "AvaxHeadStale (page)") }) {
		t.Errorf("nobody is told; there is %q", found)
	}
}

// The table is printed: which alerts fire, alone and with an observer.
func TestWhatAnObserverAddsToOneNode(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	for _, y := range stories {
		alone, observed := y.told(t, false, 40*time.Minute), y.told(t, true, 40*time.Minute)
		t.Logf("| %s | %s | %s |", y.what, strings.Join(alone, ", "), strings.Join(observed, ", "))
		if len(observed) == 0 {
			t.Errorf("the node %s, and nobody is told", y.what)
		}
	}
}

// A load balancer changes its machine from answer to answer, and asks for pauses.
func TestALoadBalancedObserverPagesNobodyForADay(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	t.Parallel()
	const long, budget = 24 * time.Hour, 60
	d := drill{nodes: []string{"alpha", "bravo"}, quick: true, change: func(env *config.Environment) {
		env.Observers, env.ObserverBudget = "public=http://observer.sim", fmt.Sprint(budget)
		env.Collectors = observedCollectors + ",l1,l1_views,safe_to_stop"
	}}
	watched(t, d, func(s *stage, p *pager) {
		calls, most, refused, minutes := 0, 0, 0, int(long/time.Minute)
		for minute := range minutes {
			if minute%60 == 30 { // once an hour it is busy with others
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
		t.Logf("%v: %d calls to the observer, %.1f a minute, %d in the busiest one; the budget is %d. It asked for pauses %d times.",
			long, calls, float64(calls)/float64(minutes), most, budget, refused)
		if most > budget || calls == 0 {
			t.Errorf("%d calls within a minute: the budget is %d", most, budget)
		}
		for _, e := range p.all() {
			t.Errorf("there was %v", e.String())
		}
	})
}

// A delegator has no node.
func TestADelegatorIsToldOfAValidatorThatIsDown(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	t.Parallel()
	of := simnet.New(simnet.Options{Seed: 1}).NodeID("charlie")
	var network string
	d := drill{nodes: []string{}, quick: true, change: func(env *config.Environment) {
		env.Nodes, env.Observers, env.Validators, env.Chains = "", "public=http://observer.sim", of, "C"
		env.Collectors = "observer,heads,forks,network,validators,validator_views,reward_budget,safe_to_stop,fleet,variants,up"
	}}
	watched(t, d, func(s *stage, p *pager) {
		if network = s.NodeID("charlie"); network != of {
			t.Fatal("the stage has other IDs")
		}
		time.Sleep(15 * time.Minute)
		for _, e := range p.all() {
			t.Errorf("before it began there was %v", e.String())
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
			t.Errorf("besides there was %v", told)
		}
	})
}
