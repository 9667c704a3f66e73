package compile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// order are the keys of labels and annotations in the order in which people read them. Others come after them.
var order = []string{"alert", "severity", "within", "needs", "scope", "reason", "summary", "description", "impact", "action", "runbook_url", "dashboard_url"}

// Write returns groups as a rule file of Prometheus, below a comment.
func Write(head string, groups []Group) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n\ngroups:\n", strings.TrimSpace(head))
	for _, g := range groups {
		fmt.Fprintf(&out, "- name: %s\n  rules:\n", g.Name)
		for i, r := range g.Rules {
			again := i > 0 && r.Record == threshold && g.Rules[i-1].Comment == r.Comment
			if again {
				r.Comment = ""
			}
			var text bytes.Buffer
			encoder := yaml.NewEncoder(&text)
			encoder.SetIndent(2)
			if err := encoder.Encode([]*yaml.Node{r.node()}); err != nil {
				return nil, fmt.Errorf("%s: %w", cmp.Or(r.Alert, r.Record), err)
			}
			if i > 0 && !again {
				out.WriteString("\n")
			}
			for line := range strings.Lines(text.String()) {
				out.WriteString(strings.TrimRight("  "+line, " "))
			}
		}
		out.WriteString("\n")
	}
	return append(bytes.TrimRight(out.Bytes(), "\n"), '\n'), nil
}

func (r Rule) node() *yaml.Node {
	var n *yaml.Node
	if r.Record != "" {
		n = mapping("record", scalar(r.Record), "labels", ordered(r.Labels), "expr", scalar(r.Expr))
		if n.HeadComment = r.Comment; !strings.Contains(r.Expr, "\n") && len(r.Labels) > 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	}
	n = mapping("alert", scalar(r.Alert), "expr", scalar(r.Expr))
	if r.For > 0 {
		n.Content = append(n.Content, scalar("for"), scalar(r.For.String()))
	}
	if r.KeepFiringFor > 0 {
		keep := scalar(r.KeepFiringFor.String())
		keep.LineComment = r.KeepNote
		n.Content = append(n.Content, scalar("keep_firing_for"), keep)
	}
	n.Content = append(n.Content, scalar("labels"), ordered(r.Labels), scalar("annotations"), ordered(r.Annotations))
	n.HeadComment = r.Comment
	return n
}

func scalar(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if strings.Contains(text, "\n") {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// mapping returns a mapping of keys to nodes. It leaves out empty mappings.
func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(pairs); i += 2 {
		if v := pairs[i+1].(*yaml.Node); v.Kind != yaml.MappingNode || len(v.Content) > 0 {
			n.Content = append(n.Content, scalar(pairs[i].(string)), v)
		}
	}
	return n
}

func ordered(all map[string]string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	names := sortedKeys(all)
	slices.SortStableFunc(names, func(a, b string) int { return place(a) - place(b) })
	for _, name := range names {
		n.Content = append(n.Content, scalar(name), scalar(all[name]))
	}
	return n
}

func place(name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}
