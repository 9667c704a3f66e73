package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// reports are the runs about a node that answers, and whose chain C has this height.
func reports(t *testing.T, node string, height int) (runs []metric.Run) {
	t.Helper()
	for collector, line := range map[string]string{
		"up":        fmt.Sprintf(`avax_node_up{node=%q} 1`, node),
		"bootstrap": fmt.Sprintf(`avax_node_chain_bootstrapped{node=%q,chain="C"} 1`, node),
		"heads":     fmt.Sprintf(`avax_chain_height{node=%q,chain="C"} %d`, node, height),
	} {
		r := run(t, collector, line)
		r.Target.Node = node
		runs = append(runs, r)
	}
	return runs
}

// One of several that claims to be ahead decides nothing. Of two, nobody knows who is right: the higher one counts, and the answer says so.
func TestOneThatClaimsToBeAheadDecidesNothing(t *testing.T) {
	for _, c := range []struct {
		heights []int // of a, b, …
		blocks  float64
		yes     string // the nodes that serve
		agreed  float64
	}{
		{[]int{1000, 1000, 1_001_000}, 10, "abc", 1000},
		{[]int{1000, 1000, 1001}, 0, "abc", 1000},
		{[]int{1000, 1000, 1000, 1_001_000, 1_001_000}, 10, "abcde", 1000},
		{[]int{900, 1000, 1000}, 10, "bc", 1000},
		{[]int{1000, 1_001_000}, 10, "b", 1_001_000},
		{[]int{1000}, 10, "a", 1000},
	} {
		var runs []metric.Run
		var names []string
		for i, height := range c.heights {
			names = append(names, string(rune('a'+i)))
			runs = append(runs, reports(t, names[i], height)...)
		}
		st := at(now, nil, runs...)
		yes := ""
		for _, name := range names {
			verdict, answer := st.Serves(name, "C", c.blocks, -1)
			if verdict == Yes {
				yes += name
				if len(names) == 2 && !strings.Contains(answer.Reason, "compared with a alone") {
					t.Errorf("%v: %s", c.heights, answer.Reason)
				}
			} else if len(names) == 2 && !strings.Contains(answer.Reason, "the only other report") {
				t.Errorf("%v: %s", c.heights, answer.Reason)
			}
		}
		if agreed := st.agreedHeights()["C"]; yes != c.yes || agreed != c.agreed {
			t.Errorf("%v: %q serve, agreed height %v, want %q and %v", c.heights, yes, agreed, c.yes, c.agreed)
		}
	}
}

// One or two voices outvote nobody, so an answer names them.
func TestAnswersNameTheOneOrTwoVoicesTheyRestOn(t *testing.T) {
	for names, want := range map[string]string{
		"": "", "a": "; this rests on the word of a alone", "ab": "; this rests on the word of a and b alone", "abc": "", "abcd": "",
	} {
		var runs []metric.Run
		for _, name := range names {
			runs = append(runs, reports(t, string(name), 1000)...)
		}
		if got := at(now, nil, runs...).onWordOf(); got != want {
			t.Errorf("%q: %q, want %q", names, got, want)
		}
	}
}

// What a node reported before its last silence, restart or change of identity does not count, although it has not expired.
func TestVoicesFromBeforeASilenceDoNotCount(t *testing.T) {
	runs := append(reports(t, "a", 1000), reports(t, "b", 1000)...)
	for since, counts := range map[time.Time]bool{{}: true, now.Add(-2 * time.Minute): true, now.Add(-30 * time.Second): false} {
		for i := range runs { // those of heads and bootstrap are a minute old
			if runs[i].Collector == "up" && runs[i].Target.Node == "a" {
				runs[i].At, runs[i].Facts.Since = now.Add(-10*time.Second), since
			}
		}
		st := at(now, nil, runs...)
		if got := st.Node("a").chains["C"] != nil && st.Node("a").chains["C"].Height.Known; got != counts {
			t.Errorf("silent at %v: the height is known: %t, want %t", since, got, counts)
		}
		if v, answer := st.Serves("a", "C", 10, -1); (v == Yes) != counts {
			t.Errorf("silent at %v: %s", since, answer.Reason)
		}
		if v, answer := st.Serves("b", "C", 10, -1); v != Yes {
			t.Errorf("silent at %v: b: %s", since, answer.Reason)
		}
	}
}

// A node that answers again is not well before each collector has asked it again, and says which has not.
func TestNodeIsNotWellBeforeItIsAskedAgain(t *testing.T) {
	all := []string{"bootstrap", "health", "identity", "heads", "peers"}
	for _, late := range append(all, "none") {
		up := run(t, "up", `avax_node_up{node="a"} 1`)
		up.Target.Node, up.At, up.Facts.Since = "a", now.Add(-10*time.Second), now.Add(-20*time.Second)
		runs := []metric.Run{up}
		for _, collector := range all {
			r := run(t, collector, "")
			if r.Target.Node = "a"; collector != late {
				r.At = now.Add(-5 * time.Second)
			}
			runs = append(runs, r)
		}
		st := at(now, nil, runs...)
		want, gaps := Note, 1
		if late == "none" {
			want, gaps = Well, 0
		}
		if s := st.Nodes[0].State; s.Severity != want || len(st.Gaps()) != gaps || want == Note && (!strings.Contains(s.Text, late) || !strings.Contains(s.Err.Error(), "answers again")) {
			t.Errorf("%s has not run since: %+v, %v", late, s, st.Gaps())
		}
	}
}

// A node whose last answers to users were wrong does not serve. One that was slow or failed once does.
func TestNodeWithWrongAnswersDoesNotServe(t *testing.T) {
	for outcome, serves := range map[string]bool{"wrong": false, "timeout": true, "no_state": true} {
		rpc := run(t, "rpc", fmt.Sprintf(`avax_rpc_check_failure_info{node="a",chain="C",check="logs",outcome=%q} 1`, outcome))
		st := at(now, nil, append(append(reports(t, "a", 1000), reports(t, "b", 1000)...), rpc)...)
		if v, answer := st.Serves("a", "C", 10, -1); (v == Yes) != serves || !serves && !strings.Contains(answer.Reason, "the RPC check logs") {
			t.Errorf("%s: %s", outcome, answer.Reason)
		}
		if v, answer := st.Serves("b", "C", 10, -1); v != Yes {
			t.Errorf("%s: b: %s", outcome, answer.Reason)
		}
	}
}
