package alerts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

func TestPromtoolAcceptsTheRules(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", "rules.yml", "companion.yml")
}

// With -short, promtool gets each case with only the rules that the case needs, which is faster.
func TestRulesPassPromtoolTests(t *testing.T) {
	t.Parallel()
	for _, rules := range []string{"rules.yml", "companion.yml"} {
		suite := readSuite(t, rules)
		if len(suite.tests) == 0 {
			t.Errorf("no tests of %s", rules)
		}
		for _, tests := range suite.tests {
			t.Run(strings.TrimSuffix(tests.name, "_test.yml"), func(t *testing.T) {
				t.Parallel()
				files := []string{}
				if testing.Short() {
					files = suite.cut(t, tests, t.TempDir())
				} else {
					files = append(files, suite.whole(t, tests, t.TempDir()))
				}
				promtool(t, append([]string{"test", "rules"}, files...)...)
			})
		}
	}
}

// AvaxThresholdInvalid fires if a threshold is not recorded, or none is. The test files have all rules.
func TestMissingThresholdFires(t *testing.T) {
	t.Parallel()
	suite := readSuite(t, "rules.yml")
	for name, missing := range map[string]func(*rule) bool{
		"one": func(r *rule) bool { return r.name == `avax:threshold{alert="AvaxNodeSlow"}` },
		"all": func(r *rule) bool { return r.Record == threshold },
	} {
		needed := map[*rule]bool{}
		for _, r := range suite.groups[0].rules {
			needed[r] = !missing(r)
		}
		dir := t.TempDir()
		file := filepath.Join(dir, name+"_test.yml")
		err := errors.Join(
			writeRules(filepath.Join(dir, "rules.yml"), suite.only(needed), func(r *rule) rulefmt.Rule { return r.Rule }),
			os.WriteFile(file, []byte("{rule_files: [rules.yml], tests: [{input_series: [], alert_rule_test: ["+
				"{eval_time: 4m, alertname: AvaxThresholdInvalid}, "+
				"{eval_time: 5m, alertname: AvaxThresholdInvalid, exp_alerts: [{exp_labels: {severity: warn}}]}]}]}"), 0o600),
		)
		if err != nil {
			t.Fatal(err)
		}
		promtool(t, "test", "rules", file)
	}
}

func TestAnnotationsPassPromtoolTests(t *testing.T) {
	t.Parallel()
	files := []string{annotationTests}
	if testing.Short() {
		suite := readSuite(t, "rules.yml")
		files = suite.cut(t, suite.annotations, t.TempDir())
	}
	promtool(t, append([]string{"test", "rules"}, files...)...)
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), testworld.Binary(t, "promtool"), args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s %s: %v\n%s", args[0], args[1], err, out)
	}
}
