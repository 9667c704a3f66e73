package notify

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	amconfig "github.com/prometheus/alertmanager/config"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/secret"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
)

// Errors of Alertmanager's configuration that name neither the field nor the remedy.
var (
	wrongType    = regexp.MustCompile(`line (\d+): cannot unmarshal !!(\w+)(?: ` + "`[^`]*`" + `)? into (\S+)`)
	unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)
	twice        = regexp.MustCompile(`notification config name "([^"]*)" is not unique`)
	duration     = regexp.MustCompile(`not a valid duration string: "[^"]*"|unknown unit "[^"]*" in duration "[^"]*"`)
)

// mistake returns the text of an error of the configuration, with the name of the field and what to write, and without values.
func mistake(err error, config []byte) string {
	text := wrongType.ReplaceAllStringFunc(err.Error(), func(found string) string {
		m := wrongType.FindStringSubmatch(found)
		line, _ := strconv.Atoi(m[1])
		want := map[string]string{"bool": "true or false", "string": "one text"}[m[3]]
		switch {
		case strings.Contains(m[3], "int"):
			want = "a number without quotation marks"
		case strings.HasPrefix(m[3], "["):
			want = "a list"
		case want == "":
			want = "what the documentation of Alertmanager says"
		}
		if name := keyAt(config, line, m[2], m[3]); name != "" {
			return fmt.Sprintf("line %d: %s: write %s", line, name, want)
		}
		return fmt.Sprintf("line %d: write %s", line, want)
	})
	text = unknownField.ReplaceAllStringFunc(text, func(found string) string {
		name := unknownField.FindStringSubmatch(found)[1]
		names := make([]string, 0, len(fieldTypes()))
		for known := range fieldTypes() {
			names = append(names, known)
		}
		slices.Sort(names)
		if near := spelling.Near(name, names); len(near) > 0 {
			return fmt.Sprintf("unknown field %s: did you mean %s?", name, near[0])
		}
		return "unknown field " + name
	})
	text = twice.ReplaceAllString(text, `receiver "$1" is there twice: rename one, or write both integrations into one receiver`)
	text = duration.ReplaceAllStringFunc(text, func(found string) string {
		if name := badDuration(config); name != "" {
			return name + ": write a duration with its unit, such as 30s"
		}
		return found
	})
	if text == err.Error() {
		text = placed(text, config)
	}
	return secret.HideQuoted(text)
}

// placed prepends to an error the name of the receiver and the integration that has it, if one has.
func placed(text string, config []byte) string {
	var file struct {
		Global    yaml.Node              `yaml:"global"`
		Receivers []map[string]yaml.Node `yaml:"receivers"`
	}
	if yaml.Unmarshal(config, &file) != nil {
		return text
	}
	for _, r := range file.Receivers {
		for key, list := range r {
			for i, one := range list.Content {
				alone := map[string]any{
					"route": map[string]string{"receiver": "it"}, "receivers": []any{map[string]any{"name": "it", key: []*yaml.Node{one}}},
				}
				if file.Global.Kind != 0 {
					alone["global"] = &file.Global
				}
				written, err := yaml.Marshal(alone)
				if err != nil {
					continue
				}
				if _, err = amconfig.Load(string(written)); err == nil || err.Error() != text {
					continue
				}
				name := r["name"]
				return fmt.Sprintf("receiver %s, %s[%d]: %s", name.Value, strings.TrimSuffix(key, "_configs"), i, text)
			}
		}
	}
	return text
}

// fieldTypes returns the types of the fields of a configuration, by their names in YAML.
var fieldTypes = sync.OnceValue(func() map[string][]string {
	types := map[string][]string{}
	seen := map[reflect.Type]bool{}
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, t.Kind()) {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			f := t.Field(i)
			if name := yamlName(f); name != "" && name != "-" && f.IsExported() {
				types[name] = append(types[name], f.Type.String())
			}
			add(f.Type)
		}
	}
	add(reflect.TypeFor[amconfig.Config]())
	return types
})

// Keys returns the top-level keys of a configuration.
func Keys() (keys []string) {
	t := reflect.TypeFor[amconfig.Config]()
	for i := range t.NumField() {
		if name := yamlName(t.Field(i)); t.Field(i).IsExported() && name != "" && name != "-" {
			keys = append(keys, name)
		}
	}
	return keys
}

// keyAt returns the key of a line whose value has a tag, such as str, and whose field has a type, such as int64.
func keyAt(config []byte, line int, tag, kind string) (name string) {
	keys(config, func(key, value *yaml.Node) {
		if name == "" && value.Line == line && value.ShortTag() == "!!"+tag && slices.ContainsFunc(fieldTypes()[key.Value], func(t string) bool {
			return strings.TrimPrefix(t, "*") == kind
		}) {
			name = key.Value
		}
	})
	return name
}

// badDuration returns the first field of a duration whose value is none.
func badDuration(config []byte) (name string) {
	keys(config, func(key, value *yaml.Node) {
		isDuration := slices.ContainsFunc(fieldTypes()[key.Value], func(t string) bool { return strings.HasSuffix(t, "uration") })
		if _, err := model.ParseDuration(value.Value); name == "" && isDuration && err != nil {
			name = fmt.Sprintf("line %d: %s", value.Line, key.Value)
		}
	})
	return name
}

// keys calls do with each key of a document, and its value.
func keys(config []byte, do func(key, value *yaml.Node)) {
	var document yaml.Node
	if yaml.Unmarshal(config, &document) != nil {
		return
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 1 {
				do(n.Content[i-1], child)
			}
			walk(child)
		}
	}
	walk(&document)
}
