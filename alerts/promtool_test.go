package alerts

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

func TestPromtoolAcceptsTheRules(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", "rules.yml", "companion.yml", "digest.yml")
}

// Promtool plays each case, with only the rules on which its results depend, because it evaluates every rule at every step.
// TestCasesOfTheRulesPass plays them faster: in short, promtool plays one case of twenty.
func TestPromtoolTestsPass(t *testing.T) {
	t.Parallel()
	for _, rules := range []string{"rules.yml", "companion.yml"} {
		suite := readSuite(t, rules)
		for _, tests := range suite.tests {
			t.Run(strings.TrimSuffix(tests.name, "_test.yml"), func(t *testing.T) {
				t.Parallel()
				dir, args := t.TempDir(), []string{"test", "rules"}
				for i, c := range tests.Tests {
					if !testing.Short() || i%40 == 0 && c.last() < 2*time.Hour {
						args = append(args, testOf(t, filepath.Join(dir, fmt.Sprint(i)), c, suite.needed(t, c, false)))
					}
				}
				if len(args) > 2 {
					promtool(t, args...)
				}
			})
		}
	}
}

// testOf writes the case and its rules for promtool, and returns the name of the test file.
func testOf(t *testing.T, file string, c testCase, rules []*rule) string {
	t.Helper()
	all, names := groups(rules)
	writeYAML(t, file+".yml", all)
	writeYAML(
		t,
		file+"_test.yml",
		testFile{RuleFiles: []string{file + ".yml"}, EvaluationInterval: model.Duration(c.every), GroupEvalOrder: names, Tests: []testCase{c}},
	)
	return file + "_test.yml"
}

func TestPromtoolTestsOfTheDigestPass(t *testing.T) {
	testworld.Full(t) // days
	t.Parallel()
	promtool(t, "test", "rules", "testdata/digest_test.yml")
}

// The cases for promtool have all thresholds.
func TestMissingThresholdsFire(t *testing.T) {
	t.Parallel()
	without := slices.DeleteFunc(readSuite(t, "rules.yml").rules, func(r *rule) bool { return r.Record != thresholdUsed && r.Alert != "AvaxThresholdInvalid" })
	exporter := []testworld.Series{{Series: `avax_exporter_targets{job="e1"}`, Values: "_x6 2x20"}} // it starts later than the evaluation
	promtool(t, "test", "rules", testOf(t, filepath.Join(t.TempDir(), "thresholds"), testCase{every: 5 * time.Minute, Interval: model.Duration(time.Minute), Input: exporter, Alerts: []alertCase{
		{Alertname: "AvaxThresholdInvalid", EvalTime: model.Duration(5 * time.Minute)},
		{Alertname: "AvaxThresholdInvalid", EvalTime: model.Duration(15 * time.Minute), ExpAlerts: []expAlert{{Labels: map[string]string{"severity": "warn"}}}},
	}}, without))
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), testworld.Binary(t, "promtool"), args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s %s: %v\n%s", args[0], args[1], err, out)
	}
}
