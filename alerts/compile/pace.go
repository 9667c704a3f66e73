package compile

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// pace moves the rules that may be evaluated slowly to the group that has an interval of its own, in their order. All others, and what they read,
// stay. An effect that a quick alert names stays, too: evaluated later, it would outlast its cause, and be notified then.
func pace(groups []Group, effects map[string][]string) []Group {
	i := slices.IndexFunc(groups, func(g Group) bool { return g.Interval > 0 && len(g.Rules) == 0 })
	if i < 0 {
		return groups // it comes last
	}
	quick := map[string]bool{} // by the name of a record or alert
	for grown := true; grown; {
		grown = false
		for _, g := range groups {
			for _, r := range g.Rules {
				if name := r.Record + r.Alert; !quick[name] && !urgent(r) {
					continue
				}
				for _, name := range slices.Concat(r.reads(), effects[r.Alert], []string{r.Record + r.Alert}) {
					grown = grown || !quick[name]
					quick[name] = true
				}
			}
		}
	}
	for n, g := range groups[:i] {
		var stay []Rule
		for _, r := range g.Rules {
			if quick[r.Record+r.Alert] {
				stay = append(stay, r)
			} else {
				groups[i].Rules = append(groups[i].Rules, r)
			}
		}
		groups[n].Rules = stay
	}
	return slices.DeleteFunc(groups, func(g Group) bool { return len(g.Rules) == 0 })
}

// namedEffects returns the effects that alerts name in full, by the name of the cause. Kinds such as node mean all alerts about a node.
func namedEffects(files []file) map[string][]string {
	named := map[string][]string{}
	for _, f := range files {
		for _, e := range f.Rules {
			for _, s := range e.Suppresses {
				named[e.Alert] = append(named[e.Alert], s.Effects...)
			}
		}
	}
	return named
}

// urgent reports whether a rule must be evaluated at the interval of the server.
func urgent(r Rule) bool {
	switch {
	case r.Record == Threshold, // an alert that was evaluated before its threshold would end
		strings.HasPrefix(r.Record, "avax:fault_"): // the status page reads them
		return true
	case r.Alert == "" || r.Labels["severity"] == "info":
		return false
	case r.Labels["severity"] == "warn":
		return time.Duration(r.For) < 5*time.Minute
	}
	return time.Duration(r.For) < 10*time.Minute
}

var (
	records = regexp.MustCompile(`avax:[a-z0-9_]+`)
	alertIs = regexp.MustCompile(`alertname="(\w+)"`)
)

// reads returns the records and alerts that the rule and its texts read.
func (r Rule) reads() (names []string) {
	names = r.Reads()
	for _, found := range alertIs.FindAllStringSubmatch(r.Expr, -1) {
		names = append(names, found[1])
	}
	for _, text := range r.Annotations {
		names = append(names, records.FindAllString(text, -1)...)
	}
	return names
}
