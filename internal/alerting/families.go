package alerting

import (
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// ValueFamilies returns the families from which the value of a rule's expression is computed. For a recorded series it returns
// the families of the recording rule. It omits the families to the right of `and` and `unless`, because they only filter, and
// the families inside scalar().
func ValueFamilies(groups []Group, expr string) []string {
	recorded := map[string][]string{}
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Type == RecordingRule {
				recorded[r.Name] = append(recorded[r.Name], r.Query)
			}
		}
	}
	var families []string
	seen := map[string]bool{}
	var add func(expr string)
	add = func(expr string) {
		parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
		if err != nil {
			return // a rule of a Prometheus may use functions that this parser does not know
		}
		for _, name := range valueNames(parsed) {
			switch {
			case seen[name]:
			case recorded[name] != nil:
				seen[name] = true
				for _, query := range recorded[name] {
					add(query)
				}
			default:
				seen[name] = true
				families = append(families, name)
			}
		}
	}
	add(expr)
	return families
}

func valueNames(e parser.Node) []string {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return []string{e.Name}
	case *parser.BinaryExpr:
		if e.Op == parser.LAND || e.Op == parser.LUNLESS {
			return valueNames(e.LHS)
		}
	case *parser.Call:
		if e.Func.Name == "scalar" {
			return nil
		}
	}
	var names []string
	for child := range parser.ChildrenIter(e) {
		names = append(names, valueNames(child)...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
