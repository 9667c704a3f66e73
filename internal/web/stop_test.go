package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/words"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// stopping is a site with samples for stopping its nodes.
func stopping(t *testing.T) *Site {
	s := siteWith(t, `
		avax_node_up{node="free"} 1
		avax_node_up{node="needed"} 1
		avax_node_up{node="idle"} 1
		avax_node_up{node="silent"} 1
		avax_node_up{node="half"} 1
		avax_node_up{node="torn"} 1
		avax_node_info{node="torn",node_id="NodeID-torn",version="v"} 1
		avax_node_info{node="free",node_id="NodeID-free",version="v"} 1
		avax_node_info{node="needed",node_id="NodeID-needed",version="v"} 1
		avax_node_info{node="half",node_id="NodeID-half",version="v"} 1`)
	put(t, s, metric.Key{Collector: "safe_to_stop", Target: metric.Target{}}, `
		avax_l1_safe_to_stop{chain="one",node_id="NodeID-torn"} 0
		avax_l1_safe_to_stop{chain="one",node_id="NodeID-free"} 1
		avax_l1_safe_to_stop{chain="one",node_id="NodeID-needed"} 0
		avax_l1_safe_to_stop{chain="one",node_id="NodeID-half"} 1
		avax_l1_safe_to_stop{chain="one",node_id="NodeID-stranger"} 1
		avax_l1_safe_to_stop{chain="two",node_id="NodeID-outsider"} 0`)
	counts(s, metric.Facts{ValidatorSets: testworld.ValidatorSetsOf("needed", map[string]map[string]float64{
		"free": {"P": 0.99, "one": 0.8}, "needed": {"P": 0.99, "one": 0.75, "two": 0.7999}, "idle": {}, "sharded": {"P": 0.99},
		"half": {"P": 0.99, "three": 0}, "torn": {"one": 0.79},
	})})
	return s
}

// safeToStopFacts returns the facts of the last good run.
func (s *Site) safeToStopFacts() metric.Facts {
	jobs := s.Store.Jobs()
	return jobs[slices.IndexFunc(jobs, func(j *metric.Job) bool { return j.Last.Collector == "safe_to_stop" })].Good.Facts
}

// areSilent is what these nodes say: nothing.
func areSilent(names ...string) (silent []nodes.Presence) {
	for _, name := range names {
		silent = append(silent, nodes.Presence{Node: name})
	}
	return silent
}

const seen = ", as needed sees it"

// counts repeats the last good run of the collector now, with these facts.
func counts(s *Site, facts metric.Facts) {
	jobs := s.Store.Jobs()
	run := *jobs[slices.IndexFunc(jobs, func(j *metric.Job) bool { return j.Last.Collector == "safe_to_stop" })].Good
	run.At, run.Period, run.Until, run.Facts = time.Now(), time.Minute, time.Now().Add(3*time.Minute), facts
	s.Store.Put(run)
}

// wantStop requests the answer about a node.
func wantStop(t *testing.T, s *Site, node string, status int, text string) {
	t.Helper()
	if got, body := get(t, s, "/safe-to-stop?node="+node); got != status || !strings.HasPrefix(body, text) {
		t.Errorf("%s: %d %s, want %d %s", node, got, body, status, text)
	}
}

// The answer names the node whose view decides. Package status has the tests of the verdict.
func TestSafeToStopAnswersYesNoOrUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stopping(t)
		for _, test := range []struct {
			query  string
			status int
			want   string
		}{
			{"?hold=false&node=free", 200, "yes: without it 80 % of the weight of one would stay connected, 80 % is needed, as needed sees it"},
			{"?node=needed", 409, "no: one: 75 % of weight would stay connected, 80 % is needed" + seen + "; two: 79.99 % of weight would stay connected, 80 % is needed" + seen},
			{"?node=half", 503, "not known: how much of three would stay connected: the last runs did not report it"},
			{"?node=nobody", 404, "unknown node: the nodes are free, half, idle and 3 more"},
			{"", 400, "no node: write /safe-to-stop?node=NAME with a name of AVAX_NODES or a node ID"},
		} {
			answer := answerOf(t, s.Handler(), "/safe-to-stop"+test.query)
			if status, body := answer.Code, answer.Body.String(); status != test.status || body != test.want+"\n" {
				t.Errorf("%s: %d %s, want %d %s", test.query, status, body, test.status, test.want)
			}
			if says := answer.Header().Get("Retry-After") != ""; says != (test.status == 503) {
				t.Errorf("%s: says when to retry: %t", test.query, says)
			}
		}
	})
}

// Any client may ask, as often as it likes. Each yes comes from a call that began after the question.
func TestAYesCallsNodesAfterTheQuestionAndOnceInFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stopping(t)
		var mu sync.Mutex
		var calls []time.Time
		s.Ask = func(context.Context, []string) []nodes.Presence {
			mu.Lock()
			calls = append(calls, time.Now())
			mu.Unlock()
			time.Sleep(time.Second)
			return nil
		}
		handler, began := s.Handler(), time.Now()
		var clients sync.WaitGroup
		for i := range 50 {
			clients.Go(func() {
				for time.Since(began) < 20*time.Second {
					asked := time.Now()
					r := httptest.NewRequest(http.MethodGet, "/safe-to-stop?node=free", nil)
					r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1000", i)
					answer := httptest.NewRecorder()
					handler.ServeHTTP(answer, r)
					mu.Lock()
					if last := calls[len(calls)-1]; answer.Code != http.StatusOK || last.Before(asked) {
						t.Errorf("%d %s, from a call %s before the question", answer.Code, answer.Body, asked.Sub(last))
					}
					mu.Unlock()
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		clients.Wait()
		if n := len(calls); n < 4 || n > 6 {
			t.Errorf("%d calls in 20 s, want one in 5 s", n)
		}
	})
}

// Two nodes that ask at once do not both stop. A person may decide otherwise, and who only looks takes no yes from others.
func TestAYesIsForOneNodeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stopping(t)
		handler := s.Handler()
		want := func(path string, code int, text string) {
			t.Helper()
			if answer := answerOf(t, handler, path); answer.Code != code || !strings.HasPrefix(answer.Body.String(), text) {
				t.Errorf("%s: %d %s, want %d %s", path, answer.Code, answer.Body, code, text)
			}
		}
		var yes, no atomic.Int64
		var both sync.WaitGroup
		for _, node := range []string{"free", "idle"} {
			both.Go(func() {
				switch answer := answerOf(t, handler, "/safe-to-stop?node="+node); answer.Code {
				case http.StatusOK:
					yes.Add(1)
				case http.StatusConflict:
					no.Add(1)
				}
			})
		}
		both.Wait()
		if yes.Load() != 1 || no.Load() != 1 {
			t.Errorf("%d yes and %d no for two nodes that ask at once", yes.Load(), no.Load())
		}
		time.Sleep(90 * time.Second)
		counts(s, s.safeToStopFacts())
		want("/safe-to-stop?node=free&hold=false", 200, "yes: ")
		want("/safe-to-stop?node=free", 200, "yes: ")
		time.Sleep(4 * time.Second)
		want("/safe-to-stop?node=idle", 409, "no: free was told yes 4 s ago: ask again in 56 s")
		want("/safe-to-stop?node=idle&hold=false", 409, "no: free was told yes 4 s ago")
		want("/waves?node=idle", 409, "no: free was told yes")
		want("/waves?node=idle&node=free", 200, "yes: 2 nodes may stop in 1 group")
		want("/safe-to-stop?node=free", 200, "yes: ")
		want("/safe-to-stop?node=idle&force=true", 200, "yes: ")
		want("/safe-to-stop?node=free", 409, "no: idle was told yes")
		time.Sleep(time.Minute)
		want("/safe-to-stop?node=free", 200, "yes: ")
	})
}

// A client that asks about one node again and again keeps the yes from no other node for more than two minutes.
func TestAPollerKeepsTheYesFromNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stopping(t)
		handler := s.Handler()
		code := func(path string) int { return answerOf(t, handler, path).Code }
		began, got := time.Now(), time.Duration(0)
		for got == 0 && time.Since(began) < 5*time.Minute {
			code("/safe-to-stop?node=free")
			if time.Since(began)%(15*time.Second) == 0 && time.Since(began) > 0 && code("/safe-to-stop?node=idle") == http.StatusOK {
				got = time.Since(began)
			}
			time.Sleep(time.Second)
			counts(s, s.safeToStopFacts())
		}
		if got == 0 || got > 150*time.Second {
			t.Errorf("the other node got a yes after %s", got)
		}
		if answer := answerOf(t, handler, "/safe-to-stop?node=free"); answer.Code != http.StatusConflict {
			t.Errorf("both got a yes: %s", answer.Body)
		}
	})
}

// Who asks often, or for much, takes no answer from others: verdicts that call nodes wait among their own kind, and each client has a bound.
func TestVerdictsThatCallNodesDelayNoOtherAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stopping(t)
		s.Ask = func(ctx context.Context, _ []string) []nodes.Presence { <-ctx.Done(); return nil }
		handler := s.Handler()
		var codes sync.Map
		var flood sync.WaitGroup
		for range 200 {
			flood.Go(func() {
				answer := answerOf(t, handler, "/safe-to-stop?node=free")
				text, _, _ := strings.Cut(answer.Body.String(), ":")
				codes.Store(fmt.Sprint(answer.Code, " ", text, " ", answer.Header().Get("Retry-After")), true)
			})
		}
		synctest.Wait()
		for _, path := range []string{"/serving?node=free&chain=C", "/is-back?node=free", "/-/healthy", "/silence-matches?of=free"} {
			began := time.Now()
			if answerOf(t, handler, path); time.Since(began) > 0 {
				t.Errorf("%s took %s", path, time.Since(began))
			}
		}
		flood.Wait()
		for got := range codes.Range {
			if !slices.Contains([]string{"200 yes ", "503 not known 3"}, got.(string)) {
				t.Errorf("an answer of the flood: %s", got)
			}
		}
		if _, some := codes.Load("503 not known 3"); !some {
			t.Error("no bound")
		}
	})
}

// The JSON lacks "safe" if that is unknown.
func TestSafeToStopAnswersInJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stopping(t)
		for node, want := range map[string]string{
			"needed": `{"node": "needed", "node_id": "NodeID-needed", "safe": false,
				"reason": "no: one: 75 % of weight would stay connected, 80 % is needed, as needed sees it; two: 79.99 % of weight would stay connected, 80 % is needed, as needed sees it",
				"chains": [{"chain": "one", "leaves": 0.75, "view": "needed"}, {"chain": "two", "leaves": 0.7999, "view": "needed"},
					{"chain": "P", "leaves": 0.99, "view": "needed"}],
				"as_of": "2000-01-01T00:00:00Z"}`,
			"half": `{"node": "half", "node_id": "NodeID-half", "reason": "not known: how much of three would stay connected: the last runs did not report it",
				"chains": [{"chain": "P", "leaves": 0.99, "view": "needed"}], "as_of": "2000-01-01T00:00:00Z"}`,
		} {
			answer := ask(t, s, http.MethodGet, "/safe-to-stop?node="+node, "Accept", "application/json, */*")
			if kind := answer.Header.Get("Content-Type"); kind != "application/json" || answer.Header.Get("Vary") != "Accept" {
				t.Errorf("%s: %v", node, answer.Header)
			}
			if diff := cmp.Diff(decoded(t, want), decoded(t, read(t, answer.Body))); diff != "" {
				t.Errorf("%s:\n%s", node, diff)
			}
		}
	})
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	must.Do(t, json.Unmarshal([]byte(text), &value))
	return value
}

// Old samples do not prevent a stop today.
func TestSafeToStopIgnoresStaleSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stopping(t)
		time.Sleep(3 * time.Minute)
		const unknown = "not known: how much of P would stay connected: collector safe_to_stop of network "
		wantStop(t, s, "free", 503, unknown+"has not run since 2000-01-01T00:00:00Z\n")
		fail(s, "safe_to_stop", metric.Target{}, outcome("info.peers", scrape.Timeout, "no answer within 10s"))
		wantStop(t, s, "free", 503, unknown+"fails: info.peers: timeout: no answer within 10s\n")
	})
}

func TestSafeToStopIsUnknownWithoutARun(t *testing.T) {
	s := newSite()
	s.Progress = func() (ran, of int) { return 3, 60 }
	wantStop(t, s, "a", 503, "not known: 3 of 60 collectors have run; a fault from "+words.ClockTime(time.Now(), time.Now().Add(5*time.Minute))+"\n")
	wantStop(t, siteWith(t, `avax_node_up{node="a"} 1`), "a", 503, "not known: how much of P would stay connected: its collector has not run here: it may be "+
		"disabled\n")
}

// A yes needs the chains of every node, a recent run that has counted each chain and each node that does not answer, and an answer of each
// other node now.
func TestSafeToStopIsUnknownUntilEverythingIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := siteWith(t, `avax_node_up{node="a"} 1`)
		put(t, s, metric.Key{Collector: "safe_to_stop"}, `avax_l1_safe_to_stop{chain="one",node_id="other"} 1`)
		all := metric.Facts{
			ValidatorSets: testworld.ValidatorSetsOf("b", map[string]map[string]float64{"a": {}}),
			Unreachable:   []string{"down"},
			Chains:        []string{"one"},
		}
		counts(s, all)
		undiscovered, chains, unreachable, silent := []string{"b"}, []string{"one", "two"}, []string{"down", "d"}, []string{"down", "c"}
		s.Undiscovered = func() []string { return undiscovered }
		s.Chains = func() []string { return slices.Clone(chains) }
		s.Unreachable = func(within time.Duration) []string {
			if within != 90*time.Second {
				t.Errorf("nodes that do not answer within %s", within)
			}
			return slices.Clone(unreachable)
		}
		s.Ask = func(ctx context.Context, _ []string) []nodes.Presence {
			if deadline, _ := ctx.Deadline(); time.Until(deadline) != 2*time.Second {
				t.Errorf("asked until %v", deadline)
			}
			return areSilent(silent...)
		}
		ready := func(status int, text string) {
			t.Helper()
			if got, body := get(t, s, "/-/ready"); got != status || body != text+"\n" {
				t.Errorf("%d %s, want %d %s", got, body, status, text)
			}
		}
		wantStop(t, s, "a", 503, "not known: the chains of b are not known yet: retry in a few seconds; a fault from 00:02 UTC\n")
		ready(503, "the chains of b are not known yet")
		time.Sleep(2 * time.Minute)
		ready(200, "ready") // the node answers, but does not tell its chains
		undiscovered = nil
		counts(s, all)
		wantStop(t, s, "a", 503, "not known: chain two is not counted yet: retry in a few seconds; a fault from 00:04 UTC\n")
		chains = []string{"one"}
		wantStop(t, s, "a", 503, "not known: d stopped answering and still counts as connected: retry in a few seconds; a fault from 00:04 UTC\n")
		unreachable = nil
		wantStop(t, s, "a", 503, "not known: c did not answer within 2 s and counts as connected: retry in a few seconds\n")
		silent = []string{"down"}
		time.Sleep(90 * time.Second)
		wantStop(t, s, "a", 200, "yes: it validates no monitored chain\n")
		time.Sleep(time.Second)
		fail(s, "safe_to_stop", metric.Target{}, outcome("info.peers", scrape.Timeout, "no answer within 10s"))
		wantStop(t, s, "a", 503, "not known: the last answer is 91 s old: ")
	})
}

// A card must not say yes while /safe-to-stop does not: both give one verdict.
func TestCardsSayWhatSafeToStopSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stopping(t)
		sourced(t, s, group())
		for situation, change := range map[string]func(){
			"settled":                      func() {},
			"a node has stopped answering": func() { s.Unreachable = func(time.Duration) []string { return []string{"needed"} } },
			"a chain was added":            func() { s.Chains = func() []string { return []string{"three"} } },
		} {
			s.Unreachable, s.Chains = func(time.Duration) []string { return nil }, func() []string { return nil }
			change()
			page := read(t, ask(t, s, http.MethodGet, "/").Body)
			for _, node := range []string{"free", "needed", "idle", "silent", "half", "torn"} {
				status, _ := get(t, s, "/safe-to-stop?hold=false&node="+node)
				_, card, _ := strings.Cut(page, `id="node-`+node+`"`)
				_, cell, _ := strings.Cut(card, "<dt>Safe to stop</dt>")
				cell, _, _ = strings.Cut(cell, "</dd>")
				want := map[int]string{http.StatusOK: ">yes", http.StatusConflict: ">no"}[status]
				if !strings.HasSuffix(cell, orDash(want)) {
					t.Errorf("%s: %s: the card says %q, /safe-to-stop %d", situation, node, cell, status)
				}
			}
		}
	})
}

func orDash(text string) string {
	if text == "" {
		return ">–"
	}
	return text
}

// A verdict is about what the client asks, or there is none: a second node, or a misspelled limit, is an error.
func TestVerdictsAcceptOnlyTheirParametersOnce(t *testing.T) {
	s := newSite()
	for path, want := range map[string]string{
		"/safe-to-stop?node=a&node=b":                 "parameter node occurs 2 times: write it once",
		"/safe-to-stop?node=a&nodes=b":                `unknown parameter "nodes": the parameters are node`,
		"/safe-to-stop?node=a;node=b":                 "separate them with &",
		"/is-back?node=a&node=b":                      "parameter node occurs 2 times",
		"/is-back?node=a&since=1":                     `unknown parameter "since": the parameters are node, after`,
		"/is-back?node=a&after=-1":                    "after: write Unix seconds",
		"/safe-to-remove?validation=a&validation=b":   "parameter validation occurs 2 times",
		"/safe-to-remove?validation=a&node=b":         `unknown parameter "node"`,
		"/serving?node=a&chain=C&block=1":             `unknown parameter "block": the parameters are node, chain, blocks, seconds`,
		"/serving?node=a&chain=C&blocks=5&blocks=500": "parameter blocks occurs 2 times",
		"/serving?node=a&chain=C&chain=P":             "parameter chain occurs 2 times",
		"/waves?nodes=a":                              `unknown parameter "nodes": the parameters are node`,
	} {
		answer := ask(t, s, http.MethodGet, path)
		if text := read(t, answer.Body); answer.StatusCode != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want 400 %s", path, answer.StatusCode, text, want)
		}
	}
	if answer := ask(t, s, http.MethodGet, "/waves?node=a&node=b"); answer.StatusCode == http.StatusBadRequest {
		t.Errorf("/waves about two nodes: %s", read(t, answer.Body))
	}
}

// Each question of /waves gets its own answer, also within a second: two names are not one with a space, and an empty name is not all nodes.
func TestWavesAnswerWhatIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stopping(t)
		handler := s.Handler()
		for _, test := range []struct {
			query string
			want  int
			text  string
		}{
			{"?node=free%20idle", 404, "unknown node"}, {"?node=free&node=idle", 200, "yes: 2 nodes may stop in "}, {"?node=free%20idle", 404, "unknown node"},
			{"?node=", 400, "node: empty name: write"}, {"?node=free&node=", 400, "node: empty name"}, {"?", 409, "no: 4 nodes cannot stop; 2 nodes may stop in "},
			{"?node=needed", 409, "no: 1 node cannot stop\ncannot stop: needed: one: 75 %"}, {"?node=half", 503, "not known: whether 1 node may stop\ncannot stop: half: "},
		} {
			if answer := answerOf(t, handler, "/waves"+test.query+"&hold=false"); answer.Code != test.want || !strings.HasPrefix(answer.Body.String(), test.text) {
				t.Errorf("%s: %d %s, want %d %s", test.query, answer.Code, answer.Body, test.want, test.text)
			}
		}
		time.Sleep(10 * time.Second)
		s.Ask = func(context.Context, []string) []nodes.Presence { return areSilent("needed") }
		const silent = "not known: needed did not answer within 2 s and counts as connected: retry in a few seconds\n"
		if answer := answerOf(t, handler, "/waves?node=free&hold=false"); answer.Code != 503 || answer.Body.String() != silent {
			t.Errorf("with a node that hangs: %d %s", answer.Code, answer.Body)
		}
	})
}
