package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// The first line has the state with its value, its bound and durations, and the second says what to do.
func TestAnswerIsTwoSentences(t *testing.T) {
	names := [][2]string{
		{"AvaxConnectedStakeLow", "alpha"}, {"AvaxL1RunwayLow", "charlie"}, {"AvaxPeersLow", "alpha"}, {"AvaxHealthCheckFailing", "charlie"},
		{"AvaxNodeDown", "alpha"}, {"AvaxNodeDiskLow", "alpha"}, {"AvaxStakeEndsSoon", "alpha"},
		{"AvaxL1ValidatorSetChanged", "examplel1"}, {"AvaxNodeAddressChanged", "alpha"}, {"AvaxDowntimeBudgetBurn", "charlie"},
	}
	want := [][]string{
		{"AvaxConnectedStakeLow (page) is firing for ", " min: alpha: connected to only 42 % of the stake; the value is 42 %, the alert fires below 80 % (page)."},
		{
			"AvaxL1RunwayLow (warn) is pending for ",
			" and fires in ",
			"balance on examplel1 runs out",
			"; the value is 12 days, the alert fires below 30 days (warn).",
		},
		{"AvaxPeersLow for alpha does not fire: there are no samples of avax_node_peers about alpha, because the collector peers does not run here."},
		{"AvaxHealthCheckFailing (warn) is pending for "},
		{"AvaxNodeDown for alpha does not fire: "},
		{"AvaxNodeDiskLow for alpha does not fire: "},
		{"AvaxStakeEndsSoon for alpha does not fire: alpha has 9,887 days; the alert fires below 14 days (info), below 7 days (warn), below 24 h (warn)."},
		// A value that is compared with what it was an hour ago is no value and bound.
		{"AvaxL1ValidatorSetChanged for examplel1 does not fire: its condition is not met."},
		{"AvaxNodeAddressChanged for alpha does not fire: its condition is not met."},
		{"AvaxDowntimeBudgetBurn for charlie does not fire: charlie has unlimited time; the alert fires below 3 days (warn), below 24 h (page)."},
	}
	for i, text := range ask(t, 7*time.Minute, names...) {
		lines := strings.Split(text, "\n")
		if len(lines) < 2 || lines[1] == "" {
			t.Errorf("%s: no line says what to do:\n%s", names[i], text)
			continue
		}
		for _, want := range want[i] {
			if !strings.Contains(lines[0], want) {
				t.Errorf("%s: %s\nlacks %s", names[i], lines[0], want)
			}
		}
	}
}

// A bound is that of the branch of the expression whose conditions are met: a node that no L1 needs for its quorum pages later than one that an L1 needs.
func TestBoundIsThatOfTheBranchThatDecides(t *testing.T) {
	for _, test := range []struct {
		node  string
		after time.Duration
		bound string
	}{
		{"delta", 6 * time.Minute, "at or above 4 min (page)"},
		{"echo", 3 * time.Minute, "at or above 2 min (page)"}, {"echo", 6 * time.Minute, "at or above 2 min (page)"},
	} {
		text := ask(t, lateStops+test.after, [2]string{"AvaxNodeDown", test.node})[0]
		if !strings.HasPrefix(text, "AvaxNodeDown (page) is firing for ") || !strings.Contains(text, test.bound) {
			t.Errorf("%v after %s stops: %s", test.after, test.node, text)
		}
	}
}

// Until thresholds were evaluated once, no answer names one.
func TestUnknownThresholdIsNotNamed(t *testing.T) {
	for after := range 20 {
		for _, text := range ask(t, time.Duration(after+1)*time.Second, [2]string{"AvaxRewardStakeLow", "alpha"}, [2]string{"AvaxHeadLag", "alpha"}) {
			if answer, _, _ := strings.Cut(text, "\n\n"); strings.Contains(answer, "NaN") {
				t.Errorf("after %d s: %s", after+1, answer)
			}
		}
	}
}

// No answer has PromQL, a date instead of a duration, or a node ID of a node with a name. Each has a state and an action.
func TestEveryAnswerIsForAPerson(t *testing.T) {
	var names [][2]string
	for _, r := range testworld.Rules(t, alerts.Rules) {
		for _, target := range []string{"", "alpha", "charlie"} {
			if r.Alert != "" {
				names = append(names, [2]string{r.Alert, target})
			}
		}
	}
	for i, text := range ask(t, 7*time.Minute, names...) {
		answer, _, _ := strings.Cut(text, "\n\n")
		state, do, _ := strings.Cut(answer, "\n")
		if !strings.HasPrefix(state, names[i][0]) || !strings.HasSuffix(state, ".") || strings.HasSuffix(state, "..") || do == "" {
			t.Errorf("%s: %s", names[i], answer)
		}
		for _, word := range []string{" unless ", "ignoring", "last_over_time", "{node=", "true ", "false ", "ended ", "; .", "2000-", "Inf"} {
			if strings.Contains(state, word) && !strings.Contains(state, "runs out at 2000-") {
				t.Errorf("%s: %q in %s", names[i], word, state)
			}
		}
	}
}
