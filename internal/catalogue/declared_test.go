package catalogue

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// A collector that is missing in All is an unused variable, which golangci-lint reports.
func TestCollectorsAreComplete(t *testing.T) {
	names, families := map[string]bool{}, map[string]*metric.Family{}
	for _, s := range collectors.All() {
		for _, f := range s.Families {
			if before := families[f.Name]; before != nil && before != f { // collectors of two sources may share one
				t.Errorf("duplicate family %s", f.Name)
			}
			families[f.Name] = f
		}
		if names[s.Name] {
			t.Errorf("duplicate collector name %s", s.Name)
		}
		names[s.Name] = true
		if s.Help == "" || len(s.Calls) == 0 || s.Every <= 0 || len(s.Families) == 0 || s.Bind == nil {
			t.Errorf("%s: incomplete: %+v", s.Name, s)
		}
	}
}

// Naming rules that Prometheus' linter does not check.
func TestFamiliesFollowNamingRules(t *testing.T) {
	name := regexp.MustCompile(`^avax_[a-z0-9]+(_[a-z0-9]+)*$`)
	all := declared()
	for _, r := range all {
		family, isTotal := strings.CutSuffix(r.Name, "_total")
		if isTotal != (r.Type == "counter") {
			t.Errorf("%s is a %s: only names of counters end in _total", r.Name, r.Type)
		}
		if other, taken := all[family]; isTotal && taken {
			t.Errorf("%s and %s are the same family in OpenMetrics", r.Name, other.Name)
		}
		if !name.MatchString(r.Name) {
			t.Errorf("%s: names are avax_<subject>_<fact>_<unit>", r.Name)
		}
		if !strings.HasSuffix(r.Help, ".") || len(r.Help) < 15 {
			t.Errorf("%s: help must be a sentence: %q", r.Name, r.Help)
		}
		for _, l := range r.Labels {
			if slices.Contains([]string{"url", "error", "time", "job", "instance"}, l) {
				t.Errorf("%s: no label %q", r.Name, l)
			}
		}
	}
}
