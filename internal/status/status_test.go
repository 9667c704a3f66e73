package status

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// run returns a good run of a minute ago with these samples.
func run(t *testing.T, collector, lines string) metric.Run {
	t.Helper()
	return metric.Run{
		Key: metric.Key{Collector: collector}, At: now.Add(-time.Minute), Period: time.Minute, Until: now.Add(2 * time.Minute), Chunks: testworld.Chunks(t, lines),
	}
}

// at returns the status at a time after these runs, with a pool of which everything is known.
func at(when time.Time, given map[string]map[string]string, runs ...metric.Run) *Status {
	return in(settled, when, given, runs...)
}

func in(pool Pool, when time.Time, given map[string]map[string]string, runs ...metric.Run) *Status {
	store := metric.NewStore()
	for _, r := range runs {
		store.Put(r)
	}
	pool.Labels = func() map[string]map[string]string { return given }
	return Of(store.Jobs(), when, pool)
}

// settled is a pool of which everything is known.
var settled = Pool{
	Progress:     func() (int, int) { return 1, 1 },
	Answered:     func(string) time.Time { return now.Add(-90 * time.Second) },
	Undiscovered: func() []string { return nil },
	Chains:       func() []string { return nil },
	Unreachable:  func(time.Duration) []string { return nil },
}

// A misspelled family or label does not start the program.
func TestWrongNamesDoNotStart(t *testing.T) {
	for _, f := range [][]string{{"avax_node_upp", "node"}, {"avax_node_up", "nod"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v is accepted", f)
				}
			}()
			read(f[0], f[1:]...)
		}()
	}
}

// What no run reported is absent, and what has expired too: never zero.
func TestAbsentIsNotZero(t *testing.T) {
	up := run(t, "up", `
		avax_node_up{node="a"} 1
		avax_node_info{node="a",node_id="NodeID-a",version="v1"} 1
		avax_l1_weight{chain="one"} 100
		avax_l1_validator_weight{chain="one",node_id="NodeID-a",validation_id="va"} 50
		avax_validator_present{node_id="NodeID-a"} 1
		avax_delegation_end_timestamp_seconds{tx_id="t",node_id="NodeID-a",name="treasury"} 1
		avax_observer_info{node="o"} 1`)
	st := at(now, nil, up)
	n, l, v, d, o := st.Nodes[0], st.L1s[0], st.Validators[0], st.Delegations[0], st.Observers[0]
	for name, value := range map[string]Value{
		"votes": n.Votes, "peers": n.Peers, "safe to stop": n.SafeToStop, "connected weight": l.ConnectedWeight, "active weight": l.ActiveWeight,
		"share": l.ActiveWeight.Of(l.Weight), "share of nothing": l.Weight.Of(Value{Known: true}), "balance": l.Validators[0].Balance,
		"uptime": v.Uptime(), "votes for the validator": st.VotesOf(v), "reward": d.Reward, "observer up": o.ObserverUp, "unknown node": st.Node("b").Peers,
	} {
		if value.Known || value.Is(0) || value.Text(func(float64) string { return "a number" }) != "–" {
			t.Errorf("%s: %+v", name, value)
		}
	}
	if expired := at(now.Add(time.Hour), nil, up); len(expired.Nodes)+len(expired.L1s)+len(expired.Validators)+len(expired.Delegations)+
		len(expired.Observers) > 0 {
		t.Errorf("an hour later: %d nodes", len(expired.Nodes))
	} else if id := expired.IDOf("a"); id != "NodeID-a" {
		t.Errorf("node ID an hour later: %q", id)
	}
}

func TestValuesHaveTheTimeOfTheirRun(t *testing.T) {
	st := at(now, nil, run(t, "up", `avax_node_up{node="a"} 1`))
	if got := st.Nodes[0].Up.At; !got.Equal(now.Add(-time.Minute)) {
		t.Errorf("%s", got)
	}
}

func TestStatesOfNodes(t *testing.T) {
	failed := func(err error) metric.Run {
		return metric.Run{Key: metric.Key{Collector: "peers", Target: metric.Target{Node: "a"}}, At: now, Until: now, Err: err}
	}
	good, errUnread := failed(nil), errors.New("x")
	good.Until = now.Add(time.Minute)
	for name, c := range map[string]struct {
		lines string
		runs  []metric.Run
		want  State
	}{
		"up":            {`avax_node_up{node="a"} 1`, nil, State{Severity: Well, Text: "up"}},
		"no answer":     {`avax_node_up{node="a"} 0`, nil, State{Severity: Bad, Text: "no answer for 90 s", NoAnswer: true}},
		"bootstrapping": {"avax_node_up{node=\"a\"} 1\navax_node_chain_bootstrapped{node=\"a\",chain=\"C\"} 0", nil, State{Severity: Warn, Text: "bootstrapping C"}},
		"unhealthy": {
			"avax_node_up{node=\"a\"} 1\navax_node_health_check_failing{node=\"a\",check=\"P\"} 1\navax_node_health_check_failing{node=\"a\",check=\"X\"} 0",
			nil, State{Severity: Warn, Text: "unhealthy: 1 check fails"},
		},
		"a node of which something is unread": {`avax_node_up{node="a"} 1`, []metric.Run{failed(errUnread)},
			State{Severity: Note, Text: "up; no data of peers", Err: errUnread}},
		"a collector of a node that is up fails, and its samples are valid": {`avax_node_up{node="a"} 1`, []metric.Run{good, failed(errUnread)},
			State{Severity: Well, Text: "up"}},
		"a node that does not offer something": {`avax_node_up{node="a"} 1`, []metric.Run{failed(metric.ErrNotOffered)}, State{Severity: Well, Text: "up"}},
	} {
		st := at(now, nil, append(c.runs, run(t, "up", c.lines))...)
		if diff := cmp.Diff(c.want, st.Nodes[0].State, cmpopts.EquateErrors(), cmpopts.IgnoreFields(State{}, "Do", "Since"), cmpopts.IgnoreUnexported(State{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// stopping are the samples of three nodes: free can stop, needed cannot, and about half nothing is known but its stake.
const stopping = `
	avax_l1_safe_to_stop{chain="one",node_id="NodeID-half"} 1
	avax_l1_safe_to_stop{chain="one",node_id="NodeID-stranger"} 1
	avax_l1_safe_to_stop{chain="two",node_id="NodeID-outsider"} 0`

func TestSafeToStop(t *testing.T) {
	up := run(t, "up", `
		avax_node_up{node="free"} 1
		avax_node_up{node="needed"} 1
		avax_node_up{node="half"} 1
		avax_node_up{node="odd"} 1
		avax_node_info{node="free",node_id="NodeID-free"} 1
		avax_node_info{node="half",node_id="NodeID-half"} 1`)
	stop := run(t, StopCollector, stopping)
	stop.Facts = metric.Facts{Chains: []string{"one"}, ValidatorSets: testworld.ValidatorSetsOf("needed", map[string]map[string]float64{
		"free": {"P": 0.99, "one": 0.8}, "needed": {"P": 0.99, "one": 0.7999}, "half": {"P": 0.99, "three": 0}, "rpc": {"one": 0.8}, "more": {"P": 0.99}, "idle": {},
	})}
	stop.Facts.ValidatorSets.Uncounted = map[string]string{"more": "two is not monitored: set AVAX_CHAINS=C,auto"}
	given := map[string]map[string]string{"NodeID-outsider": {"name": "out"}}
	late := settled
	late.Progress = func() (int, int) { return 3, 7 }
	undiscovered := settled
	undiscovered.Undiscovered = func() []string { return []string{"half"} }
	added := settled
	added.Chains = func() []string { return []string{"one", "three"} }
	silent := settled
	silent.Unreachable = func(time.Duration) []string { return []string{"needed"} }
	for _, c := range []struct {
		name, node string
		pool       Pool
		when       time.Time
		want       Verdict
		reason     string
	}{
		{"enough stays", "free", settled, now, Yes, "yes: without it 80 % of the weight of one would stay connected, 80 % is needed, as needed sees it"},
		{"validates nothing", "idle", settled, now, Yes, "yes: it validates no monitored chain"},
		{"by node ID", "NodeID-free", settled, now, Yes, "yes: without it 80 %"},
		{"too little stays", "needed", settled, now, No, "no: one: 79.99 % of weight would stay connected, 80 % is needed"},
		{"not counted yet", "odd", settled, now, Unknown, "not known: how much of P would stay connected: the last runs did not report it"},
		{"no validator of P", "rpc", settled, now, Yes, "yes: without it 80 % of the weight of one would stay connected, 80 % is needed, as needed sees it; " +
			"it does not validate P: its stop changes nothing there"},
		{"validates a chain that is not monitored", "more", settled, now, Unknown, "not known: two is not monitored: set AVAX_CHAINS=C,auto"},
		{"validator by its name", "out", settled, now, No, "no: two: less than 80 % of weight would stay connected"},
		{"stake of a stranger", "NodeID-stranger", settled, now, Unknown, "not known: its L1s would stay above 80 %"},
		{"share not known", "half", settled, now, Unknown, "not known: how much of three would stay connected: the last runs did not report it"},
		{"chains of a node not known", "free", undiscovered, now, Unknown, "not known: the chains of half are not known yet"},
		{"a chain was added", "free", added, now, Unknown, "not known: chain three is not counted yet"},
		{"a node has stopped answering", "free", silent, now, Unknown, "not known: needed stopped answering and still counts as connected"},
		{"old run", "free", settled, now.Add(time.Minute), Unknown, "not known: the last answer is 2 min old"},
		{"no name", "", settled, now, Invalid, "no node: write /safe-to-stop?node=NAME"},
		{"unknown name", "nobody", settled, now, NotFound, "unknown node: the nodes are free, half, needed and 1 more"},
		{"unknown name while starting", "nobody", late, now, Unknown, "not known: 3 of 7 collectors have run"},
	} {
		verdict, answer := in(c.pool, c.when, given, up, stop).SafeToStop(c.node)
		if verdict != c.want || !strings.HasPrefix(answer.Reason, c.reason) {
			t.Errorf("%s: verdict %d, %q; want %d, %q", c.name, verdict, answer.Reason, c.want, c.reason)
		}
		if (answer.Safe != nil) != (verdict == Yes || verdict == No) || answer.Safe != nil && *answer.Safe != (verdict == Yes) {
			t.Errorf("%s: safe %v with verdict %d", c.name, answer.Safe, verdict)
		}
	}
}

// Before a node with plugins is upgraded to the release of another node, the answer tells that the plugins must speak its protocol.
func TestSafeToStopTellsOfANewerProtocol(t *testing.T) {
	stop := run(t, StopCollector, `avax_l1_safe_to_stop{chain="one",node_id="other"} 1`)
	stop.Facts = metric.Facts{
		Chains:        []string{"one"},
		ValidatorSets: testworld.ValidatorSetsOf("x", map[string]map[string]float64{"old": {"P": 0.99}, "new": {"P": 0.99}, "plain": {"P": 0.99}}),
	}
	up := run(t, "up", `
		avax_node_up{node="old"} 1
		avax_node_up{node="new"} 1
		avax_node_up{node="plain"} 1
		avax_node_info{node="old",node_id="NodeID-old",rpc_protocol_version="46"} 1
		avax_node_info{node="new",node_id="NodeID-new",rpc_protocol_version="47"} 1
		avax_node_info{node="plain",node_id="NodeID-plain",rpc_protocol_version="46"} 1
		avax_node_chain_bootstrapped{node="old",chain="one"} 1
		avax_node_chain_bootstrapped{node="new",chain="one"} 1
		avax_node_chain_bootstrapped{node="plain",chain="C"} 1`)
	for node, told := range map[string]bool{"old": true, "new": false, "plain": false} {
		verdict, answer := at(now, nil, up, stop).SafeToStop(node)
		const text = "; new runs RPC protocol 47, old 46: before an upgrade to the release of new, install plugins with protocol 47 for one"
		if verdict != Yes || strings.HasSuffix(answer.Reason, text) != told || strings.Contains(answer.Reason, "protocol") != told {
			t.Errorf("%s: %d %s", node, verdict, answer.Reason)
		}
	}
}

func TestSafeToRemove(t *testing.T) {
	const l1 = `
		avax_l1_weight{chain="one"} 100
		avax_l1_validator_weight{chain="one",node_id="NodeID-a",validation_id="a"} 15
		avax_l1_validator_weight{chain="one",node_id="NodeID-b",validation_id="b"} 50
		avax_l1_validator_active{chain="one",node_id="NodeID-a",validation_id="a"} 0
		avax_l1_validator_active{chain="one",node_id="NodeID-b",validation_id="b"} 1
		avax_l1_proposers_left{chain="one"} 2
		avax_l1_proposer_can_build{chain="one",node_id="NodeID-a"} 1
		avax_l1_safe_to_stop{chain="one",node_id="NodeID-a"} 1
		avax_l1_safe_to_stop{chain="one",node_id="NodeID-b"} 0`
	without := func(words ...string) string {
		var kept []string
		for text := range strings.Lines(l1) {
			if !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) }) {
				kept = append(kept, text)
			}
		}
		return strings.Join(kept, "")
	}
	for _, c := range []struct {
		name, lines, validation string
		want                    Verdict
		reason                  string
	}{
		{"inactive", l1, "a", Yes, "yes: without it 100 % of the remaining weight of one is connected, 80 % is needed; if its balance runs out instead, 85 %"},
		{"by its name", l1, "game", Yes, "yes: without"},
		{"by its node ID", l1, "NodeID-a", Yes, "yes: without it 100 %"},
		{"by the name of its node", l1 + `
		avax_node_up{node="alpha"} 1
		avax_node_info{node="alpha",node_id="NodeID-b"} 1`, "alpha", No, "no: one: 70 % of the remaining weight would be connected"},
		{"by the name of a node with two validations", l1 + `
		avax_node_up{node="alpha"} 1
		avax_node_info{node="alpha",node_id="NodeID-b"} 1
		avax_l1_weight{chain="two"} 100
		avax_l1_validator_weight{chain="two",node_id="NodeID-b",validation_id="b2"} 50`, "alpha", NotFound,
			"alpha has several validations: write the validation ID of one: b (one), b2 (two)"},
		{"of a permissioned subnet, which has no balances", l1 + `
		avax_l1_validator_end_timestamp_seconds{chain="one",node_id="NodeID-a",validation_id="a"} 4102444800`, "a", Yes,
			"yes: without it 100 % of the remaining weight of one is connected, 80 % is needed; validators that can build the next block without it: 1"},
		{"half of the weight", l1, "b", No, "no: one: 70 % of the remaining weight would be connected, 80 % is needed"},
		{"last proposer", strings.Replace(l1, "left{chain=\"one\"} 2", "left{chain=\"one\"} 1", 1), "a", No,
			"no: no other validator of one can build the next block"},
		{"weight not known", without("l1_weight"), "a", Unknown, "not known: how much weight would stay connected"},
		{"proposers not known", without("proposers_left"), "a", Unknown, "not known: who can build the next block"},
		{"not counted", l1 + `
		avax_l1_validator_weight{chain="one",node_id="NodeID-d",validation_id="d"} 5`, "d", Unknown, "not known: how much weight would stay connected"},
		{"no name", l1, "", Invalid, "no validation: write"},
		{"unknown", l1, "c", NotFound, "unknown validation: no monitored chain has it"},
	} {
		stop := run(t, StopCollector, "")
		stop.Facts = metric.Facts{Chains: []string{"one"}, ValidatorSets: testworld.ValidatorSetsOf("x", map[string]map[string]float64{
			"a": {"one": 0.85}, "b": {"one": 0.35}, "d": {"one": 0}, "alpha": {},
		})}
		delete(stop.Facts.ValidatorSets.Nodes, "b")
		st := at(now, map[string]map[string]string{"a": {"name": "game"}}, run(t, "l1", c.lines), stop)
		verdict, answer := st.SafeToRemove(c.validation)
		reason := strings.Replace(answer.Reason, "without game ", "without it ", 1)
		if verdict != c.want || !strings.HasPrefix(reason, c.reason) {
			t.Errorf("%s: verdict %d, %q; want %d, %q", c.name, verdict, reason, c.want, c.reason)
		}
	}
}

// After a yes, an operator removes the validator and stops its node: what forbids the stop forbids the removal, except on the chain that the validator leaves.
func TestRemovalIsSafeOnlyIfTheNodeMayStop(t *testing.T) {
	const l1 = `
		avax_l1_weight{chain="one"} 100
		avax_l1_validator_weight{chain="one",node_id="NodeID-alpha",validation_id="a"} 20
		avax_l1_validator_active{chain="one",node_id="NodeID-alpha",validation_id="a"} 1
		avax_l1_proposers_left{chain="one"} 2
		avax_l1_safe_to_stop{chain="one",node_id="NodeID-alpha"} 0`
	const own = `
		avax_node_info{node="alpha",node_id="NodeID-alpha"} 1`
	// Without alpha, 65 % of all weight of one stays, and 81.25 % of the remaining weight.
	shares := func(two, p float64) map[string]map[string]float64 {
		return map[string]map[string]float64{"alpha": {"one": 0.65, "two": two, "P": p}, "other": {"one": 0.9}}
	}
	// The run has counted the weight of alpha's validator, but not alpha.
	onlyWeight := func(f *metric.Facts, _ *Restarts) { f.ValidatorSets.Sets[0].Left["NodeID-alpha"] = 0.65 }
	for _, c := range []struct {
		name, lines string
		up          string // of alpha
		shares      map[string]map[string]float64
		change      func(facts *metric.Facts, st *Restarts)
		want        Verdict
		reason      string
	}{
		{"nothing forbids the stop", l1 + own, "1", shares(0.8, 0.8), nil, Yes, "yes: without alpha 81.25 %"},
		{"another L1", l1 + own, "1", shares(0.79, 0.9), nil, No, "no: its node must not stop: two: 79 % of weight would stay connected, 80 % is needed"},
		{"the primary network", l1 + own, "1", shares(0.9, 0.79), nil, No, "no: its node must not stop: P: 79 % of stake would stay connected"},
		{"another L1 is not known", l1 + own, "1", shares(0, 0.9), nil, Unknown, "not known: how much of two would stay connected"},
		{"an L1 is not monitored", l1 + own, "1", shares(0.9, 0.9), func(f *metric.Facts, _ *Restarts) {
			f.ValidatorSets.Uncounted = map[string]string{"alpha": "three is not monitored"}
		}, Unknown, "not known: three is not monitored"},
		{"not counted yet", l1 + own, "1", map[string]map[string]float64{"other": {"one": 0.9}}, onlyWeight, Unknown, "not known: how much of P would stay connected"},
		{"its node is down", l1 + own, "0", map[string]map[string]float64{"other": {"one": 0.9}}, onlyWeight, Yes, "yes: without alpha 81.25 %"},
		{"another node is not back", l1 + own, "1", shares(0.9, 0.9), func(_ *metric.Facts, r *Restarts) {
			r.See(at(now, nil, run(t, "up", "avax_node_up{node=\"bravo\"} 0")))
		}, No, "no: its node must not stop: bravo has not answered since the exporter started"},
		{"a balance ends within a minute", l1 + own, "1", shares(0.9, 0.9), func(f *metric.Facts, _ *Restarts) {
			for i := range f.ValidatorSets.Sets {
				if s := &f.ValidatorSets.Sets[i]; s.Chain == "one" {
					s.Views[0].Up["NodeID-poor"] = 5
					s.Ends = []staking.Ending{
						{NodeID: "NodeID-poor", Weight: 5, At: now.Add(30 * time.Second)},
						{NodeID: "NodeID-away", Weight: 5, At: now}, // is not connected
						{NodeID: "NodeID-alpha", Weight: 20, At: now},
					}
				}
			}
		}, No, "no: one: 75 % of the remaining weight would be connected"},
		{"a node that is not configured: only its L1s are known", l1, "1", shares(0.9, 0.79), nil, Yes, "yes: without it 81.25 %"},
		{"a stranger with another L1", l1 + `
		avax_l1_safe_to_stop{chain="two",node_id="NodeID-alpha"} 0`, "1", shares(0.9, 0.9), nil, No, "no: its node must not stop: two: less than 80 %"},
	} {
		stop := run(t, StopCollector, c.lines)
		stop.Facts = metric.Facts{Chains: []string{"one"}, ValidatorSets: testworld.ValidatorSetsOf("x", c.shares)}
		restarts := &Restarts{}
		if c.change != nil {
			c.change(&stop.Facts, restarts)
		}
		st := at(now, nil, stop, run(t, "up", "avax_node_up{node=\"alpha\"} "+c.up+"\navax_node_up{node=\"bravo\"} 1"))
		st.restarts = restarts
		if verdict, answer := st.SafeToRemove("a"); verdict != c.want || !strings.HasPrefix(answer.Reason, c.reason) {
			t.Errorf("%s: verdict %d, %q; want %d, %q", c.name, verdict, answer.Reason, c.want, c.reason)
		}
	}
}

// A node that was up when the exporter started is back only if its chains, its health and its stake are known, as far as a collector reads them.
func TestNodeIsBackOnlyIfItsStateIsKnown(t *testing.T) {
	of := func(collector, lines string) metric.Run {
		r := run(t, collector, lines)
		r.Target.Node = "a"
		return r
	}
	failing := func(collector string, err error) metric.Run {
		r := of(collector, "")
		r.Err = err
		return r
	}
	up, chains := of("up", `avax_node_up{node="a"} 1`), of("bootstrap", `avax_node_chain_bootstrapped{node="a",chain="P"} 1`)
	healthy, stake := of("health", `avax_node_healthy{node="a"} 1`), of("connected_stake", `avax_node_connected_stake_ratio{node="a"} 0.9`)
	errCall := errors.New("HTTP status 503")
	late := settled
	late.Progress = func() (int, int) { return 3, 7 }
	for _, c := range []struct {
		name   string
		pool   Pool
		runs   []metric.Run
		want   Verdict
		reason string
	}{
		{"all is known", settled, []metric.Run{up, chains, healthy, stake}, Yes, "yes: a is back: bootstrapped on P, healthy, connected to 90 % of the stake"},
		{"only that it answers", settled, []metric.Run{up}, Unknown, "not known: which chains of a are bootstrapped: its collector has not run here"},
		{"nothing but the version", settled, []metric.Run{up, failing("bootstrap", errCall), failing("health", errCall)}, Unknown,
			"not known: which chains of a are bootstrapped: collector bootstrap of a fails: HTTP status 503"},
		{"its health cannot be read", settled, []metric.Run{up, chains, failing("health", errCall), stake}, Unknown, "not known: whether a is healthy: collector health"},
		{"its peers cannot be read", settled, []metric.Run{up, chains, healthy, failing("connected_stake", errCall)}, Unknown, "not known: how much stake a is"},
		{"it offers no health", settled, []metric.Run{up, chains, failing("health", metric.ErrNotOffered), stake}, Yes, "yes: a is back: bootstrapped on P, connected"},
		{"only bootstrap is enabled", settled, []metric.Run{up, chains}, Yes, "yes: a is back: bootstrapped on P"},
		{"the collectors start", late, []metric.Run{up, chains}, Unknown, "not known: 3 of 7 collectors have run"},
	} {
		restarts := &Restarts{}
		st := in(c.pool, now, nil, c.runs...)
		restarts.See(st)
		if verdict, answer := st.IsBack("a", time.Time{}); verdict != c.want || !strings.HasPrefix(answer.Reason, c.reason) || (answer.Back != nil) != (c.want != Unknown) {
			t.Errorf("%s: verdict %d, %q; want %d, %q", c.name, verdict, answer.Reason, c.want, c.reason)
		}
	}
}

// The page says since when a chain bootstraps only if the exporter has seen the node with the chain bootstrapped.
func TestBootstrapFromBeforeTheStartHasNoBegin(t *testing.T) {
	seen := func(restarts *Restarts, when time.Duration, bootstrapped string) time.Time {
		up, chains := run(t, "up", `avax_node_up{node="a"} 1`), run(t, "bootstrap", `avax_node_chain_bootstrapped{node="a",chain="P"} `+bootstrapped)
		up.Target.Node = "a"
		for _, r := range []*metric.Run{&up, &chains} {
			r.At, r.Until = now.Add(when), now.Add(when+time.Minute)
		}
		st := at(now.Add(when), nil, up, chains)
		restarts.See(st)
		return st.Nodes[0].State.Since
	}
	before, after := &Restarts{}, &Restarts{}
	for _, when := range []time.Duration{0, 5 * time.Second, time.Minute} {
		if since := seen(before, when, "0"); !since.IsZero() {
			t.Errorf("%s after the start: since %s", when, since)
		}
	}
	seen(after, 0, "1")
	for _, when := range []time.Duration{5 * time.Second, time.Minute} {
		if since := seen(after, when, "0"); !since.Equal(now.Add(5 * time.Second)) {
			t.Errorf("%s after it was complete: since %s", when, since)
		}
	}
}

// A chain that bootstraps pages if it was bootstrapped before, and not in its first bootstrap.
func TestFirstBootstrapAnnouncesNoPage(t *testing.T) {
	rule := alerting.Rule{Name: "Bootstraps", Query: "avax_node_chain_bootstrapped == 0", Annotations: map[string]string{"pages_within": "10m"}}
	al := &Alerts{Groups: []alerting.Group{{Interval: 15, Rules: []alerting.Rule{rule}}}, families: map[*alerting.Rule]string{}}
	for samples, want := range map[string]time.Duration{
		`avax_node_chain_bootstrapped{node="a",chain="P"} 0`: 10*time.Minute + 15*time.Second,
		`avax_node_chain_bootstrapped{node="a",chain="P"} 1
avax_node_chain_bootstrapped{node="a",chain="L"} 0`: 0,
		`avax_node_chain_bootstrapped{node="a",chain="P"} 1`: 0,
	} {
		var restarts Restarts
		var times *Times
		for i, chains := range []string{`avax_node_chain_bootstrapped{node="a",chain="P"} 1`, samples} {
			up, bootstrap := run(t, "up", `avax_node_up{node="a"} 1`), run(t, "bootstrap", chains)
			up.Target.Node, bootstrap.Target.Node = "a", "a"
			then := now.Add(time.Duration(i) * time.Minute)
			for _, r := range []*metric.Run{&up, &bootstrap} {
				r.At, r.Until = then, then.Add(time.Minute)
			}
			st := at(then, nil, up, bootstrap)
			restarts.See(st)
			times = st.Expect(al, nil)[[2]string{"Bootstraps", "a"}]
		}
		if want == 0 && times != nil || want > 0 && (times == nil || times.Pages.Sub(times.Since) != want) {
			t.Errorf("%s: %v, want %v", samples, times, want)
		}
	}
}

// A node that lacks peers itself does not know whether a validator is connected.
func TestIsolatedNodesDoNotCountAsViewers(t *testing.T) {
	for share, want := range map[string]string{"0.04": "", "0.95": "not connected"} {
		st := at(now, nil, run(t, "a", `
			avax_node_up{node="a"} 1
			avax_node_connected_stake_ratio{node="a"} `+share+`
			avax_validator_present{node_id="NodeID-1"} 1
			avax_validator_connected{node_id="NodeID-1",node="a"} 0`))
		if fact := st.ValidatorOf("NodeID-1").Fact(); fact.Text != want {
			t.Errorf("connected to %s of the stake: %q, want %q", share, fact.Text, want)
		}
	}
}

// What is said about a validator that is not connected is no redder than its alert: one node may be wrong, and of an L1, none pages.
func TestNotConnectedIsAsRedAsItsAlert(t *testing.T) {
	for nodes, want := range map[string]Severity{"a": Warn, "ab": Bad} {
		samples := `avax_validator_present{node_id="NodeID-1"} 1`
		for _, node := range strings.Split(nodes, "") {
			samples += "\n" + `avax_node_up{node="` + node + `"} 1` + "\n" + `avax_validator_connected{node_id="NodeID-1",node="` + node + `"} 0`
		}
		if fact := at(now, nil, run(t, "a", samples)).ValidatorOf("NodeID-1").Fact(); fact.Text != notConnected || fact.Severity != want {
			t.Errorf("nodes %q: %+v", nodes, fact)
		}
	}
	st := at(now, nil, run(t, "l1", `
		avax_node_up{node="a"} 1
		avax_l1_weight{chain="dex"} 100
		avax_l1_validator_weight{chain="dex",node_id="NodeID-1",validation_id="v"} 50
		avax_l1_validator_active{chain="dex",node_id="NodeID-1",validation_id="v"} 1
		avax_l1_validator_connected{chain="dex",node_id="NodeID-1",validation_id="v",node="a"} 0`))
	if fact := st.L1s[0].Validators[0].Fact(); fact.Text != notConnected || fact.Severity != Warn {
		t.Errorf("of an L1, about which no alert pages: %+v", fact)
	}
}

// A node that did not answer for a moment may not have restarted. Only what is known is said.
func TestSilenceIsNotCalledARestart(t *testing.T) {
	chains := run(t, "bootstrap", `avax_node_chain_bootstrapped{node="a",chain="P"} 1`)
	seen := func(when time.Duration, up string, since time.Time) *Status {
		probe := run(t, "up", `avax_node_up{node="a"} `+up)
		probe.Target.Node, probe.Facts.Since = "a", since
		for _, r := range []*metric.Run{&probe, &chains} {
			r.At, r.Until = now.Add(when), now.Add(when+time.Minute)
		}
		return at(now.Add(when), nil, probe, chains)
	}
	silent, changed := now.Add(10*time.Minute), now.Add(10*time.Minute)
	for name, c := range map[string]struct {
		then []*Status
		want string
	}{
		"it does not answer": {[]*Status{seen(10*time.Minute, "0", silent)}, "a stopped answering 60 s ago and is not back: it does not answer"},
		"it did not answer for a moment": {[]*Status{seen(10*time.Minute, "0", silent), seen(10*time.Minute+5*time.Second, "1", silent)},
			"a stopped answering 60 s ago and is not back: nothing"},
		"it answers with another version": {[]*Status{seen(10*time.Minute, "1", changed)}, "a restarted 60 s ago and is not back: nothing"},
		"it was silent, came back, restarts": {[]*Status{
			seen(5*time.Minute, "0", now), seen(6*time.Minute, "1", now), seen(9*time.Minute, "1", now), seen(10*time.Minute, "1", changed),
		}, "a restarted 60 s ago"},
	} {
		restarts := &Restarts{}
		for _, st := range append([]*Status{seen(0, "1", time.Time{})}, c.then...) {
			restarts.See(st)
		}
		up := "1"
		if strings.Contains(c.want, "does not answer") {
			up = "0"
		}
		if got := restarts.away(seen(11*time.Minute, up, silent), "b"); len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// After a staking key has moved from a node that died, its ID is that of the node that answers, whichever comes first in the alphabet.
func TestNodeIDIsThatOfTheNodeThatAnswers(t *testing.T) {
	for dead, alive := range map[string]string{"alpha": "bravo", "bravo": "alpha"} {
		info := run(t, "identity", `
			avax_node_info{node="alpha",node_id="NodeID-k"} 1
			avax_node_info{node="bravo",node_id="NodeID-k"} 1
			avax_validator_present{node_id="NodeID-k"} 1`)
		up := run(t, "up", `avax_node_up{node="`+dead+"\"} 0\navax_node_up{node=\""+alive+`"} 1`)
		stop := run(t, StopCollector, "")
		stop.Facts.ValidatorSets = testworld.ValidatorSetsOf("x", map[string]map[string]float64{alive: {"P": 0.99}})
		if verdict, answer := at(now, nil, info, up, stop).SafeToStop("NodeID-k"); verdict != Unknown || !strings.Contains(answer.Reason, alive+" has another node ID now") {
			t.Errorf("%s is dead, and its key has just moved: %d %s", dead, verdict, answer.Reason)
		}
		stop.Facts.ValidatorSets.Nodes[alive], stop.Facts.ValidatorSets.Sets[0].Members = "NodeID-k", map[string]bool{"NodeID-k": true}
		st := at(now, nil, info, up, stop)
		if st.NodeOf("NodeID-k") != alive || st.NameOf("NodeID-k", "") != alive {
			t.Errorf("%s is dead: NodeID-k is %s", dead, st.NodeOf("NodeID-k"))
		}
		if verdict, answer := st.SafeToStop("NodeID-k"); verdict != Yes {
			t.Errorf("%s is dead: %d %s", dead, verdict, answer.Reason)
		}
	}
}

// An isolated node must not decide how much weight is connected.
func TestConnectedWeightIsTheLowestOfWellConnectedNodes(t *testing.T) {
	st := at(now, nil, run(t, "l1_views", `
		avax_l1_weight{chain="one"} 100
		avax_l1_connected_weight{chain="one",node="x"} 90
		avax_l1_connected_weight{chain="one",node="y"} 80
		avax_l1_connected_weight{chain="one",node="z"} 5
		avax_node_connected_stake_ratio{node="x"} 0.9
		avax_node_connected_stake_ratio{node="y"} 0.9
		avax_node_connected_stake_ratio{node="z"} 0.1`))
	if got := st.L1s[0].ConnectedWeight; !got.Is(80) {
		t.Errorf("%+v", got)
	}
}

func TestAmountsKeepAllDigits(t *testing.T) {
	for nano, want := range map[uint64]string{
		0: "0", 1: "0.000000001", 1e9: "1", 1_500_000_000: "1.5", 10e9: "10", math.MaxUint64: "18446744073.709551615",
	} {
		if got, err := json.Marshal(Nanos(nano)); err != nil || string(got) != want {
			t.Errorf("%d: written as %s, want %s (%v)", nano, got, want, err)
		}
	}
}

// A node that has lost the key of a validator says so from its first sample. That the validator is not connected is an effect. Behind a load balancer, and after
// the key has moved to another node, no key is lost.
func TestLostKeyIsAFaultOfItsNode(t *testing.T) {
	const lost, back = "node ID changed", "up"
	for name, c := range map[string]struct {
		ids, others, want []string // of each minute
	}{
		"another key":      {[]string{"old", "new", "new", "old"}, []string{"x", "x", "x", "x"}, []string{back, lost, lost, back}},
		"the key moves":    {[]string{"old", "new", "new"}, []string{"x", "old", "old"}, []string{back, back, back}},
		"a validator both": {[]string{"old", "other", "other"}, []string{"x", "x", "x"}, []string{back, back, back}},
		"a load balancer": {
			[]string{"old", "new", "old", "new", "old", "new", "new"}, []string{"x", "x", "x", "x", "x", "x", "x"}, []string{back, lost, back, lost, back, back, back},
		},
	} {
		var restarts Restarts
		for i, id := range c.ids {
			up, info := run(t, "up", "avax_node_up{node=\"a\"} 1\navax_node_up{node=\"b\"} 1"), run(t, "identity", `
				avax_node_info{node="a",node_id="NodeID-`+id+`"} 1
				avax_node_info{node="b",node_id="NodeID-`+c.others[i]+`"} 1
				avax_validator_present{node_id="NodeID-old"} 1
				avax_validator_present{node_id="NodeID-other"} 1
				avax_validator_connected{node_id="NodeID-old",node="b"} 0`)
			then := now.Add(time.Duration(i) * time.Minute)
			for _, r := range []*metric.Run{&up, &info} {
				r.At, r.Until = then, then.Add(time.Minute)
			}
			st := at(then, nil, up, info)
			restarts.See(st)
			if got := st.Node("a").State; got.Text != c.want[i] || got.Text == lost && !strings.Contains(got.Do, "NodeID-old") {
				t.Errorf("%s, minute %d: %s: %s, want %s", name, i, got.Text, got.Do, c.want[i])
			}
			for _, f := range st.facts(&Alerts{}) {
				if c.want[i] == lost && f.Text == notConnected {
					t.Errorf("%s, minute %d: %v not connected", name, i, f.shown)
				}
			}
		}
	}
}

// A connection that fails for all calls is one failure, whether its error or its outcome says what to do.
func TestOneConnectionIsOneFailure(t *testing.T) {
	for name, cause := range map[string]error{
		"refused":     errors.New("connection refused"),
		"certificate": scrape.Advise(errors.New("the certificate has expired"), "Replace the certificate."),
	} {
		store := metric.NewStore()
		for collector, op := range map[string]string{"identity": "info.getNodeID", "heads": "platform.getHeight"} {
			store.Put(metric.Run{
				Key: metric.Key{Collector: collector, Target: metric.Target{Node: "a"}}, At: now,
				Err: &scrape.Error{Op: op, Outcome: scrape.Unreachable, Err: cause},
			})
		}
		if found := Failures(store.Jobs()); len(found) != 1 || len(found[0].Collectors) != 2 {
			t.Errorf("%s: %d failures: %+v", name, len(found), found)
		}
	}
}

// The order within a problem is that of the page: a page that is far away ranks below a warning that fires, and one that is near above it.
func TestPendingPageLeadsItsProblemOnlySoonBeforeIt(t *testing.T) {
	now := time.Unix(1e9, 0)
	for waited, want := range map[time.Duration]string{4 * time.Minute: "warn", 5 * time.Minute: "page", 9 * time.Minute: "page"} {
		rule := func(severity, state string, hold alerting.Seconds, since time.Time) alerting.Rule {
			return alerting.Rule{Name: "Lag", Type: alerting.AlertingRule, For: hold, Alerts: []alerting.Alert{
				{State: state, ActiveAt: since, Labels: map[string]string{"alertname": "Lag", "node": severity, "severity": severity}},
			}}
		}
		al := AlertsOf([]alerting.Group{{Evaluated: now, Rules: []alerting.Rule{
			rule("page", alerting.Pending, 600, now.Add(-waited)), rule("warn", alerting.Firing, 0, now.Add(-time.Hour)),
		}}}, notify.Inhibition{}, nil)
		if got := al.Problems[0].Worst().Labels["severity"]; got != want {
			t.Errorf("page in %v: %s leads, want %s", 10*time.Minute-waited, got, want)
		}
	}
}
