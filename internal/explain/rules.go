package explain

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
)

// shippedRule is an alert of a built-in rules file.
type shippedRule struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string

	// companion says that a Prometheus evaluates it, and the exporter does not.
	companion bool
}

// builtIn returns the alerts that are built in. Tests read the same files with
// Prometheus' own parser: they cannot be malformed here.
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

// shipped is the built-in alert of that name, or nil.
func shipped(name string) *shippedRule {
	all := builtIn()
	if i := slices.IndexFunc(all, func(r shippedRule) bool { return r.Alert == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// like returns names of alerts and families: those that are spelt like a name,
// then those that have the most of its letters in the same words, and more than half.
func like(name string, groups []alerting.Group) []string {
	var known []string
	add := func(name string) {
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Alerting {
				add(r.Name)
			}
		}
	}
	for _, r := range builtIn() {
		add(r.Alert)
	}
	for _, s := range collectors.All() {
		for _, f := range s.Families {
			known = append(known, f.Name)
		}
	}
	words := strings.FieldsFunc(wordStart.ReplaceAllString(name, "_$0"), func(r rune) bool { return r == '_' || r == '-' || r == ' ' })
	scores, letters := map[string]int{}, 0
	for _, w := range words {
		if w = strings.ToLower(w); w == "avax" {
			continue
		}
		letters += len(w)
		for _, k := range known {
			if strings.Contains(strings.ToLower(k), w) {
				scores[k] += len(w)
			}
		}
	}
	found := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return scores[k] == 0 || 2*scores[k] <= letters })
	slices.SortStableFunc(found, func(a, b string) int { return scores[b] - scores[a] })
	near := spelling.Near(name, known)
	for _, k := range found {
		if len(near) < 3 && !slices.Contains(near, k) {
			near = append(near, k)
		}
	}
	return near
}

var wordStart = regexp.MustCompile(`[A-Z]`)
