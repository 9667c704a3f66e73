package alerting

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/strutil"
)

// ValueFamilies returns the families from which the value of a rule's expression is computed. For a recorded series it returns
// the families of the recording rule. It omits the families to the right of `and` and `unless`, because they only filter, and
// the families inside scalar().
func ValueFamilies(groups []Group, expr string) []string {
	recorded := map[string][]string{}
	for _, g := range groups {
		for _, r := range g.Rules {
			if !r.Alerting {
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

// Limits of a query from an untrusted client. The timeout and the limit of samples are not enough. Prometheus' parser takes
// minutes for a megabyte of parentheses. A regular expression takes memory for each repetition: up to 150 MB for 4 KiB of text.
// Each call of label_replace can double the length of a label.
const (
	longestQuery   = 4 << 10 // bytes
	longestRegexps = 8 << 10 // length of all strings, as regexpLength counts it
	maxReplaced    = 8       // calls of label_replace
)

// CheckQuery returns an error if an untrusted client may not send this query.
func CheckQuery(expr string) error {
	if len(expr) > longestQuery {
		return fmt.Errorf("the query has %d bytes, the maximum is %d: shorten it", len(expr), longestQuery)
	}
	if n := regexpLength(expr); n > longestRegexps { // check this first, because the parser compiles the regular expressions
		return fmt.Errorf("the regular expressions have too many repetitions: %d characters if each repetition is written out, the maximum is %d: write .* instead of .{1000}", n, longestRegexps)
	}
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return err
	}
	replaced := 0
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		call, ok := n.(*parser.Call)
		if !ok || err != nil {
			return nil
		}
		switch call.Func.Name {
		case "label_join":
			err = errors.New("label_join is not supported here: use label_replace, or query a Prometheus that scrapes this exporter")
		case "label_replace":
			replaced++
			with, ok := call.Args[2].(*parser.StringLiteral)
			if !ok || strings.Count(with.Val, "$") > 1 || replaced > maxReplaced {
				err = fmt.Errorf("label_replace exceeds a limit: call it at most %d times in a query, each time with at most one $ in the replacement, or query a Prometheus that scrapes this exporter", maxReplaced)
			}
		}
		return nil
	})
	return err
}

// regexpLength reads all strings of a query as regular expressions. It returns the sum of their lengths with each repetition
// written out: a{3} counts as aaa.
func regexpLength(expr string) (sum int) {
	lexer := parser.Lex(expr)
	for item := (parser.Item{}); ; {
		lexer.NextItem(&item)
		switch item.Typ {
		case parser.EOF, parser.ERROR:
			return sum
		case parser.STRING:
			text, err := strutil.Unquote(item.Val)
			if err != nil {
				continue // the parser returns the error
			}
			if parsed, err := syntax.Parse(text, syntax.Perl|syntax.DotNL); err == nil {
				sum += writtenOut(parsed)
			}
		}
	}
}

// writtenOut returns the length of a regular expression with each repetition written out.
func writtenOut(r *syntax.Regexp) int {
	length := max(1, len(r.Rune))
	for _, sub := range r.Sub {
		length += writtenOut(sub)
	}
	if r.Op == syntax.OpRepeat {
		return length * max(1, r.Min, r.Max)
	}
	return length
}
