package catalogue

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// row is a declared family.
type row struct {
	Name, Type, Help string
	Labels           []string
}

func rowOf(f *metric.Family) row { return row{f.Name, string(f.Type), f.Help, f.Labels} }

// declared returns every family that the program may export, by name: those of the collectors and the exporter's own.
func declared(t *testing.T) map[string]row {
	t.Helper()
	rows := map[string]row{}
	for _, spec := range collectors.All() {
		for _, f := range spec.Families {
			if _, twice := rows[f.Name]; twice {
				t.Errorf("duplicate family %s", f.Name)
			}
			rows[f.Name] = rowOf(f)
		}
	}
	for _, r := range own() {
		rows[r.Name] = r
	}
	return rows
}

// own returns the exporter's own families, from the code that registers them.
func own() []row {
	var rows []row
	for _, f := range metric.AboutJobs {
		rows = append(rows, rowOf(f))
	}
	for _, f := range metric.Described(app.OwnFamilies()) {
		r := row{Name: f.Name, Type: "gauge", Help: f.Help, Labels: f.Labels}
		switch {
		case strings.HasSuffix(r.Name, "_total"):
			r.Type = "counter"
		case r.Name == "avax_exporter_upstream_request_duration_seconds":
			r.Type = "summary"
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.Name, b.Name) })
	return rows
}

// A collector that is missing in All is an unused variable, which golangci-lint reports.
func TestCollectorsAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, s := range collectors.All() {
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
	all := declared(t)
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
