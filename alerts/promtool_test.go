package alerts

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

func TestPromtoolAcceptsTheRules(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", "rules.yml", "companion.yml", "digest.yml")
}

// promtool gets each case with only the rules on which its results depend, because it evaluates every rule at every step.
func TestPromtoolTestsPass(t *testing.T) {
	t.Parallel()
	for _, rules := range []string{"rules.yml", "companion.yml"} {
		suite := readSuite(t, rules)
		for _, tests := range suite.tests {
			t.Run(strings.TrimSuffix(tests.name, "_test.yml"), func(t *testing.T) {
				t.Parallel()
				dir, args := t.TempDir(), []string{"test", "rules"}
				for i, c := range tests.Tests {
					one := testFile{RuleFiles: []string{fmt.Sprintf("%d.yml", i)}, EvaluationInterval: tests.EvaluationInterval, Tests: []testCase{c}}
					rules, names := groups(suite.needed(t, c, false))
					one.GroupEvalOrder = names
					writeYAML(t, filepath.Join(dir, one.RuleFiles[0]), rules)
					args = append(args, filepath.Join(dir, fmt.Sprintf("%d_test.yml", i)))
					writeYAML(t, args[len(args)-1], one)
				}
				promtool(t, args...)
			})
		}
	}
}

func TestPromtoolTestsOfTheDigestPass(t *testing.T) {
	t.Parallel()
	promtool(t, "test", "rules", "testdata/digest_test.yml")
}

// The cases for promtool have all thresholds.
func TestMissingThresholdsFire(t *testing.T) {
	t.Parallel()
	var without []rulefmt.Rule
	for _, r := range readSuite(t, "rules.yml").rules {
		if r.Record == thresholdUsed || r.Alert == "AvaxThresholdInvalid" {
			without = append(without, r.Rule)
		}
	}
	e, err := newEngine(t, testCase{}, "5m", without)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close(t)
	expected := []expAlert{{Labels: map[string]string{"severity": "warn"}}}
	err = e.passes(testCase{Alerts: []alertCase{
		{Alertname: "AvaxThresholdInvalid"},
		{Alertname: "AvaxThresholdInvalid", EvalTime: model.Duration(5 * time.Minute), ExpAlerts: expected},
	}})
	if err != nil {
		t.Error(err)
	}
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), testworld.Binary(t, "promtool"), args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s %s: %v\n%s", args[0], args[1], err, out)
	}
}
