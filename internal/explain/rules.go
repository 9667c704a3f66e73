package explain

import (
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
)

// shippedRule is an alert of an embedded rules file.
type shippedRule struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string

	// companion means that a Prometheus evaluates the rule instead of the exporter.
	companion bool
}

// builtIn returns the embedded alerts. It panics if a file is invalid. Tests parse the same files with Prometheus'
// parser.
var builtIn = sync.OnceValue(func() (all []shippedRule) {
	for i, text := range [][]byte{alerts.Rules, alerts.Companion} {
		var file struct {
			Groups []struct{ Rules []shippedRule }
		}
		if err := yaml.Unmarshal(text, &file); err != nil {
			panic(err)
		}
		for _, g := range file.Groups {
			for _, r := range g.Rules {
				if r.Alert != "" {
					r.companion = i > 0
					all = append(all, r)
				}
			}
		}
	}
	return all
})

// shipped returns the embedded alert with this name, or nil.
func shipped(name string) *shippedRule {
	all := builtIn()
	if i := slices.IndexFunc(all, func(r shippedRule) bool { return r.Alert == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// like returns names of alerts and families that are similar to a name.
func like(name string, groups []alerting.Group) []string {
	var known []string
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Alerting && !slices.Contains(known, r.Name) {
				known = append(known, r.Name)
			}
		}
	}
	for _, r := range builtIn() {
		if !slices.Contains(known, r.Alert) {
			known = append(known, r.Alert)
		}
	}
	for _, s := range collectors.All() {
		for _, f := range s.Families {
			known = append(known, f.Name)
		}
	}
	return spelling.Near(name, known)
}
