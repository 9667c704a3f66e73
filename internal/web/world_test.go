package web_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/web"
	"github.com/avax-exporter/avax-exporter/simnet"
)

func TestMain(m *testing.M) {
	testworld.SyntheticTime()
	web.WorldPages = worldPages
	os.Exit(m.Run())
}

// world is an exporter with four nodes.
type world struct {
	*apptest.World
	t *testing.T
}

// inWorld runs an exporter with these rules and environment variables: name, value, name, value.
func inWorld(t *testing.T, rules []byte, do func(world), env ...string) {
	t.Helper()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		network := simnet.New(simnet.Options{Seed: 1, Validators: 60})
		network.SetBlockPeriod("X", 20*time.Second)
		for i := range 10 { // so much stake and weight that the loss of one node does not affect other nodes
			network.AddValidator(fmt.Sprintf("large%d", i), 3_000_000e9, 300*24*time.Hour)
			network.AddL1Validator("examplel1", fmt.Sprintf("member%d", i), 100, 100e9)
			network.AddL1Validator("examplepoa", fmt.Sprintf("member%d", i), 20, 100e9)
		}
		for _, name := range []string{"alpha", "bravo", "charlie", "echo", "foxtrot"} {
			network.SetBalance("examplel1", name, 100e9)
		}
		w.Use(network, "alpha", "bravo", "charlie", "foxtrot")
		w.Env["CHAINS"] += ",examplepoa=" + network.Chain("examplepoa").ID
		w.Notify(t)
		w.Env["RULES_FILE"] = testworld.File(t, string(rules))
		for pair := range slices.Chunk(env, 2) {
			w.Env[pair[0]] = pair[1]
		}
		w.Start(t)
		time.Sleep(3 * time.Minute)
		do(world{w, t})
	})
}

// get returns the page at a path.
func (w world) get(path string) string {
	w.t.Helper()
	time.Sleep(2 * time.Second) // pages are shared for a second
	status, page := w.Get(w.t, path)
	if status != http.StatusOK {
		w.t.Fatalf("%s: status %d: %s", path, status, page)
	}
	return page
}

// Each case changes the healthy network in two independent ways. The page must show the alerts of the real rules, both while they are
// pending and when they fire.
func TestStatusPageShowsPendingAndFiringAlerts(t *testing.T) {
	healthy := []string{"4 of 4 nodes up", `<h1 class="well">No active alerts`, `<details class="card off" id="l1-examplel1"><summary>`, "!problems\""}
	for name, test := range map[string]struct {
		change          func(n *simnet.Network)
		after           time.Duration
		problems        []string // as problemsOf returns them
		pending, firing []string // texts on the page
	}{
		"a node is down and a chain bootstraps": {
			change: func(n *simnet.Network) {
				n.Node("bravo").Stop()
				n.Node("charlie").SetChain("C", simnet.Bootstrapping)
			}, after: 14 * time.Minute,
			problems: []string{"AvaxChainNotBootstrapped: bad", "AvaxNodeDown: bad"},
			pending: []string{"3 of 4 nodes up", `<article class="card bad" id="node-bravo">`, "bravo: no answer for ",
				"<b>C</b> bootstrapping"},
			firing: []string{`<article class="card bad" id="node-bravo">`, "<strong>No connection.</strong>", `href="runbook/AvaxNodeDown"`,
				`<span class="tag bad">no answer for `, `class="down"`, "<b>C</b> bootstrapping", "Failing checks", `class="bootstrapping"`},
		},
		"a reward is at risk and an L1 runs out of balance": {
			change: func(n *simnet.Network) {
				n.Node("alpha").SetObservedUptime(70)
				for i := range 10 {
					n.SetBalance("examplel1", fmt.Sprintf("member%d", i), 512*60*60*20) // 20 hours
				}
			}, after: 20 * time.Minute,
			problems: []string{"AvaxL1QuorumLossForecast: bad", "AvaxRewardStakeLow: bad"},
			pending:  []string{", pending, fires in", `<td data-name="Votes" class="warn pending">`},
			firing: []string{`<td data-name="Votes" class="bad">`, ` class="bad"><th scope="row"><b>alpha</b><code>NodeID-`,
				`id="l1-examplel1" open`, "Active below 67 %", `href="api/v1/l1/examplel1/plan"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, alerts.Rules, func(s world) {
				web.Demand(t, s.get("/"), healthy...)
				test.change(s.Network)
				time.Sleep(4 * time.Minute) // a run, an answer that it shares, a scrape and an evaluation
				web.Demand(t, s.get("/"), test.pending...)
				time.Sleep(test.after)
				page := s.get("/")
				problems := web.ProblemsOf(page)
				for _, want := range test.problems {
					if !slices.Contains(problems, want) {
						t.Errorf("problems %q, without %q; title %s", problems, want, web.Title(page))
					}
				}
				web.Demand(t, page, test.firing...)
			})
		})
	}
}

// While a chain has stopped and no alert is active yet, no page is green: it may have halted.
func TestPagesSayThatAStoppedChainMayHaveHalted(t *testing.T) {
	inWorld(t, alerts.Rules, func(s world) {
		s.Network.SetBlockPeriod("examplel1", 24*time.Hour)
		time.Sleep(18 * time.Minute)
		web.Demand(t, s.get("/"), `<h1 class="note">examplel1: no new block for 18 min; no active alerts`, "idle or has halted cannot be told apart")
		web.Demand(t, s.get("/l1/examplel1"), `<h1 class="note">examplel1: no new block for 18 min; no active alerts`, "idle or has halted cannot be told apart")
	})
}

// Only the rules file defines problems.
func TestRulesFileDefinesProblems(t *testing.T) {
	const raised = `groups: [{name: test, rules: [{alert: Few, expr: 'avax_node_peers < %s', labels: {severity: warn}}]}]`
	problems := func(bar string, change func(world)) (names []string) {
		inWorld(t, []byte(fmt.Sprintf(raised, bar)), func(s world) {
			change(s)
			names = web.ProblemsOf(s.get("/"))
		})
		return names
	}
	if got := problems("1", func(s world) {
		s.Node("bravo").Stop()
		time.Sleep(10 * time.Minute)
	}); len(got) > 0 {
		t.Errorf("without a rule about nodes: %q", got)
	}
	if got := problems("100000", func(world) {}); !slices.Equal(got, []string{"Few: warn"}) {
		t.Errorf("with a high threshold: %q", got)
	}
}

func TestLinksAreValid(t *testing.T) {
	inWorld(t, alerts.Rules, func(s world) {
		s.Node("bravo").Stop()
		time.Sleep(10 * time.Minute)
		for _, path := range []string{"/", "/alerts", "/node/bravo", "/l1/examplel1"} {
			page := s.get(path)
			var ids []string
			for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
				if anchor := html.UnescapeString(m[1]); slices.Contains(ids, anchor) {
					t.Errorf("%s: duplicate anchor %s", path, anchor)
				} else {
					ids = append(ids, anchor)
				}
			}
			for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
				link := html.UnescapeString(m[1])
				switch file, inDocs := strings.CutPrefix(link, web.Repository+"/blob/main/"); {
				case strings.HasPrefix(link, "data:"):
				case strings.HasPrefix(link, "#"):
					if anchor, err := url.PathUnescape(link[1:]); err != nil || !slices.Contains(ids, anchor) {
						t.Errorf("%s: broken link %s: %v", path, link, err)
					}
				case inDocs:
					file, _, _ = strings.Cut(file, "#")
					if _, err := os.Stat("../../" + file); err != nil {
						t.Errorf("%s: %s: %v", path, link, err)
					}
				case strings.Contains(link, ":") || strings.HasPrefix(link, "/"):
					t.Errorf("%s: forbidden link %s", path, link)
				default:
					if status, _ := s.Get(s.t, "/"+strings.TrimPrefix(strings.TrimPrefix(link, "../"), "./")); status == http.StatusNotFound {
						t.Errorf("%s: /%s: status %d", path, link, status)
					}
				}
			}
		}
	})
}

// worldPages are pages in several situations, by name, as the server sends them.
func worldPages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, change := range map[string]func(n *simnet.Network){
		"healthy":        func(*simnet.Network) {},
		"node-down":      func(n *simnet.Network) { n.Node("bravo").Stop() },
		"reward-at-risk": func(n *simnet.Network) { n.Node("alpha").SetObservedUptime(70) },
		"l1-runs-dry": func(n *simnet.Network) {
			for i := range 10 {
				n.SetBalance("examplel1", fmt.Sprintf("member%d", i), 512*60*60*uint64(20+30*i))
			}
		},
		"many-troubles": func(n *simnet.Network) {
			n.Node("bravo").Stop()
			n.Node("charlie").SetChain("C", simnet.Bootstrapping)
			n.Node("alpha").SetObservedUptime(70)
			n.SetBalance("examplel1", "echo", 0)
			n.RemoveValidator("P", "charlie")
			n.AnnounceUpgrade(time.Now().Add(100*time.Hour), "delta", "echo", "golf", "hotel")
		},
	} {
		inWorld(t, alerts.Rules, func(s world) {
			time.Sleep(30 * time.Minute)
			change(s.Network)
			time.Sleep(25 * time.Minute)
			found[name] = s.get("/")
			if name == "many-troubles" {
				for name, path := range map[string]string{"alerts": "/alerts", "node": "/node/charlie", "l1": "/l1/examplel1", "runbook": "/runbook/AvaxNodeDown"} {
					found[name] = s.get(path)
				}
			}
		})
	}
	return found
}

const nodeDown = `
groups:
  - name: nodes
    rules:
      - {alert: NodeDown, expr: avax_node_up == 0, labels: {severity: page}, annotations: {summary: "{{ $labels.node }} is down"}}
`

// post submits a form as the user olga, who has a client certificate, and returns the status and the redirect.
func (w world) post(path string, form url.Values, headers ...string) (status int, to, body string) {
	w.t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	olga := &x509.Certificate{Subject: pkix.Name{CommonName: "olga"}}
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{olga}, VerifiedChains: [][]*x509.Certificate{{olga}}}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer := w.Ask(w.t, r)
	return answer.Code, answer.Header().Get("Location"), answer.Body.String()
}

var form = url.Values{"node": {"bravo"}, "for": {"45m"}, "comment": {"upgrade <1.15>"}}

func TestAlertsPageCreatesAndEndsSilences(t *testing.T) {
	inWorld(t, []byte(nodeDown), func(s world) {
		s.Node("bravo").Stop()
		time.Sleep(3 * time.Minute)
		web.Demand(t, s.get("/alerts"), "No silences", `href="alerts?silence=bravo#silences"`)
		web.Demand(t, s.get("/alerts?silence=bravo"), `name="node" value="bravo"`, `href="safe-to-stop?hold=false&node=bravo"`)
		if status, to, body := s.post("/alerts/silence", form, "Sec-Fetch-Site", "same-origin"); status != http.StatusSeeOther || to != "../alerts#silences" {
			t.Fatalf("status %d, redirect %q: %s", status, to, body)
		}
		page := s.get("/alerts")
		web.Demand(t, page, `node="bravo"`, `node_id="NodeID-`, "olga", "upgrade <1.15>", "44 min left", "!No silences")
		ids := regexp.MustCompile(`name="id" value="([^"]+)"`).FindAllStringSubmatch(page, -1)
		if len(ids) != 4 {
			t.Fatalf("%d silences with an end button, want 4", len(ids))
		}
		for _, id := range ids {
			if status, _, body := s.post("/alerts/end", url.Values{"id": {id[1]}}, "Sec-Fetch-Site", "same-origin"); status != http.StatusSeeOther {
				t.Fatalf("%d: %s", status, body)
			}
		}
		web.Demand(t, s.get("/alerts"), "No silences")
		for _, wrong := range []url.Values{
			{"node": {"nobody"}, "for": {"30m"}}, {"node": {"bravo"}, "for": {"-1h"}}, {"node": {"bravo"}, "for": {"tomorrow"}}, {"node": {""}, "for": {"1h"}},
		} {
			if status, _, _ := s.post("/alerts/silence", wrong); status != http.StatusBadRequest {
				t.Errorf("%v: status %d", wrong, status)
			}
		}
		web.Demand(t, s.get("/alerts"), "No silences")
	})
}

// Every page says what is silenced until when. What is silenced does not lead.
func TestPagesShowWhatIsSilenced(t *testing.T) {
	const few = `      - {alert: Few, expr: 'avax_node_peers{node="alpha"} < 1e6', labels: {severity: page}, annotations: {summary: "{{ $labels.node }}: few peers"}}
`
	inWorld(t, []byte(nodeDown+few), func(s world) {
		s.Node("bravo").Stop()
		time.Sleep(3 * time.Minute)
		web.Demand(t, s.get("/"), `<h1 class="bad">bravo: no answer`, "!Silenced")
		if status, _, body := s.post("/alerts/silence", form, "Sec-Fetch-Site", "same-origin"); status != http.StatusSeeOther {
			t.Fatalf("status %d: %s", status, body)
		}
		const silenced = " by olga: upgrade <1.15>"
		web.Demand(t, s.get("/"), `<h1 class="bad">alpha: few peers`, `Silenced: node="bravo" until `, silenced)
		web.Demand(t, s.get("/node/bravo"), `Silenced: node="bravo" until `, silenced)
		web.Demand(t, s.get("/alerts"), silenced, `href="alerts?silence=alertname%3D%22Few%22%2Cnode%3D%22alpha%22%2Cseverity%3D%22page%22#silences"`)
		time.Sleep(time.Hour)
		web.Demand(t, s.get("/"), `<h1 class="bad">bravo: no answer`, "!Silenced")
		for _, what := range []string{"examplel1", "alertname=Few, node=alpha", "severity=page"} {
			if status, _, body := s.post("/alerts/silence", url.Values{"node": {what}, "for": {"1h"}}, "Sec-Fetch-Site", "same-origin"); status != http.StatusSeeOther {
				t.Errorf("%s: status %d: %s", what, status, body)
			}
		}
		web.Demand(t, s.get("/alerts"), `chain="examplel1"`, `alertname="Few", node="alpha"`, `severity="page"`)
	})
}

func TestSilenceFormNeedsAccess(t *testing.T) {
	inWorld(t, []byte(nodeDown), func(s world) {
		r := httptest.NewRequest(http.MethodPost, "/alerts/silence", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{}}}
		if answer := s.Ask(s.t, r); answer.Code != http.StatusSeeOther {
			t.Errorf("with a client certificate: status %d: %s", answer.Code, answer.Body)
		}
		web.Demand(t, s.get("/alerts?silence=alpha"), `node="bravo"`, `avax-exporter silence --comment "why" alpha 30m`, "!<form", "!<button")
		r.TLS = nil
		r.SetBasicAuth("olga", "secret")
		if answer := s.Ask(s.t, r); answer.Code != http.StatusForbidden {
			t.Errorf("status %d", answer.Code)
		}
	}, "TRUST_LOOPBACK", "false")
}
