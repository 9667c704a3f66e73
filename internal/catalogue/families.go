// Package catalogue knows every family that the program declares. Its tests compare the dashboards and the documentation with them; the compiler of
// the alert rules compares the rules.
package catalogue

import (
	"cmp"
	"slices"
	"strings"

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
func declared() map[string]row {
	rows := map[string]row{}
	for _, spec := range collectors.All() {
		for _, f := range spec.Families {
			rows[f.Name] = rowOf(f)
		}
	}
	for _, r := range own() {
		rows[r.Name] = r
	}
	return rows
}

// Labels returns the labels of every series that the program may export, by name.
func Labels() map[string][]string {
	all := map[string][]string{}
	for _, r := range declared() {
		all[r.Name] = r.Labels
		if r.Type == "summary" || r.Type == "histogram" {
			all[r.Name+"_sum"], all[r.Name+"_count"], all[r.Name+"_bucket"] = r.Labels, r.Labels, r.Labels
		}
	}
	return all
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
