package status

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// What is not known yet says from when on that is a fault. Then it says for how long, and what to do, and no longer that it is a matter of seconds.
func TestNotYetEnds(t *testing.T) {
	counted := run(t, StopCollector, `avax_l1_safe_to_stop{chain="one",node_id="other"} 1`)
	counted.Facts = metric.Facts{Chains: []string{"one"}, ValidatorSets: testworld.ValidatorSetsOf("b", map[string]map[string]float64{"a": {"P": 0.99}, "b": {"P": 0.99}})}
	of := func(collector, lines string) metric.Run {
		r := run(t, collector, lines)
		r.Target.Node, r.Period = "a", time.Hour
		return r
	}
	up := of("up", `avax_node_up{node="a"} 1`)
	up.Facts.Since = now
	chains := of("bootstrap", `avax_node_chain_bootstrapped{node="a",chain="P"} 1`)
	late, undiscovered, added, silent := settled, settled, settled, settled
	late.Nodes = func() []string { return []string{"a"} }
	late.Progress = func() (int, int) { return 3, 7 }
	undiscovered.Undiscovered = func() []string { return []string{"a"} }
	added.Chains = func() []string { return []string{"one", "three"} }
	silent.Unreachable = func(time.Duration) []string { return []string{"a"} }
	back := func(st *Status) string { _, a := st.IsBack("a", time.Time{}); return a.Reason }
	stop := func(st *Status) string { _, a := st.SafeToStop("a"); return a.Reason }
	for name, c := range map[string]struct {
		pool Pool
		ask  func(*Status) string
		runs []metric.Run
	}{
		"waves":                            {late, func(st *Status) string { _, a := st.Waves([]string{"a"}); return a.Reason }, nil},
		"a node of which nothing is known": {late, func(st *Status) string { _, a := st.SafeToStop("nobody"); return a.Reason }, nil},
		"a validation":                     {late, func(st *Status) string { _, a := st.SafeToRemove("none"); return a.Reason }, nil},
		"a plan":                           {late, func(st *Status) string { _, no := st.Plan("one", 30); return no.Error }, nil},
		"is-back":                          {late, back, []metric.Run{up, chains}},
		"its chains are not told":          {settled, back, []metric.Run{up}},
		"chains not discovered":            {undiscovered, stop, []metric.Run{up, counted}},
		"a chain that is added":            {added, stop, []metric.Run{up, counted}},
		"a node that went silent":          {silent, stop, []metric.Run{up, counted}},
		"a node that was not read":         {late, func(st *Status) string { return st.Node("a").State.Text + ": " + st.Node("a").State.Err.Error() }, nil},
	} {
		restarts := &Restarts{}
		restarts.nodes, restarts.told, restarts.waits = map[string]*presence{"a": {chains: map[string]bool{"P": true, "one": true}}}, map[string]told{}, map[string]turn{}
		var first, last string
		for after := time.Duration(0); after <= 6*time.Minute; after += time.Minute {
			its := c.runs
			for i := range its {
				its[i].At, its[i].Until = now.Add(after-time.Second), now.Add(time.Hour)
			}
			c.pool.Restarts = restarts
			st := in(c.pool, now.Add(after), nil, its...)
			restarts.See(st)
			if last = c.ask(st); after == 0 {
				first = last
			}
		}
		if !strings.Contains(first, "; a fault from 1") {
			t.Errorf("%s: no end: %s", name, first)
		}
		if !regexp.MustCompile(` for \d+ min: ...`).MatchString(last) || strings.Contains(last, "retry in") || strings.Contains(last, "a fault from") {
			t.Errorf("%s: it does not end: %s", name, last)
		}
	}
}

// Each text that says not yet, or starting, is known here, with what ends it.
func TestEveryTextThatSaysNotYetHasAnEnd(t *testing.T) {
	ends := map[string]string{
		"No collector has run yet": "the headline", "Starting": "the headline, a fault after five minutes", "nobody yet": "two minutes", "no alert yet": "the alert",
		"The alert rules have not been evaluated yet. From ": "its own end", "not yet": "evaluatedPatience", "starting": "startTime",
		"All nodes here agree. Whether the chain is idle or has halted cannot be told apart yet. Send a transaction: if no block follows, it has halted.": "the user",
		"the chains of %s are not known yet\n": "maxDiscovery", "%w: not every collector has run yet": "startTime",
		"does not fire yet: the fault lasts for ": "the time at which it pages", "not sent yet: %d messages a minute are accepted: %w": "the next minute",
		"node %s does not run chain C: it is not created yet, or its VM did not start": "the other cause", "not known yet ": "notYet", " yet": "soon",
		" has another node ID now, whose validator sets are not counted yet": "the next run, or its age", "not read yet": "Starting",
	}
	yet := regexp.MustCompile(`\byet\b|\b[Ss]tarting\b`)
	for _, dir := range []string{".", "../web", "../app", "../notify", "../explain"} {
		for _, file := range must.Get(filepath.Glob(filepath.Join(dir, "*.go")))(t) {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			ast.Inspect(must.Get(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t), func(n ast.Node) bool {
				if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && yet.MatchString(text) && ends[text] == "" {
						t.Errorf("%s: %q: what ends it? Use Status.notYet", file, text)
					}
				}
				return true
			})
		}
	}
}
