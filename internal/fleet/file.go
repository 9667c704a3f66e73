package fleet

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// maxNodes is the maximum number of nodes in a file. One exporter cannot monitor more nodes.
const maxNodes = 10_000

// checkFile validates the name of a file of nodes.
func checkFile(path string) error {
	if !slices.Contains([]string{".json", ".yml", ".yaml"}, filepath.Ext(path)) {
		return fmt.Errorf("%s: unknown format: use the extension .json, .yml or .yaml", path)
	}
	return nil
}

// file adds the nodes of the source's file to the configured ones.
func (r *loader) file(s *Source, nodes []Node) []Node {
	path, called := s.File, s.called("nodes_file")
	at := func(line int, format string, args ...any) {
		r.problem(line, "%s: %s, line %d: %w", called, path, line, fmt.Errorf(format, args...))
	}
	data, err := r.open(path)
	if err == nil {
		err = checkFile(path)
	}
	if err != nil {
		r.problem(1, "%s: %w", called, err)
		return nodes
	}
	parse := parseYAML
	if filepath.Ext(path) == ".json" {
		parse = parseJSON
	}
	list, err := parse(data)
	if err != nil {
		r.problem(1, "%s: %s, %w", called, path, err)
		return nodes
	}
	taken := map[string]bool{}
	for _, n := range nodes {
		taken[n.Name] = true
	}
	all := targets(list, at)
	if len(all) > maxNodes {
		r.problem(1, "%s: %s: %d nodes: split the file into files of at most %d nodes", called, path, len(all), maxNodes)
		return nodes
	}
	for _, t := range all {
		n, own, ok := t.node(path, at)
		if !ok {
			continue
		}
		if taken[n.Name] {
			at(t.line, "duplicate node name %q: give each node its own group with the label node", n.Name)
			continue
		}
		if err := s.check(n); err != nil {
			at(t.line, "%w", err)
			continue
		}
		taken[n.Name] = true
		nodes = append(nodes, r.node(n, own, s.accessOf(n), func(s setting) (int, string) {
			line := t.labels[s.label()].Line
			return line, fmt.Sprintf("%s: %s, line %d: %s", called, path, line, s.label())
		}))
	}
	return nodes
}

// target is one node of the file.
type target struct {
	text   string
	line   int
	alone  bool // whether its group has no other target
	labels map[string]yaml.Node
}

// targets returns the nodes of all groups of a file.
func targets(list *yaml.Node, at func(line int, format string, args ...any)) []target {
	const like = "write a list of groups: targets: [host:port], labels: {node: name}"
	if list.Kind != yaml.SequenceNode {
		at(list.Line, like)
		return nil
	}
	var all []target
	for _, g := range list.Content {
		var group map[string]yaml.Node
		if g = resolved(g); g.Kind != yaml.MappingNode {
			at(g.Line, like)
			continue
		}
		if err := g.Decode(&group); err != nil {
			at(lineOf(err, g.Line), "%s", wordsOf(err))
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(group)) {
			if key != "targets" && key != "labels" {
				at(group[key].Line, "unknown member %q: a group has only targets and labels", key)
			}
		}
		labels := map[string]yaml.Node{}
		if l, has := group["labels"]; has {
			l := resolved(&l)
			if l.Kind != yaml.MappingNode {
				at(l.Line, "write labels as {name: value}")
				continue
			}
			if err := l.Decode(&labels); err != nil {
				at(lineOf(err, l.Line), "%s", wordsOf(err))
				continue
			}
		}
		list := group["targets"]
		hosts := resolved(&list)
		if hosts.Kind != yaml.SequenceNode {
			at(cmp.Or(hosts.Line, g.Line), "write targets as [host:port, …]")
			continue
		}
		for _, h := range hosts.Content {
			if h = resolved(h); h.Kind != yaml.ScalarNode || h.Value == "" {
				at(h.Line, "write a target as host:port or URL")
				continue
			}
			all = append(all, target{h.Value, h.Line, len(hosts.Content) == 1, labels})
		}
	}
	return all
}

// resolved returns the node that a YAML alias refers to.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// notOurs matches labels that only a Prometheus server uses. They are allowed, because both may read the same file.
var notOurs = regexp.MustCompile(`^__(address|metrics_path|scrape_interval|scrape_timeout|name)__$|^__(param|meta|tmp)_`)

// node converts a target and its labels to a Node.
func (t target) node(path string, at func(line int, format string, args ...any)) (n Node, own Access, ok bool) {
	ok = true
	wrong := func(line int, format string, args ...any) {
		at(line, format, args...)
		ok = false
	}
	var name, scheme string
	for _, key := range slices.Sorted(maps.Keys(t.labels)) {
		value := t.labels[key]
		v := resolved(&value)
		i := slices.IndexFunc(settings, func(s setting) bool { return s.label() == key })
		switch {
		case v.Kind != yaml.ScalarNode:
			wrong(value.Line, "%s: write one value", key)
		case i >= 0:
			*settings[i].of(&own) = v.Value
		case key == "node":
			name = v.Value
		case key == "__scheme__":
			if scheme = v.Value; scheme != "http" && scheme != "https" {
				wrong(value.Line, "%s: write http or https", key)
				scheme = ""
			}
		case key == "__role__":
			if n.Observer = v.Value == "observer"; !n.Observer && v.Value != "node" {
				wrong(value.Line, "%s: write node or observer", key)
			}
		case strings.HasPrefix(key, "__") && !notOurs.MatchString(key):
			wrong(value.Line, "unknown setting %q: the settings are __scheme__, __role__, %s", key, strings.Join(labelNames(), ", "))
		}
	}
	for _, s := range settings {
		if file := s.of(&own); strings.HasSuffix(s.name, "_file") && *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(filepath.Dir(path), *file)
		}
	}
	n.URL = t.text
	switch {
	case strings.Contains(t.text, "@"):
		wrong(t.line, "user and password are not allowed in this file: write user:password into a separate file, and the path of that file into __basic_auth_file__")
		return n, own, false
	case !strings.Contains(t.text, "://"):
		n.URL = cmp.Or(scheme, "http") + "://" + t.text
	case scheme != "":
		wrong(t.line, "the URL already has a scheme: remove __scheme__")
	}
	if err := scrape.CheckURL(n.URL); err != nil {
		wrong(t.line, "%w", err)
		return n, own, false
	}
	if n.Name = name; !t.alone || name == "" {
		n.Name = nameOf(t.text)
	}
	if !ValidName(n.Name) {
		wrong(t.line, "%q: a node's name consists of letters, digits, dots, dashes and underscores, at most 128 characters", n.Name)
	}
	return n, own, ok
}

func labelNames() []string {
	var names []string
	for _, s := range settings {
		names = append(names, s.label())
	}
	return names
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// nameOf derives a node's name from host, port and path: 10.0.0.1:9650 becomes 10.0.0.1-9650.
func nameOf(target string) string {
	_, rest, ok := strings.Cut(target, "://")
	if !ok {
		rest = target
	}
	return strings.Trim(unfit.ReplaceAllString(rest, "-"), "-._")
}

// parseYAML returns the document.
func parseYAML(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF) || err == nil && doc.Content[0].Tag == "!!null":
		return nil, errors.New("line 1: the file is empty: write [] for no nodes")
	case err != nil:
		return nil, fmt.Errorf("line %d: %s", lineOf(err, 1), wordsOf(err))
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("line %d: the file continues after the list: write one YAML document", max(1, second.Line))
	}
	return doc.Content[0], nil
}

var yamlError = regexp.MustCompile(`line (\d+): (.*)`)

// lineOf returns the line in a YAML error.
func lineOf(err error, otherwise int) int {
	if m := yamlError.FindStringSubmatch(err.Error()); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n
		}
	}
	return otherwise
}

// wordsOf returns a YAML error without its line.
func wordsOf(err error) string {
	if m := yamlError.FindStringSubmatch(err.Error()); m != nil {
		return "no YAML: " + m[2]
	}
	return "no YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")
}

// parseJSON returns the document as YAML nodes, which have line numbers.
func parseJSON(data []byte) (*yaml.Node, error) {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	lines, counted := 1, 0
	line := func() int {
		to := min(int(d.InputOffset()), len(data))
		lines, counted = lines+bytes.Count(data[counted:to], []byte("\n")), to
		return lines
	}
	var value func() (*yaml.Node, error)
	value = func() (*yaml.Node, error) {
		token, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		n := &yaml.Node{Line: line()}
		switch token.Kind() {
		case '[', '{':
			n.Kind = map[jsontext.Kind]yaml.Kind{'[': yaml.SequenceNode, '{': yaml.MappingNode}[token.Kind()]
			for k := d.PeekKind(); k != ']' && k != '}'; k = d.PeekKind() {
				item, err := value()
				if err != nil {
					return nil, err
				}
				n.Content = append(n.Content, item)
			}
			_, err = d.ReadToken()
		default:
			n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!str", token.String()
		}
		return n, err
	}
	doc, err := value()
	if err == nil {
		if _, end := d.ReadToken(); !errors.Is(end, io.EOF) {
			err = errors.New("the file continues after the list")
		}
	}
	var syntax *jsontext.SyntacticError
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New("line 1: the file is empty: write [] for no nodes")
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("line %d: invalid JSON: %w", 1+bytes.Count(data[:min(int(syntax.ByteOffset), len(data))], []byte("\n")), syntax.Err)
	case err != nil:
		return nil, fmt.Errorf("line %d: invalid JSON: %w", line(), err)
	}
	return doc, nil
}
