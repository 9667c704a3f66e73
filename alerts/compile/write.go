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
var order = []string{
	"alert", "severity", "within", "needs", "scope", "reason", "summary", "description", "impact", "action", "forecast", "since", "pages_within",
	"chains", "runbook_url", "dashboard_url",
}

// YAML returns the file as Prometheus reads it.
func (f *File) YAML() ([]byte, error) {
	var out bytes.Buffer
	if f.Head != "" {
		out.WriteString(f.Head + "\n\n")
	}
	out.WriteString("groups:\n")
	for _, g := range f.Groups {
		fmt.Fprintf(&out, "- name: %s\n", g.Name)
		if g.Interval > 0 {
			fmt.Fprintf(&out, "  interval: %s\n", g.Interval)
		}
		out.WriteString("  rules:\n")
		for i, r := range g.Rules {
			again := i > 0 && r.Record == Threshold && g.Rules[i-1].Comment == r.Comment
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
		if n.HeadComment = r.Comment; len(r.Labels) > 0 && len(r.Expr) < lineLength/2 {
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
		n.Style, n.Value = yaml.LiteralStyle, text+"\n"
	}
	return n
}

// mapping returns a mapping of keys to nodes. It leaves out empty mappings.
func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for pair := range slices.Chunk(pairs, 2) {
		if v := pair[1].(*yaml.Node); v.Kind != yaml.MappingNode || len(v.Content) > 0 {
			n.Content = append(n.Content, scalar(pair[0].(string)), v)
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
