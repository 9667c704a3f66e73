package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// texts returns the titles of the problems on the page.
func (p page) titles() (all []string) {
	for _, i := range p.items() {
		all = append(all, i.titles...)
	}
	return all
}

// An L1 without the validators of other operators is one problem, with what to do about it, on the page and in the message: nothing about the operator's own nodes.
func TestForeignValidatorsAreLeftToTheirOwners(t *testing.T) {
	testworld.Story(t)
	inWorld(t, incident{quick: true}, func(t *testing.T, w *world) {
		w.wait(t, 10*time.Minute, nil)
		each(members[:5], w.Disconnect)
		right := func(when, action string) {
			t.Helper()
			named := strings.Contains(action, w.NodeID(members[0]))
			if !named || !strings.Contains(action, "Restart none of your nodes.") || strings.Contains(action, "Top up") {
				t.Errorf("%s: %s", when, action)
			}
		}
		for _, after := range []time.Duration{90 * time.Second, 210 * time.Second} {
			w.wait(t, after, nil)
			now := w.page(t, after.String(), "/")
			_, title, action := now.headline()
			right(title, action)
			if slices.ContainsFunc(now.titles(), func(s string) bool { return strings.Contains(s, "unhealthy") }) {
				t.Errorf("an effect is a problem of its own: %q", now.titles())
			}
		}
		told := 0
		for _, a := range w.Receiver.Alerts() {
			if a.Labels["alertname"] == "AvaxL1ConnectedWeightLow" && a.Labels["severity"] == "page" {
				right(a.Annotations["summary"], a.Annotations["action"])
				told++
			}
		}
		if told == 0 {
			t.Error("no message")
		}
	})
}

// weighs sets the weight of an L1 validator, which is 100, to a share of all weight.
func (w *world) weighs(chain, member string, share float64) {
	const weight = 100
	others := weight/w.WeightShare(chain, member) - weight
	w.SetWeight(chain, member, uint64(others*share/(1-share)))
}

// While an L1 barely has its quorum, its polls fill the routers of all nodes: that is an effect.
func TestRoutersFullOfPollsAreNoProblem(t *testing.T) {
	testworld.Story(t)
	inWorld(t, incident{quick: true}, func(t *testing.T, w *world) {
		w.weighs("examplel1", members[0], 0.22)
		w.wait(t, 10*time.Minute, nil)
		w.Disconnect(members[0])
		w.wait(t, 2*time.Minute, nil) // the weight that is connected is asked for each minute
		for range 10 {
			w.wait(t, 90*time.Second, nil)
			for _, title := range w.page(t, "barely", "/").titles() {
				if strings.Contains(title, "unhealthy") || strings.Contains(title, "router") {
					t.Errorf("an effect is a problem of its own: %q", title)
				}
			}
		}
	})
}

// A node of yours that starts without its L1, or cannot start it, is one problem, of which one page is sent, also if the L1 lacks much of its weight then: waiting does not help.
func TestAValidatorThatNoLongerRunsItsL1Leads(t *testing.T) {
	testworld.Story(t)
	for _, it := range []struct {
		share float64 // of the weight: with the larger one, the L1 halts
		state simnet.ChainState
		do    string
	}{{0.22, simnet.Untracked, "track-subnets"}, {0.3, simnet.Untracked, "track-subnets"}, {0.24, simnet.Failed, "VM plugin"}} {
		inWorld(t, incident{quick: true}, func(t *testing.T, w *world) {
			w.weighs("examplel1", "bravo", it.share)
			w.wait(t, 10*time.Minute, nil)
			w.Node("bravo").Stop()
			w.wait(t, 20*time.Second, nil)
			w.Node("bravo").Start()
			w.Node("bravo").SetChain("examplel1", it.state)
			w.wait(t, 2*time.Minute, nil)
			for range 24 {
				w.wait(t, 30*time.Second, nil)
				now := w.page(t, "started without it", "/")
				_, title, action := now.headline()
				if !strings.HasPrefix(title, "bravo") || !strings.Contains(title, "examplel1") || !strings.Contains(action, it.do) {
					t.Errorf("%s: %s", title, action)
				}
				for _, title := range now.titles() {
					if strings.Contains(title, "of the weight of examplel1") || strings.HasPrefix(title, "examplel1: only") {
						t.Errorf("an effect is a problem of its own: %q", title)
					}
				}
			}
			var pages []string
			for _, a := range w.Receiver.Alerts() {
				if a.Labels["severity"] == "page" {
					pages = append(pages, fmt.Sprintf("%s %s, %s", a.Labels["alertname"], a.Status, a.StartsAt.Sub(w.began)))
				}
			}
			if len(pages) != 1 || !strings.HasPrefix(pages[0], "AvaxChainNotBootstrapped firing") {
				t.Errorf("pages: %q", pages)
			}
		})
	}
}

// What nodes that go down together cause is no problem of its own, also while they come back.
func TestEffectsOfAJointOutageAreNoProblems(t *testing.T) {
	testworld.Story(t)
	inWorld(t, incident{quick: true}, func(t *testing.T, w *world) {
		w.wait(t, 10*time.Minute, nil)
		down := []string{"alpha", "bravo", "charlie"}
		look := func(when string) {
			t.Helper()
			for _, title := range w.page(t, when, "/").titles() {
				others := strings.HasPrefix(title, "foxtrot") || strings.HasPrefix(title, "spare") // the others have just started
				if others && strings.Contains(title, "unhealthy") || strings.HasPrefix(title, "examplepoa: only") {
					t.Errorf("%s: %s", when, title)
				}
			}
		}
		each(down, func(n string) { w.Node(n).Stop() })
		for range 10 {
			w.wait(t, 30*time.Second, nil)
			look("down")
		}
		each(down, func(n string) { w.Node(n).Start() })
		for range 8 {
			w.wait(t, 15*time.Second, nil)
			look("back")
		}
	})
}

// While a chain bootstraps, the page says at every moment when it pages, also after the node was stopped meanwhile.
func TestBootstrapAfterAStopSaysWhenItPages(t *testing.T) {
	testworld.Story(t)
	inWorld(t, incident{quick: true}, func(t *testing.T, w *world) {
		w.wait(t, 10*time.Minute, nil)
		w.Node("charlie").SetChain("C", simnet.Bootstrapping)
		w.wait(t, 5*time.Minute, nil)
		w.Node("charlie").Stop()
		w.wait(t, 5*time.Minute, nil)
		w.Node("charlie").Start()
		w.Node("charlie").SetChain("C", simnet.Bootstrapping)
		back := time.Now()
		for paged := false; !paged; {
			w.wait(t, time.Minute, nil)
			_, title, action := w.page(t, "back", "/").headline()
			paged = strings.Contains(title, "pages since") && strings.Contains(title, "bootstrapping C")
			if at := strings.TrimPrefix(title[strings.LastIndex(title, " since ")+1:], "since "); paged && at != time.Now().UTC().Format("15:04 UTC") &&
				at != time.Now().Add(-90*time.Second).UTC().Format("15:04 UTC") && at != time.Now().Add(-time.Minute).UTC().Format("15:04 UTC") {
				t.Errorf("it pages now, at %s: %s", time.Now().UTC().Format("15:04"), title)
			}
			switch {
			case paged:
			case !strings.Contains(title, "bootstrapping C; pages in ") || !strings.HasPrefix(action, "Wait"):
				t.Fatalf("%v after it is back: %s: %s", time.Since(back), title, action)
			case time.Since(back) > 12*time.Minute:
				t.Fatalf("no page: %s", title)
			}
		}
	})
}
