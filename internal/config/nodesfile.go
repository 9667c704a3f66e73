package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// group is one group of the file of nodes. JSON is YAML, too. The nodes of the document keep their lines.
type group struct {
	Targets []yaml.Node          `yaml:"targets"`
	Labels  map[string]yaml.Node `yaml:"labels"`
}

// FileKeys returns the keys of the files of this package's own formats, by the variable that names the file, without the prefix.
func FileKeys() map[string][]string {
	keys := map[string][]string{"NODES_FILE": {schemeLabel, roleLabel}}
	for variable, t := range map[string]reflect.Type{"NODES_FILE": reflect.TypeFor[group](), "HTTP_CONFIG_FILE": reflect.TypeFor[httpEntry]()} {
		for field := range t.Fields() {
			keys[variable] = append(keys[variable], field.Tag.Get("yaml"))
		}
	}
	for _, s := range watchSections {
		keys["WATCH_FILE"] = append(keys["WATCH_FILE"], s.name)
	}
	return keys
}

// Labels of the file of nodes that are settings.
const schemeLabel, roleLabel = "__scheme__", "__role__"

// listedNode is a node of the file of nodes, and where it is.
type listedNode struct {
	Node
	place string
}

// nodesFile returns the nodes of a file in Prometheus' file_sd format, or of a URL in its http_sd format.
func (r *reader) nodesFile(file string) (nodes []listedNode) {
	if isURL(file) {
		if err := checkNodesURL(file); err != nil {
			r.note(&r.NodesFile, err)
			return nil
		}
	}
	data, err := r.open(file)
	if err == nil && !isURL(file) && !slices.Contains([]string{".json", ".yml", ".yaml"}, filepath.Ext(file)) {
		err = fmt.Errorf("%s: unknown format: use the extension .json, .yml or .yaml", file)
	}
	if err != nil {
		r.note(&r.NodesFile, err)
		return nil
	}
	if isURL(file) || filepath.Ext(file) == ".json" {
		data = jsonEscapes.ReplaceAllFunc(data, asYAML)
	}
	var groups []group
	err = decodeYAML(data, &groups, "write a list of groups: targets: [host:port], labels: {node: name}")
	if err == nil && groups == nil {
		err = errors.New("line 1: the list is null: write [] for no nodes")
	}
	r.noteAt(&r.NodesFile, place(file), err)
	for _, g := range groups {
		for _, target := range g.Targets {
			n, err := g.node(resolved(target))
			listed := listedNode{n, fmt.Sprintf("%s, line %d", place(file), target.Line)}
			r.noteAt(&r.NodesFile, listed.place, err)
			if err == nil {
				nodes = append(nodes, listed)
			}
		}
	}
	return nodes
}

// resolved returns the value of a YAML node, or of the node that it refers to; empty if it is no scalar.
func resolved(n yaml.Node) string {
	if n.Kind == yaml.AliasNode {
		n = *n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// isScalar reports whether a YAML node, or the node that it refers to, is one value.
func isScalar(n yaml.Node) bool {
	return n.Kind == yaml.ScalarNode || n.Kind == yaml.AliasNode && n.Alias.Kind == yaml.ScalarNode
}

// notOurs matches labels that only a Prometheus server uses. They are allowed, because both may read the same file.
var notOurs = regexp.MustCompile(`^__(address|metrics_path|scrape_interval|scrape_timeout|name)__$|^__(param|meta|tmp)_`)

// node returns the node at an address of the group. The error joins all problems.
func (g group) node(target string) (n Node, err error) {
	wrong := func(format string, args ...any) { err = errors.Join(err, fmt.Errorf(format, args...)) }
	scheme := ""
	for _, label := range slices.Sorted(maps.Keys(g.Labels)) {
		value := resolved(g.Labels[label])
		switch {
		case !isScalar(g.Labels[label]):
			wrong("label %q: its value is a list or a map: write one text, such as %s: a, or one label for each value", label, label)
		case !strings.HasPrefix(label, "__") && label != "node":
			if n.Labels == nil {
				n.Labels = Labels{}
			}
			n.Labels[label] = value
		case label == "node":
			n.Name = value
		case label == schemeLabel && (value == "http" || value == "https"):
			scheme = value
		case label == schemeLabel:
			wrong("%s: write http or https", label)
		case label == roleLabel && (value == "node" || value == "observer"):
			n.Observer = value == "observer"
		case label == roleLabel:
			wrong("%s: write node or observer", label)
		case strings.HasPrefix(label, "__") && !notOurs.MatchString(label):
			wrong("unknown setting %q: the settings are __scheme__ and __role__; use AVAX_HTTP_CONFIG_FILE for credentials and the Host header", label)
		}
	}
	if bad := n.Labels.check(); bad != nil {
		wrong("%w", bad)
	}
	n.URL = target
	switch {
	case target == "":
		wrong("write a target as host:port or URL")
		return n, err
	case strings.Contains(target, "@"):
		wrong("user and password are not allowed in this file: use basic_auth in AVAX_HTTP_CONFIG_FILE")
		return n, err
	case !strings.Contains(target, "://"):
		n.URL = cmp.Or(scheme, "http") + "://" + target
	case scheme != "":
		wrong("the URL already has a scheme: remove __scheme__")
	}
	if bad := scrape.CheckURL(n.URL); bad != nil {
		wrong("%w", bad)
		return n, err
	}
	if len(g.Targets) > 1 || n.Name == "" {
		n.Name = nameOf(target)
	}
	if !ValidName(n.Name) {
		wrong("%q: a node's name consists of letters, digits, dots, dashes and underscores, at most 128 characters", n.Name)
	}
	return n, err
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// nameOf derives a node's name from host, port and path: 10.0.0.1:9650 becomes 10.0.0.1-9650.
func nameOf(target string) string {
	if _, rest, ok := strings.Cut(target, "://"); ok {
		target = rest
	}
	return strings.Trim(unfit.ReplaceAllString(target, "-"), "-._")
}

// jsonEscapes are the escapes of JSON that YAML does not have, and two backslashes, after which none begins.
var jsonEscapes = regexp.MustCompile(`\\\\|\\/|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)

func asYAML(escape []byte) []byte {
	switch {
	case escape[1] == '/':
		return []byte("/")
	case escape[1] == 'u': // a character above U+FFFF
		high, _ := strconv.ParseUint(string(escape[2:6]), 16, 16)
		low, _ := strconv.ParseUint(string(escape[8:12]), 16, 16)
		return []byte(string(utf16.DecodeRune(rune(high), rune(low))))
	}
	return escape
}
